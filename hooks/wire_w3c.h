/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of a traceparent header, W3C Trace Context Level 2, section 3.2:
 *
 *	version "-" trace-id "-" parent-id "-" trace-flags
 *	   2    1     32      1      16     1       2        = 55 characters
 */
#ifndef HOOKS_WIRE_W3C_H
#define HOOKS_WIRE_W3C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* Bytes of a value that decide: 55 and the one behind them. Whoever keeps
 * less of a longer value makes the parser refuse it. */
#define TRACE_PARENT_DECISIVE_BYTES 56

#define TRACE_PARENT_SAMPLED 0x01 /* bit of `flags` */

/* Ids are raw bytes, most significant first. */
struct trace_parent {
	uint8_t trace_id[TRACE_ID_BYTES];
	uint8_t parent_id[SPAN_ID_BYTES];
	uint8_t flags; /* all eight bits, as they came */
};

/*
 * Parses `length` bytes of a header's value; blanks (SP, HTAB) around it do not
 * count. `longer` says that the value goes on behind them with at least one
 * character that is no blank.
 *
 * Returns 0, or -EINVAL and leaves *parent alone: a digit that is no lower-case
 * hex digit, version ff, an id of zeros, version 00 with anything but 55
 * characters, a higher version whose 56th character is there and no dash.
 */
int wire_w3c_parse(struct trace_parent *parent, const char *value,
		   size_t length, bool longer);

#endif
