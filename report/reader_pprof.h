/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one pprof message (exporter/profile.proto), whole or not at all. The
 * rules are those of google/pprof (profile/profile.go, CheckValid) and, for
 * labels, of Grafana Pyroscope: a span id is 16 hex digits under `span_id` or
 * the older `profile_id`, a trace id 32 under `trace_id`; a label of another
 * shape is no span.
 */
#ifndef REPORT_READER_PPROF_H
#define REPORT_READER_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "report/arena.h"
#include "report/fault.h"
#include "report/spanid.h"

struct profile_sample {
	uint64_t span; /* 0: none */
	struct trace_id trace;
	uint32_t span_text; /* the text that the span id stood in */
	uint32_t span_name; /* text number, 0: none */
	uint32_t stack;     /* place in profile.stacks */
	uint64_t count;     /* periods */
	uint64_t cpu_ns;
};

/* A stack: frames first, first + 1, ... of profile.frames. */
struct profile_stack {
	size_t first;
	uint32_t frame_count;
};

struct profile {
	struct arena arena; /* holds the texts */
	const char **texts; /* NUL-terminated; number 0 is "" */
	size_t text_count;
	struct profile_sample *samples;
	size_t sample_count;
	/* Mostly each once: samples of many spans share them. */
	struct profile_stack *stacks;
	size_t stack_count;
	/* Text numbers of the functions of each stack, leaf first, inlined
	 * functions as frames of their own. */
	uint32_t *frames;
	size_t frame_count;
	uint32_t *comments; /* text numbers */
	size_t comment_count;
	uint64_t time_ns, duration_ns; /* the window, since 1970 */
	uint64_t period_ns;            /* 0: not said */
};

/*
 * Reads `length` bytes (unpacked). -EBADMSG when they aren't a valid pprof
 * message, -ENOMSG when it has no samples/count and cpu/nanoseconds, -E2BIG
 * when it would need more memory than any real profile. profile_fini is due
 * after success only. The bytes may go once this returns.
 */
int profile_read(struct profile *profile, const uint8_t *data, size_t length,
		 struct fault *fault);

/* The same with frames that bear their source line, where one is known:
 * `NAME FILE:LINE`, FILE without its folder. */
int profile_read_lines(struct profile *profile, const uint8_t *data,
		       size_t length, struct fault *fault);

void profile_fini(struct profile *profile);

#endif
