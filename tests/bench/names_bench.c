/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names cost: names_bench EXPORTER FILE. Reads all units of FILE, asking
 * as the exporter does, and then looks random addresses up.
 * Runs on: a program for people.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exporter/clock.h"
#include "exporter/elf_file.h"

#define LOOKUPS 2000000u
#define PLACES 4096u
#define FRAMES 64

static struct debug_infos infos;
static struct elf_cache cache;
static struct line_frame frames[FRAMES];

static double ms_since(uint64_t begin_ns)
{
	return (double)(now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6;
}

static struct elf_file *open_file(const char *path)
{
	struct elf_identity identity = {.path = path};
	struct elf_image image;

	if (elf_image_open(&image, path))
		return NULL;
	elf_image_close(&image);
	identity.build_id = image.build_id;
	identity.build_id_bytes = image.build_id_bytes;
	identity.inode = image.inode;
	return elf_cache_get(&cache, &identity);
}

/* The function of an entry of the unwind table, and some way into it. */
static uint64_t place(const struct elf_file *file, uint32_t i)
{
	const struct eh_frame_entry *entry =
		&file->frames.entries[i % file->frames.entry_count];

	return file->frames.index_vaddr + (uint64_t)(int64_t)entry->start +
	       i % 13;
}

/* Asks for the lines of everything; how many places have some. */
static uint32_t read_all(struct elf_file *file)
{
	uint32_t with_lines = 0;

	for (uint32_t i = 0; i < file->frames.entry_count; i++) {
		int count;

		while ((count = debug_info_find(file->debug, place(file, i),
						frames, FRAMES)) == -EAGAIN)
			dwarf_client_take(&infos.client, 60000);
		with_lines += count > 0;
	}
	return with_lines;
}

static void look_up(struct elf_file *file)
{
	static uint64_t places[PLACES];
	uint64_t levels = 0, begin_ns;
	unsigned int seed = 1;
	double cpu_ms;

	for (uint32_t i = 0; i < PLACES; i++)
		places[i] = place(file, (uint32_t)rand_r(&seed));
	begin_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint32_t i = 0; i < LOOKUPS; i++) {
		int count = debug_info_find(file->debug, places[i % PLACES],
					    frames, FRAMES);

		levels += count > 0 ? (uint32_t)count : 0;
	}
	cpu_ms = (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1e6;
	printf("%-44s %10.1f million/s, %.1f levels each\n",
	       "lookups, with inlined calls", LOOKUPS / cpu_ms / 1e3,
	       (double)levels / LOOKUPS);
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
	struct elf_file *file;
	uint32_t with_lines;

	if (argc != 3)
		return EXIT_FAILURE;
	debug_infos_init(&infos, argv[1]);
	cache.debug = &infos;
	file = open_file(argv[2]);
	if (!file || !file->debug || !file->frames.entry_count) {
		printf("%s: no debug information\n", argv[2]);
		return EXIT_FAILURE;
	}
	printf("%-44s %10.1f ms, %.1f MiB\n", "unwind table and symbols",
	       ms_since(begin_ns), (double)file->bytes / (1 << 20));
	begin_ns = now_ns(CLOCK_MONOTONIC);
	with_lines = read_all(file);
	printf("%-44s %10.1f ms, %.1f MiB, %" PRIu64 " units, %u places\n",
	       "source lines of all units", ms_since(begin_ns),
	       (double)infos.bytes / (1 << 20), infos.indexes, with_lines);
	look_up(file);
	elf_cache_put(&cache, file);
	elf_cache_fini(&cache);
	debug_infos_fini(&infos);
	return 0;
}
