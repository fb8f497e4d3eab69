/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets libunwind execute whatever passes the vetting of unwind information.
 *
 * The input is an .eh_frame section for a library with one function: its first
 * byte, times 4, is where the FDE begins. The stack is also put in the place of
 * that section, and holds what was not vetted.
 */
#include "exporter/complete.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS UINT64_C(0x100000000)
#define CODE UINT64_C(0x1000)
#define CODE_BYTES UINT64_C(0x1000)
#define INDEX UINT64_C(0x3000)
#define FRAMES UINT64_C(0x4000)
#define STACK_WORDS 256ul
#define STACK_ADDRESS UINT64_C(0x7ffff0000000)

static struct elf_cache cache;
static struct address_map *map;
static struct eh_frame_entry entry;
static struct elf_file *file;
static struct stack stack;

static union {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + STACK_WORDS * 8];
} shot;

static union {
	struct record_module module;
	uint8_t room[sizeof(struct record_module) + 16];
} record;

/* A file that was never read: its path and build id are all that a map asks
 * for. */
static void make_file(void)
{
	file = calloc(1, sizeof(*file));
	file->path = strdup("/fuzz");
	file->image.build_id_bytes = 1;
	file->image.segment_count = 1;
	file->image.segments[0] =
		(struct elf_segment){CODE, CODE, CODE_BYTES, true};
	file->frames.index_vaddr = INDEX;
	file->frames.entries = &entry;
	file->frames.entry_count = 1;
	file->frames.vaddr = FRAMES;
	cache.files = file;
	cache.count = 1;
}

static void make_map(void)
{
	struct record_modules end = {
		.head = {.bytes = sizeof(end)}, .list = 1, .count = 1};

	record.module.head.bytes = sizeof(record);
	record.module.list = 1;
	record.module.load_bias = BIAS;
	record.module.build_id_bytes = 1;
	record.module.path_bytes = sizeof("/fuzz");
	memcpy(record.module.path, "/fuzz", sizeof("/fuzz"));
	record.module.segment_count = 1;
	record.module.segments[0] = (struct module_segment){
		BIAS + CODE, BIAS + CODE + CODE_BYTES, CODE};
	map = address_map_create(&cache);
	if (address_map_add(map, &record.module) ||
	    address_map_end(map, &end) != 1)
		abort();
}

static void make_sample(void)
{
	struct record_sample *s = &shot.sample;
	uint64_t *words = (uint64_t *)(void *)s->stack;

	for (unsigned int i = 0; i < SAMPLE_REGISTERS; i++)
		s->registers[i] = STACK_ADDRESS + i * 8ul;
	s->registers[0] = (uint64_t)INT64_MIN;
	s->registers[1] = UINT64_MAX;
	s->registers[7] = STACK_ADDRESS;
	s->registers[16] = BIAS + CODE + 8;
	s->stack_address = STACK_ADDRESS;
	s->stack_bytes = (uint32_t)(STACK_WORDS * 8);
	for (unsigned int i = 0; i < STACK_WORDS; i++)
		words[i] =
			i % 2 ? BIAS + CODE + 8 + i : STACK_ADDRESS + i * 8ul;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct completer *completer;

	if (size < 8)
		return 0;
	if (!map) {
		make_file();
		make_map();
		make_sample();
	}
	entry = (struct eh_frame_entry){
		(int32_t)(CODE - INDEX),
		(int32_t)(FRAMES - INDEX + data[0] * 4ull)};
	file->frames.bytes = malloc(size - 1);
	file->frames.len_bytes = size - 1;
	memcpy(file->frames.bytes, data + 1, size - 1);
	completer = completer_create(map);
	for (int i = 0; i < 3; i++) {
		shot.sample.stack_address =
			i < 2 ? STACK_ADDRESS : BIAS + FRAMES;
		if (i == 2)
			shot.sample.registers[7] = BIAS + FRAMES;
		if (completer_walk(completer, &shot.sample, &stack) >=
		    COMPLETE_RESULTS)
			abort();
	}
	shot.sample.registers[7] = STACK_ADDRESS;
	completer_destroy(completer);
	free(file->frames.bytes);
	file->frames.bytes = NULL;
	return 0;
}
