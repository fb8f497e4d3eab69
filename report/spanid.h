/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Span and trace ids as text: 16 and 32 hex digits, most significant first
 * (W3C Trace Context). Written in lower case, read in either. An id of zeros
 * means "none".
 */
#ifndef REPORT_SPANID_H
#define REPORT_SPANID_H

#include <stdbool.h>
#include <stdint.h>

struct trace_id {
	uint64_t high, low;
};

#define SPANID_TEXT_BYTES 17
#define TRACEID_TEXT_BYTES 33

/* False, and `id` untouched, unless `text` is exactly 16 hex digits and not
 * all of them are 0. */
bool spanid_parse(const char *text, uint64_t *id);

/* The same for 32 digits. */
bool traceid_parse(const char *text, struct trace_id *id);

void spanid_format(char text[SPANID_TEXT_BYTES], uint64_t id);
void traceid_format(char text[TRACEID_TEXT_BYTES], struct trace_id id);

bool traceid_is_none(struct trace_id id);

/* What a person typed: the beginning of a span id or of a trace id. */
struct spanid_query {
	bool is_trace;
	bool bare; /* no key said which kind is meant */
	unsigned int digits;
	struct trace_id value; /* left-aligned: digit 1 is the highest */
};

/*
 * Reads `span_id=ID`, `profile_id=ID` (the old name of the same thing),
 * `trace_id=ID` or a bare ID in either case. 4 to 16 digits begin a span id,
 * more begin a trace id; -EINVAL for anything else.
 */
int spanid_query_parse(struct spanid_query *query, const char *text);

bool spanid_query_matches(const struct spanid_query *query, uint64_t span,
			  struct trace_id trace);

#endif
