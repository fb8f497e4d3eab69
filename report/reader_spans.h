/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads spans as OTLP JSON (opentelemetry-proto, trace.proto in its JSON
 * mapping: ids are hex, 64-bit numbers are texts), one TracesData a line. What
 * spanprof itself needs is in attributes: spanprof.cpu_ns, spanprof.end, and
 * the HTTP ones of the OpenTelemetry conventions.
 */
#ifndef REPORT_READER_SPANS_H
#define REPORT_READER_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/arena.h"
#include "report/fault.h"
#include "report/spanid.h"

/* How a request came to its end; the words are those of spanprof.end. */
enum span_end {
	SPAN_END_UNKNOWN,    /* no or another word */
	SPAN_END_COMPLETE,   /* answered to the last byte */
	SPAN_END_CLOSED,     /* the connection was closed before that */
	SPAN_END_NEXT,       /* the next request came before that */
	SPAN_END_LOST,       /* it could not be followed */
	SPAN_END_UNFINISHED, /* still open when this was written */
};

/* One span as it stands in the file; texts are NUL-terminated, never NULL. */
struct span_record {
	uint64_t span, parent; /* parent 0: none */
	struct trace_id trace;
	const char *service, *name, *method, *path;
	uint64_t start_ns, end_ns; /* since 1970; 0: not said */
	uint64_t cpu_ns, pid, tid;
	uint32_t http_status; /* 0: not said */
	enum span_end end;
	bool cpu_known;
	bool failed; /* status.code is 2, error */
};

struct span_file {
	struct arena arena; /* holds the texts */
	struct span_record *records;
	size_t count, capacity;
};

/*
 * Reads all lines of `data`. A bad line is left out as a whole; then the result
 * is -EBADMSG and `fault` tells of the first one, but the spans of the good
 * lines are there. span_file_fini is due in any case. The data may go once this
 * returns.
 */
int span_file_read(struct span_file *file, const char *data, size_t length,
		   struct fault *fault);
void span_file_fini(struct span_file *file);

#endif
