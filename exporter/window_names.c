/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the locations of a window their names and source lines.
 * Runs on: the exporter's main thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/clock.h"
#include "exporter/demangle.h"
#include "exporter/utf8.h"
#include "exporter/window_places.h"

/* Inlined calls in one place; of more the inner ones are told. */
#define FRAMES_MAX 64u
/* Of a source file's path; a server cuts far longer ones. */
#define FILE_MAX_BYTES 1024u

static uint32_t intern_file(struct window *window, const char *file)
{
	char text[FILE_MAX_BYTES];

	utf8_copy(text, sizeof(text), file, strlen(file));
	return strings_intern(&window->strings, text);
}

static uint32_t intern_demangled(struct window *window, const char *symbol)
{
	char *name = demangle(symbol);
	uint32_t text =
		name && *name ? strings_intern(&window->strings, name) : 0;

	free(name);
	return text ? text : strings_intern(&window->strings, WINDOW_UNKNOWN);
}

/* A level of a location; `symbol` is not valid UTF-8 perhaps, nor is its
 * file. */
static bool add_frame(struct window *window, struct window_location *location,
		      const char *symbol, const struct line_frame *frame)
{
	struct window_function function = {
		.system_name = intern_file(window, symbol),
		.name = intern_demangled(window, symbol),
		.file = intern_file(window, frame->file),
		.start_line = frame->start_line,
	};
	struct window_line line = {.line = frame->line};

	return window_function(window, &function, &line.function) &&
	       window_add_line(window, location, line);
}

/* Without a symbol a function is named by where it begins, if the unwind
 * information knows, so that its addresses still add up. */
static void name_place(const struct window_mapping *mapping, uint64_t vaddr,
		       char *name, size_t name_bytes)
{
	struct eh_frame_fde fde;

	if (mapping->file &&
	    eh_frame_find(&mapping->file->frames, vaddr, &fde) == 0)
		vaddr = fde.start;
	snprintf(name, name_bytes, "[%s+0x%" PRIx64 "]", mapping->name, vaddr);
}

static enum window_nameless why_nameless(const struct window_mapping *mapping)
{
	switch (mapping->fault) {
	case ELF_FILE_GONE:
		return WINDOW_FILE_GONE;
	case ELF_FILE_REPLACED:
		return WINDOW_FILE_REPLACED;
	case ELF_FILE_UNREADABLE:
		return WINDOW_FILE_UNREADABLE;
	case ELF_FILE_NO_ROOM:
		return WINDOW_FILES_TOO_MANY;
	}
	return WINDOW_NO_SYMBOL;
}

/* The symbol table knows clones by their own names (`f.cold`), and is the only
 * one to know where there are no source lines. */
static const char *outer_name(struct window *window,
			      const struct window_mapping *mapping,
			      uint64_t vaddr, const struct line_frame *frame,
			      char place[static 512])
{
	const char *symbol =
		mapping->file ? elf_file_symbol(mapping->file, vaddr) : NULL;

	if (symbol)
		return symbol;
	if (*frame->name)
		return frame->name;
	window->unnamed_count++;
	window->nameless[why_nameless(mapping)]++;
	name_place(mapping, vaddr, place, 512);
	return place;
}

static void note_lines(struct window_mapping *mapping,
		       const struct line_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		mapping->has_files |= *frames[i].file != '\0';
		mapping->has_lines |= frames[i].line != 0;
	}
	mapping->has_inlined |= count > 1;
}

static bool name_location(struct window *window,
			  struct window_location *location,
			  const struct line_frame *frames, uint32_t count)
{
	struct window_mapping *mapping =
		&window->mappings[location->mapping - 1];
	char place[512];
	bool done = true;

	note_lines(mapping, frames, count);
	for (uint32_t i = 0; i + 1 < count && done; i++)
		done = add_frame(window, location, frames[i].name, &frames[i]);
	return done && add_frame(window, location,
				 outer_name(window, mapping, location->address,
					    &frames[count - 1], place),
				 &frames[count - 1]);
}

/* False when its lines are to come. Without memory it stays as it is, so far
 * as it got: the last line at least says that it is unknown. */
static bool try_location(struct window *window,
			 struct window_location *location, bool is_last)
{
	const struct window_mapping *mapping =
		&window->mappings[location->mapping - 1];
	struct line_frame frames[FRAMES_MAX];
	int count = 0;

	if (mapping->file && mapping->file->debug)
		count = debug_info_find(mapping->file->debug, location->address,
					frames, FRAMES_MAX);
	if (count == -EAGAIN && !is_last)
		return false;
	if (count == -EAGAIN)
		window->lines_late++;
	if (count <= 0) {
		frames[0] = (struct line_frame){.name = "", .file = ""};
		count = 1;
	}
	if (!name_location(window, location, frames, (uint32_t)count))
		window->lines_late++;
	return true;
}

/* Those that wait are few, and stand at the end for most of the time. */
uint32_t window_name(struct window *window, bool is_last)
{
	uint32_t waiting = 0;

	for (uint32_t i = window->named_count; i < window->location_count;
	     i++) {
		struct window_location *location = &window->locations[i];

		if (!location->line_count &&
		    !try_location(window, location, is_last))
			waiting++;
		else if (!waiting)
			window->named_count = i + 1;
	}
	return waiting;
}

void window_settle(struct window *window, struct dwarf_client *client,
		   uint32_t patience_ms)
{
	uint64_t end_ns =
		now_ns(CLOCK_MONOTONIC) + patience_ms * UINT64_C(1000000);

	while (window_name(window, false) > 0) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		if (now >= end_ns || !client)
			break;
		dwarf_client_take(client, (int)((end_ns - now) / 1000000) + 1);
	}
	window_name(window, true);
}
