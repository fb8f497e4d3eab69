/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes lines of OTLP JSON apart.
 * Runs on: any thread of the spanprof command.
 */
#include "report/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/mem.h"

/* {"resourceSpans":[{"scopeSpans":[{"spans": is below five brackets. */
#define SPANS_DEPTH 5
#define SPANS_KEY "\"spans\""

/* Where the reading of a line stands. */
struct scan {
	struct split *split;
	const char *at, *end;
	const char *copied; /* what is before it is in the frame or a piece */
};

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) &&
	       *scan->at)
		scan->at++;
}

/* Takes the character `wanted`, if it is next. */
static int take(struct scan *scan, char wanted)
{
	skip_blanks(scan);
	if (scan->at == scan->end || *scan->at != wanted)
		return 0;
	scan->at++;
	return 1;
}

/* Steps over a string, from its first quote. 0 when it doesn't end. */
static int skip_string(struct scan *scan)
{
	scan->at++;
	while (scan->at < scan->end) {
		char c = *scan->at++;

		if (c == '"')
			return 1;
		if (c == '\\' && scan->at < scan->end)
			scan->at++;
	}
	return 0;
}

/* Steps over an object, from its first brace. 0 when it doesn't end. */
static int skip_object(struct scan *scan)
{
	size_t depth = 0;

	while (scan->at < scan->end) {
		char c = *scan->at;

		if (c == '"') {
			if (!skip_string(scan))
				return 0;
			continue;
		}
		scan->at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return 1;
	}
	return 0;
}

static void append(struct split *split, const char *text, size_t length)
{
	split->frame = mem_room(split->frame, &split->frame_capacity,
				split->frame_length + length + 1, 1);
	memcpy(split->frame + split->frame_length, text, length);
	split->frame_length += length;
}

static const char *take_span(struct scan *scan)
{
	struct split *split = scan->split;
	const char *begin;

	skip_blanks(scan);
	begin = scan->at;
	if (begin == scan->end || *begin != '{')
		return "a span is no object";
	if (!skip_object(scan))
		return "bad JSON: a span doesn't end";
	split->spans = mem_room(split->spans, &split->capacity,
				split->count + 1, sizeof(*split->spans));
	split->spans[split->count++] =
		(struct split_piece){begin, (size_t)(scan->at - begin)};
	return NULL;
}

/* Takes the spans of an array, from behind its bracket. */
static const char *take_spans(struct scan *scan)
{
	size_t first = scan->split->count;
	char places[48];
	const char *why;
	int length;

	append(scan->split, scan->copied, (size_t)(scan->at - scan->copied));
	if (!take(scan, ']')) {
		do {
			why = take_span(scan);
			if (why)
				return why;
		} while (take(scan, ','));
		if (!take(scan, ']'))
			return "bad JSON: an array of spans doesn't end";
	}
	length = snprintf(places, sizeof(places), "%zu,%zu]", first,
			  scan->split->count - first);
	append(scan->split, places, (size_t)length);
	scan->copied = scan->at;
	return NULL;
}

/* Reads a string; if it is the key of an array of spans, takes that too. */
static const char *take_string(struct scan *scan, size_t depth)
{
	const char *begin = scan->at;
	size_t length;

	if (!skip_string(scan))
		return "bad JSON: a text doesn't end";
	length = (size_t)(scan->at - begin);
	if (depth != SPANS_DEPTH || length != strlen(SPANS_KEY) ||
	    memcmp(begin, SPANS_KEY, length) != 0)
		return NULL;
	return take(scan, ':') && take(scan, '[') ? take_spans(scan) : NULL;
}

const char *split_line(struct split *split, const char *line, size_t length)
{
	struct scan scan = {split, line, line + length, line};
	const char *why = NULL;
	size_t depth = 0;

	*split = (struct split){0};
	while (scan.at < scan.end && !why) {
		char c = *scan.at;

		if (c == '"') {
			why = take_string(&scan, depth);
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth > 0;
		scan.at++;
	}
	append(split, scan.copied, (size_t)(scan.at - scan.copied));
	return why;
}

void split_fini(struct split *split)
{
	free(split->frame);
	free(split->spans);
	*split = (struct split){0};
}
