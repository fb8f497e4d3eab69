/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the places of a window.
 * Runs on: the exporter's main thread.
 */
#include "exporter/window_places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/array.h"
#include "exporter/ids.h"
#include "exporter/utf8.h"

static uint32_t intern_build_id(struct window *window,
				const struct module *module)
{
	char hex[2 * MODULE_BUILD_ID_BYTES + 1];

	id_to_hex(hex, module->build_id, module->build_id_bytes);
	return strings_intern(&window->strings, hex);
}

/* Paths may be any bytes, a profile's strings must be UTF-8. */
static uint32_t intern_path(struct window *window, const char *path)
{
	char text[PATH_MAX];

	utf8_copy(text, sizeof(text), path, strlen(path));
	return strings_intern(&window->strings, text);
}

/* Two files of one name and without build ids stay two. */
struct mapping_key {
	uint32_t path_text;
	uint32_t build_id_text;
	const struct elf_file *file;
};

static uint32_t add_mapping(struct window *window,
			    const struct mapping_key *key)
{
	struct window_mapping *mappings = array_room(
		window->mappings, &window->places->mapping_capacity,
		(size_t)window->mapping_count + 1, sizeof(*mappings));

	if (!mappings)
		return 0;
	window->mappings = mappings;
	if (!keys_add(&window->places->mappings, key, sizeof(*key),
		      window->mapping_count))
		return 0;
	mappings[window->mapping_count] =
		(struct window_mapping){.path_text = key->path_text,
					.build_id_text = key->build_id_text,
					.limit = 4096};
	return ++window->mapping_count;
}

/* Index + 1 of the module's mapping, 0 without memory. */
static uint32_t intern_mapping(struct window *window, struct address_map *map,
			       const struct module *module)
{
	struct elf_file *file = address_map_file(map, module);
	const struct mapping_key key = {intern_path(window, module->path),
					intern_build_id(window, module), file};
	uint32_t known;

	if (keys_find(&window->places->mappings, &key, sizeof(key), &known))
		return known + 1;
	known = add_mapping(window, &key);
	if (!known)
		return 0;
	if (file)
		elf_file_hold(file);
	window->mappings[known - 1].file = file;
	window->mappings[known - 1].fault = module->fault;
	utf8_copy(window->mappings[known - 1].name,
		  sizeof(window->mappings[0].name), module->name,
		  strlen(module->name));
	if (!window->program && address_map_is_program(map, module))
		window->program = known;
	return known;
}

struct location_key {
	uint32_t mapping;
	uint32_t special; /* a frame without a file: its name's text */
	uint64_t address;
};

static bool add_location(struct window *window, const struct location_key *key,
			 uint32_t *location)
{
	struct window_location *locations = array_room(
		window->locations, &window->places->location_capacity,
		(size_t)window->location_count + 1, sizeof(*locations));

	if (!locations)
		return false;
	window->locations = locations;
	*location = window->location_count;
	if (!keys_add(&window->places->locations, key, sizeof(*key), *location))
		return false;
	locations[window->location_count++] = (struct window_location){
		.mapping = key->mapping, .address = key->address};
	window->unfinished_count++;
	return true;
}

/* A load bias that makes no sense may put a place anywhere. */
static uint64_t page_end(uint64_t vaddr)
{
	uint64_t last = vaddr | 4095;

	return last == UINT64_MAX ? last : last + 1;
}

bool window_locate(struct window *window, struct address_map *map,
		   const struct stack_frame *frame, uint32_t *location)
{
	struct location_key key = {0, 0, frame->vaddr};
	struct window_mapping *mapping;

	key.mapping = intern_mapping(window, map, frame->module);
	if (!key.mapping)
		return false;
	if (keys_find(&window->places->locations, &key, sizeof(key), location))
		return true;
	mapping = &window->mappings[key.mapping - 1];
	if (frame->vaddr >= mapping->limit)
		mapping->limit = page_end(frame->vaddr);
	return add_location(window, &key, location);
}

bool window_locate_named(struct window *window, const char *name,
			 uint64_t address, uint32_t *location)
{
	const struct location_key key = {
		0, strings_intern(&window->strings, name), address};
	const struct window_function function = {.name = key.special,
						 .system_name = key.special};
	struct window_line line = {.line = 0};

	if (keys_find(&window->places->locations, &key, sizeof(key), location))
		return true;
	return window_function(window, &function, &line.function) &&
	       add_location(window, &key, location) &&
	       window_add_line(window, &window->locations[*location], line);
}

bool window_function(struct window *window, const struct window_function *key,
		     uint32_t *function)
{
	struct window_places *places = window->places;
	struct window_function *functions;

	if (keys_find(&places->functions, key, sizeof(*key), function))
		return true;
	functions = array_room(window->functions, &places->function_capacity,
			       (size_t)window->function_count + 1,
			       sizeof(*functions));
	if (!functions)
		return false;
	window->functions = functions;
	*function = window->function_count;
	if (!keys_add(&places->functions, key, sizeof(*key), *function))
		return false;
	functions[window->function_count++] = *key;
	return true;
}

bool window_add_line(struct window *window, struct window_location *location,
		     struct window_line line)
{
	struct window_line *lines =
		array_room(window->lines, &window->places->line_capacity,
			   (size_t)window->line_count + 1, sizeof(*lines));

	if (!lines)
		return false;
	window->lines = lines;
	if (location->line_count++ == 0) {
		location->first_line = window->line_count;
		window->unfinished_count--;
	}
	lines[window->line_count++] = line;
	return true;
}

void window_places_fini(struct window *window)
{
	for (uint32_t i = 0; i < window->mapping_count; i++) {
		struct elf_file *file = window->mappings[i].file;

		if (file)
			elf_cache_put(file->cache, file);
	}
	keys_fini(&window->places->mappings);
	keys_fini(&window->places->functions);
	keys_fini(&window->places->locations);
	free(window->places);
	free(window->mappings);
	free(window->functions);
	free(window->locations);
	free(window->lines);
}
