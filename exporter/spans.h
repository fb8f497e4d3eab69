/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans that the ring told of: names for samples, and the spans of a window
 * to be written.
 */
#ifndef EXPORTER_SPANS_H
#define EXPORTER_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* Spans known at a time; those of a flood beyond that are counted, and their
 * samples keep their ids but no name. */
#define SPANS_MAX 262144u

struct known_span {
	struct span_context context;
	uint32_t pid;
	uint32_t tid;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;   /* 0 while it is open */
	uint64_t cpu_ns;
	uint64_t samples;     /* taken under it as the local root */
	uint32_t http_status; /* 0 when none was seen */
	uint32_t end_reason;  /* enum span_end_reason; 0: it never ended */
	/* Valid UTF-8, whatever the ring held. */
	char method[SPAN_METHOD_BYTES];
	char path[SPAN_PATH_BYTES];
};

struct spans;

/* NULL when there is no memory. */
struct spans *spans_create(void);
void spans_destroy(struct spans *spans);

/* A span begins or ends. Refused: an id of zeros, and one that is known. */
void spans_begin(struct spans *spans, const struct record_span_begin *record,
		 uint32_t pid);
void spans_end(struct spans *spans, const struct record_span_end *record);

/* The process has died with these spans open: they end now, unfinished. */
void spans_abandon(struct spans *spans, uint32_t pid, uint64_t now_ns);

/* Samples were taken under the span; nothing happens when it is unknown. */
void spans_count_samples(struct spans *spans, const uint8_t id[SPAN_ID_BYTES],
			 uint64_t samples);

/* The span with an id, or NULL. Known for two windows after its end, so that
 * samples which come late find it. Lives until the next call of another
 * function. */
const struct known_span *spans_find(const struct spans *spans,
				    const uint8_t id[SPAN_ID_BYTES]);

/* Calls visit for each span that ended in this window, by end, and forgets
 * those that ended a window ago: the window is over. */
void spans_close_window(struct spans *spans,
			void (*visit)(void *context,
				      const struct known_span *span),
			void *context);

/* How many have ended in this window, and how many were refused ever. */
size_t spans_ended(const struct spans *spans);
uint64_t spans_refused(const struct spans *spans);

#endif
