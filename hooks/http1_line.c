/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the field lines of HTTP/1 heads and trailers.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/http1_line.h"

#include <string.h>

enum line_state {
	LINE_START, /* in front of a line */
	LINE_EMPTY, /* behind a CR that began the line */
	LINE_NAME,  /* in a name that may be one of ours */
	LINE_VALUE, /* in the value of one of ours */
	LINE_REST,  /* in something that does not matter, up to the LF */
};

#define FIELDS 4
#define NAME_BYTES 18

/*
 * In the order of enum http1_field, without HTTP1_FIELD_OTHER, which is the
 * alphabet's: names that begin alike are neighbours. `shared` says how many
 * characters a name has in common with the one before.
 */
static const char names[FIELDS][NAME_BYTES] = {
	"content-length",
	"traceparent",
	"transfer-encoding",
	"upgrade",
};
static const uint8_t shared[FIELDS] = {0, 0, 3, 0};

/* Low five bits of their first letters. Most lines are passed over by them. */
#define FIRST_LETTERS (1u << ('c' & 31) | 1u << ('t' & 31) | 1u << ('u' & 31))

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* The name is over, by a colon or, against the grammar, by a blank. */
static void end_name(struct http1_line_reader *reader, uint8_t c,
		     enum http1_line_event *event)
{
	reader->state = LINE_REST;
	if (names[reader->candidate][reader->length] != '\0')
		return;
	reader->field = reader->candidate + 1;
	reader->length = 0;
	if (c == ':')
		reader->state = LINE_VALUE;
	else
		*event = HTTP1_LINE_BROKEN;
}

/* The byte is not the candidate's. Another name may have it, and before it
 * what the candidate has. */
static bool find_candidate(struct http1_line_reader *reader, uint8_t c)
{
	uint8_t i = reader->candidate + 1;

	for (; i < FIELDS && shared[i] >= reader->length; i++) {
		if (names[i][reader->length] == (char)c) {
			reader->candidate = i;
			return true;
		}
	}
	return false;
}

/* Consumes what the candidate's name has where the reader stands. A NUL is in
 * no name, though it ends each of ours. */
static size_t match_name(struct http1_line_reader *reader, const uint8_t *bytes,
			 size_t length)
{
	const char *name = names[reader->candidate] + reader->length;
	size_t used = 0;

	while (used < length && name[used] &&
	       name[used] == (char)lower(bytes[used]))
		used++;
	reader->length += (uint8_t)used;
	return used;
}

static size_t feed_name(struct http1_line_reader *reader, const uint8_t *bytes,
			size_t length, enum http1_line_event *event)
{
	size_t used = match_name(reader, bytes, length);
	uint8_t c;

	if (used == length)
		return used;
	c = bytes[used];
	if (c == ':' || is_blank(c)) {
		end_name(reader, c, event);
		return used + 1;
	}
	/* The rest of the line begins here; this byte may be its LF. */
	if (!find_candidate(reader, lower(c)))
		reader->state = LINE_REST;
	return used;
}

static size_t first_byte(struct http1_line_reader *reader, uint8_t c,
			 enum http1_line_event *event)
{
	if (c == '\n') {
		*event = HTTP1_LINE_END;
		return 1;
	}
	if (c == '\r') {
		reader->state = LINE_EMPTY;
		return 1;
	}
	if (is_blank(c)) {
		reader->state = LINE_REST;
		if (reader->field != HTTP1_FIELD_OTHER)
			*event = HTTP1_LINE_BROKEN;
		return 1;
	}
	reader->field = HTTP1_FIELD_OTHER;
	reader->state = FIRST_LETTERS >> (c & 31) & 1 ? LINE_NAME : LINE_REST;
	reader->candidate = 0;
	reader->longer = 0;
	reader->length = 0;
	return 0;
}

static void keep(struct http1_line_reader *reader, const uint8_t *bytes,
		 size_t length)
{
	size_t room = HTTP1_VALUE_BYTES - reader->length;
	size_t kept;

	while (reader->length == 0 && length > 0 && is_blank(*bytes)) {
		bytes++;
		length--;
	}
	kept = length < room ? length : room;
	memcpy(reader->value + reader->length, bytes, kept);
	reader->length += (uint8_t)kept;
	while (kept < length && !reader->longer)
		reader->longer = !is_blank(bytes[kept++]);
}

static void end_value(struct http1_line_reader *reader)
{
	size_t length = reader->length;

	while (!reader->longer && length > 0 &&
	       is_blank((uint8_t)reader->value[length - 1]))
		length--;
	reader->length = (uint8_t)length;
	reader->pending_cr = 0;
	reader->state = LINE_START;
}

static size_t feed_value(struct http1_line_reader *reader, const uint8_t *bytes,
			 size_t length, enum http1_line_event *event)
{
	static const uint8_t cr = '\r';
	const uint8_t *end = memchr(bytes, '\n', length);
	size_t run = end ? (size_t)(end - bytes) : length;

	if (run > 0 && reader->pending_cr)
		keep(reader, &cr, 1);
	if (run > 0) {
		reader->pending_cr = bytes[run - 1] == cr;
		keep(reader, bytes, run - reader->pending_cr);
	}
	if (!end)
		return length;
	end_value(reader);
	*event = HTTP1_LINE_FIELD;
	return run + 1;
}

static size_t pass_rest(struct http1_line_reader *reader, const uint8_t *bytes,
			size_t length)
{
	const uint8_t *end = memchr(bytes, '\n', length);

	if (!end)
		return length;
	reader->state = LINE_START;
	return (size_t)(end - bytes) + 1;
}

/* An empty line if an LF follows the CR. */
static void empty_line(struct http1_line_reader *reader, uint8_t c,
		       enum http1_line_event *event)
{
	if (c == '\n') {
		*event = HTTP1_LINE_END;
		return;
	}
	reader->field = HTTP1_FIELD_OTHER;
	reader->state = LINE_REST;
}

static size_t step(struct http1_line_reader *reader, const uint8_t *bytes,
		   size_t length, enum http1_line_event *event)
{
	switch (reader->state) {
	case LINE_START:
		return first_byte(reader, *bytes, event);
	case LINE_EMPTY:
		empty_line(reader, *bytes, event);
		return 1;
	case LINE_NAME:
		return feed_name(reader, bytes, length, event);
	case LINE_VALUE:
		return feed_value(reader, bytes, length, event);
	default:
		return pass_rest(reader, bytes, length);
	}
}

bool http1_line_is_version(size_t index, uint8_t byte)
{
	static const char version[HTTP1_VERSION_BYTES] = "HTTP/1.";

	if (index == HTTP1_VERSION_BYTES - 1)
		return byte >= '0' && byte <= '9';
	return byte == (uint8_t)version[index];
}

size_t http1_line_feed(struct http1_line_reader *reader, const uint8_t *bytes,
		       size_t length, enum http1_line_event *event)
{
	size_t used = 0;

	*event = HTTP1_LINE_MORE;
	while (used < length && *event == HTTP1_LINE_MORE)
		used += step(reader, bytes + used, length - used, event);
	if (*event == HTTP1_LINE_END)
		memset(reader, 0, sizeof(*reader));
	return used;
}
