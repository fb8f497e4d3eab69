/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of OTLP JSON in pieces. A busy window holds a quarter of a million
 * spans in one line; parsed as a whole it would take gigabytes, so each span
 * is parsed alone.
 */
#ifndef REPORT_SPLIT_H
#define REPORT_SPLIT_H

#include <stddef.h>

struct split_piece {
	const char *text; /* in the line, from '{' to '}' */
	size_t length;
};

struct split {
	/* The line without its spans: each array of spans in it has become
	 * `[first,count]`, places in `spans`. Not NUL-terminated. */
	char *frame;
	size_t frame_length, frame_capacity;
	struct split_piece *spans;
	size_t count, capacity;
};

/*
 * Takes a line apart. Only as much is checked as is needed for that; frame and
 * spans are each to be parsed. NULL, or what is wrong. split_fini is due in any
 * case; the pieces live as long as the line.
 */
const char *split_line(struct split *split, const char *line, size_t length);
void split_fini(struct split *split);

#endif
