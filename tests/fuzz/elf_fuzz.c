/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads damaged ELF files, from memory and through the cache, and walks stacks
 * whose code is said to be theirs.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "exporter/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS UINT64_C(0x100000000)
#define STACK_WORDS 128ul
#define STACK_ADDRESS UINT64_C(0x7ffff0000000)

static struct elf_cache cache;
static struct stack stack;
static int fd = -1;

static union {
	struct record_module module;
	uint8_t room[sizeof(struct record_module) + 64];
} record;

static union {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + STACK_WORDS * 8];
} shot;

static void look_up(const struct eh_frame *frames,
		    const struct symbols *symbols)
{
	struct eh_frame_fde fde;

	for (uint32_t i = 0; i < frames->entry_count && i < 64; i++) {
		uint64_t vaddr = frames->index_vaddr +
				 (uint64_t)(int64_t)frames->entries[i].start;

		eh_frame_find(frames, vaddr, &fde);
		if (symbols && symbols_find(symbols, vaddr) == NULL)
			symbols_find_unsized(symbols, vaddr, vaddr);
	}
}

static void read_from_memory(const uint8_t *data, size_t size)
{
	struct elf_image image;
	const struct elf_image *const images[] = {&image, NULL};
	struct eh_frame frames;
	struct symbols *symbols;

	if (elf_image_open_memory(&image, data, size))
		return;
	eh_frame_load(&frames, &image);
	symbols = symbols_load(images);
	look_up(&frames, symbols);
	eh_frame_free(&frames);
	symbols_destroy(symbols);
}

static struct elf_file *read_through_cache(const uint8_t *data, size_t size)
{
	struct elf_identity identity = {.path = record.module.path};
	struct stat st;

	if (fd < 0)
		fd = memfd_create("elf_fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    fstat(fd, &st))
		abort();
	snprintf(record.module.path, 64, "/proc/self/fd/%d", fd);
	record.module.path_bytes = (uint32_t)strlen(record.module.path) + 1;
	record.module.head.bytes = sizeof(record);
	identity.inode = record.module.inode = st.st_ino;
	return elf_cache_get(&cache, &identity);
}

/* The executable segments of the file, where it wants them. */
static void describe(const struct elf_file *file)
{
	struct record_module *m = &record.module;

	m->load_bias = BIAS;
	m->segment_count = 0;
	for (uint32_t i = 0; i < file->image.segment_count; i++) {
		const struct elf_segment *s = &file->image.segments[i];
		uint64_t start = BIAS + (s->vaddr & ~UINT64_C(4095));

		if (s->executable && m->segment_count < MODULE_SEGMENTS)
			m->segments[m->segment_count++] =
				(struct module_segment){
					start,
					start + ((s->bytes + 8191) &
						 ~UINT64_C(4095)),
					s->offset & ~UINT64_C(4095)};
	}
}

static uint64_t function(const struct eh_frame *frames, uint32_t i)
{
	return BIAS + frames->index_vaddr +
	       (uint64_t)(int64_t)frames->entries[i % frames->entry_count]
		       .start;
}

static void make_sample(const struct eh_frame *frames, uint32_t leaf)
{
	struct record_sample *s = &shot.sample;
	uint64_t *words = (uint64_t *)(void *)s->stack;

	for (unsigned int i = 0; i < SAMPLE_REGISTERS; i++)
		s->registers[i] = STACK_ADDRESS + i * 8ul;
	s->registers[7] = STACK_ADDRESS;
	s->registers[16] = function(frames, leaf) + leaf % 5;
	s->stack_address = STACK_ADDRESS;
	s->stack_bytes = (uint32_t)(STACK_WORDS * 8);
	for (unsigned int i = 0; i < STACK_WORDS; i++)
		words[i] = i % 3 ? function(frames, leaf + i) + 1 + i % 7
				 : STACK_ADDRESS + i * 8ul;
}

static void walk(const struct eh_frame *frames)
{
	struct record_modules end = {
		.head = {.bytes = sizeof(end)}, .list = 1, .count = 1};
	struct address_map *map = address_map_create(&cache);
	struct completer *completer = completer_create(map);

	record.module.list = 1;
	if (address_map_add(map, &record.module) == 0 &&
	    address_map_end(map, &end) == 1)
		for (uint32_t i = 0; i < frames->entry_count && i < 32; i++) {
			make_sample(frames, i);
			if (completer_walk(completer, &shot.sample, &stack) >=
			    COMPLETE_RESULTS)
				abort();
		}
	completer_destroy(completer);
	address_map_destroy(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *file;

	read_from_memory(data, size);
	file = read_through_cache(data, size);
	if (!file)
		return 0;
	look_up(&file->frames, file->symbols);
	describe(file);
	if (file->frames.entry_count)
		walk(&file->frames);
	elf_cache_put(&cache, file);
	elf_cache_fini(&cache);
	return 0;
}
