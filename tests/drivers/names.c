/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names addresses as a profile would, for comparison with other tools:
 *
 *	names FILE [PATH [PID]] < addresses
 *
 * FILE is what a process PID has mapped; PATH is the name under which it did.
 * Addresses are ELF vaddrs in hex, one a line. Each gets a line of fields
 * between tabs: the address, then name, mangled name, file, line and the first
 * line of the function for each frame, innermost first.
 * Runs on: a program of the tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporter/window.h"

#define PATIENCE_MS 120000u
#define ADDRESSES_MAX 15000u

static struct debug_infos debug;
static struct elf_cache cache;
static struct window window;
static struct stack stack;

static void die(const char *what)
{
	fprintf(stderr, "names: %s\n", what);
	exit(EXIT_FAILURE);
}

/* The record of a module that is mapped where the file wants to be. */
static void fill(struct record_module *m, const struct elf_image *image)
{
	m->list = 1;
	m->inode = image->inode;
	m->build_id_bytes = image->build_id_bytes;
	memcpy(m->build_id, image->build_id, sizeof(m->build_id));
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *s = &image->segments[i];
		uint64_t begin = s->vaddr & ~UINT64_C(4095);

		if (s->executable && m->segment_count < MODULE_SEGMENTS)
			m->segments[m->segment_count++] =
				(struct module_segment){
					m->load_bias + begin,
					m->load_bias +
						((s->vaddr + s->bytes + 4095) &
						 ~UINT64_C(4095)),
					s->offset & ~UINT64_C(4095)};
	}
}

static const struct module *add_module(struct address_map *map,
				       const char *file, const char *path)
{
	static union {
		struct record_module module;
		uint8_t room[sizeof(struct record_module) + 4096];
	} record;
	struct record_modules end = {
		.head.bytes = sizeof(end), .list = 1, .count = 1};
	struct elf_image image;

	if (elf_image_open(&image, file))
		die("the file can't be read");
	record.module.head.bytes = sizeof(record);
	fill(&record.module, &image);
	elf_image_close(&image);
	snprintf(record.module.path, 4096, "%s", path);
	record.module.path_bytes = (uint32_t)strlen(record.module.path) + 1;
	if (address_map_add(map, &record.module) < 0 ||
	    address_map_end(map, &end) != 1)
		die("the module is refused");
	return address_map_find(map, record.module.segments[0].start);
}

static void add_stack(struct address_map *map)
{
	static uint64_t cpu_ns;
	const struct window_sample weight = {.count = 1, .cpu_ns = ++cpu_ns};

	if (stack.count &&
	    !window_add_stack(&window, map, &stack, COMPLETE, &weight))
		die("no memory");
	stack.count = 0;
}

static void read_addresses(struct address_map *map, const struct module *module)
{
	char line[64];

	while (window.location_count + stack.count < ADDRESSES_MAX &&
	       fgets(line, sizeof(line), stdin)) {
		stack.frames[stack.count++] = (struct stack_frame){
			.module = module, .vaddr = strtoull(line, NULL, 16)};
		if (stack.count == COMPLETE_FRAMES_MAX)
			add_stack(map);
	}
	add_stack(map);
}

static void print(const struct window_location *location)
{
	printf("%" PRIx64, location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct window_line *line =
			&window.lines[location->first_line + i];
		const struct window_function *f =
			&window.functions[line->function];

		printf("\t%s\t%s\t%s\t%u\t%u", window.strings.texts[f->name],
		       window.strings.texts[f->system_name],
		       window.strings.texts[f->file], line->line,
		       f->start_line);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *program = getenv("SPANPROF_EXPORTER_PROGRAM");
	struct address_map *map;

	if (argc < 2)
		die("FILE [PATH [PID]]");
	debug_infos_init(&debug, program);
	cache.debug = &debug;
	map = address_map_create(&cache);
	if (!map || window_init(&window))
		die("no memory");
	if (argc > 3)
		address_map_set_process(map, (uint32_t)atoi(argv[3]));
	read_addresses(map, add_module(map, argv[1], argv[argc > 2 ? 2 : 1]));
	window_settle(&window, &debug.client, PATIENCE_MS);
	for (uint32_t i = 0; i < window.location_count; i++)
		print(&window.locations[i]);
	for (uint32_t i = 0; i < WINDOW_NAMELESS; i++)
		fprintf(stderr, "%u ", window.nameless[i]);
	fprintf(stderr, "%u\n", window.lines_late);
	window_fini(&window);
	address_map_destroy(map);
	elf_cache_fini(&cache);
	debug_infos_fini(&debug);
	return 0;
}
