/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of window.c: its mappings, functions and locations, each once. Numbers
 * are indexes; false and 0 mean that there is no memory.
 */
#ifndef EXPORTER_WINDOW_PLACES_H
#define EXPORTER_WINDOW_PLACES_H

#include "exporter/keys.h"
#include "exporter/window.h"

struct window_places {
	struct keys mappings;
	struct keys functions;
	struct keys locations;
	size_t mapping_capacity;
	size_t function_capacity;
	size_t location_capacity;
	size_t line_capacity;
};

void window_places_fini(struct window *window);

/* The location of a frame, which gets its names later. */
bool window_locate(struct window *window, struct address_map *map,
		   const struct stack_frame *frame, uint32_t *location);

/* The location of a frame that isn't in any file, under its name. */
bool window_locate_named(struct window *window, const char *name,
			 uint64_t address, uint32_t *location);

/* Texts by number: name, mangled name, file (0: unknown). */
bool window_function(struct window *window, const struct window_function *key,
		     uint32_t *function);

/* Adds lines to the location that gets its names now. */
bool window_add_line(struct window *window, struct window_location *location,
		     struct window_line line);

#endif
