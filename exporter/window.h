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

struct window_mapping {
	uint32_t path_text;
	uint32_t build_id_text; /* 0: none */
	uint64_t limit;         /* above all of its locations */
};

struct window_function {
	uint32_t name;        /* strings */
	uint32_t system_name; /* mangled */
};

struct window_location {
	uint32_t mapping; /* index + 1; 0: none */
	uint32_t function;
	uint64_t address; /* ELF vaddr in the mapping's file */
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
	uint32_t sample_count;
	uint32_t labelled_count; /* of these, samples under a span */
	uint64_t frame_count;    /* sum of all samples' location_count */
	uint64_t labelled_ns;    /* CPU time under a span... */
	uint64_t total_ns;       /* ...and in all */
	uint64_t unsampled_ns;   /* of which no sample shows a stack */
	uint64_t unnamed_count;  /* locations for which no symbol was found */

	struct window_tables *tables; /* private */
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

/* Whether it is time to write it, whatever the clock says. */
bool window_is_full(const struct window *window);

/* Calls visit for each sample. */
void window_each(const struct window *window,
		 void (*visit)(void *context,
			       const struct window_sample *sample),
		 void *context);

#endif
