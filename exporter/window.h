/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one window, added up by stack, span and process.
 */
#ifndef EXPORTER_WINDOW_H
#define EXPORTER_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/address_map.h"
#include "exporter/complete.h"
#include "exporter/strings.h"

/* A Pyroscope's defaults: 16,000 samples and a burst of 2 MiB a profile
 * (pkg/validation/limits.go, v2.2). A window is closed before either. */
#define WINDOW_SAMPLES_MAX 16000u
#define WINDOW_BYTES_MAX (1900u << 10)

/* Frames with names of our own. */
#define WINDOW_UNSAMPLED "[unsampled]"
#define WINDOW_TRUNCATED "[truncated]"
#define WINDOW_UNKNOWN "[unknown]"

/* What a sample is labelled with. Ids of zeros: no label. */
struct window_labels {
	uint8_t span_id[SPAN_ID_BYTES];
	uint8_t trace_id[TRACE_ID_BYTES];
	/* Instead of span_id in what is pushed. It follows from the span, so
	 * that samples are not told apart by it. */
	uint8_t pushed_id[SPAN_ID_BYTES];
	const char *span_name; /* NULL: no label */
	uint32_t pid;
};

/* Why a location bears no function's name. */
enum window_nameless {
	WINDOW_NO_SYMBOL, /* its file has no name for it */
	WINDOW_FILE_GONE, /* enum elf_fault */
	WINDOW_FILE_REPLACED,
	WINDOW_FILE_UNREADABLE,
	WINDOW_FILES_TOO_MANY,
	WINDOW_NO_FILE, /* generated code, without a perf map that knows it */
	WINDOW_NAMELESS
};

struct window_mapping {
	uint32_t path_text;
	uint32_t build_id_text; /* 0: none */
	uint64_t limit;         /* above all of its locations */
	struct elf_file *file;  /* NULL: see fault */
	enum elf_fault fault;
	char name[256]; /* of its file, for people */
	/* Whether some of its locations have that. */
	bool has_files;
	bool has_lines;
	bool has_inlined;
};

/* Texts. */
struct window_function {
	uint32_t name;
	uint32_t system_name; /* mangled */
	uint32_t file;        /* 0: unknown */
	uint32_t start_line;  /* 0: unknown */
};

struct window_line {
	uint32_t function;
	uint32_t line; /* 0: unknown */
};

struct window_location {
	uint32_t mapping; /* index + 1; 0: none */
	uint64_t address; /* ELF vaddr in the mapping's file */
	/* The innermost inlined function first. */
	uint32_t first_line;
	uint32_t line_count; /* 0: it has no names yet */
};

struct window_sample {
	struct window_labels labels; /* span_name: see name_text */
	uint32_t name_text;          /* strings; 0: none */
	uint64_t count;
	uint64_t cpu_ns;
	const uint32_t *locations; /* leaf first */
	uint32_t location_count;
};

struct window {
	struct strings strings;
	struct window_mapping *mappings;
	uint32_t mapping_count;
	struct window_function *functions;
	uint32_t function_count;
	struct window_location *locations;
	uint32_t location_count;
	struct window_line *lines;
	uint32_t line_count;
	uint32_t named_count;      /* locations up to here have names */
	uint32_t unfinished_count; /* in all, those that have none yet */
	uint32_t program;          /* mapping, index + 1; 0: not seen */
	uint32_t nameless[WINDOW_NAMELESS]; /* locations without a name */
	uint32_t lines_late; /* locations whose lines came too late */
	uint32_t sample_count;
	uint32_t labelled_count; /* of these, samples under a span */
	uint64_t frame_count;    /* sum of all samples' location_count */
	uint64_t labelled_ns;    /* CPU time under a span... */
	uint64_t total_ns;       /* ...and in all */
	uint64_t unsampled_ns;   /* of which no sample shows a stack */
	uint64_t unnamed_count;  /* locations for which no symbol was found */

	/* Private. */
	struct window_places *places;
	struct sample_item *samples;
};

/* Returns 0 or -ENOMEM. */
int window_init(struct window *window);
void window_fini(struct window *window);

/* A walked stack. `map` is its process's. What does not fit into memory is
 * dropped; returns whether it was taken. A weight of nothing adds nothing, and
 * sums end at INT64_MAX. */
bool window_add_stack(struct window *window, struct address_map *map,
		      const struct stack *stack, enum complete_result result,
		      const struct window_sample *weight);

/* CPU time without a stack. */
bool window_add_unsampled(struct window *window,
			  const struct window_sample *weight);

/* Gives names to locations that have none, as far as their source lines are
 * there; these come from another process and are asked for in passing. With
 * is_last the others go without. Returns how many wait. */
uint32_t window_name(struct window *window, bool is_last);

/* Names all, waiting that long at most for the lines of some. `client` may be
 * NULL: nothing is to come. */
void window_settle(struct window *window, struct dwarf_client *client,
		   uint32_t patience_ms);

/* Whether it is time to write it, whatever the clock says. Gives names that are
 * there: those that aren't are taken for long ones. */
bool window_is_full(struct window *window);

/* Calls visit for each sample. All locations must have their names. */
void window_each(const struct window *window,
		 void (*visit)(void *context,
			       const struct window_sample *sample),
		 void *context);

#endif
