/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the value of a W3C traceparent header.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/wire_w3c.h"

#include <errno.h>

/* Offsets in the value. */
enum {
	VERSION_AT = 0,
	TRACE_ID_AT = 3,
	PARENT_ID_AT = 36,
	FLAGS_AT = 53,
	FIELDS_BYTES = 55,
};

#define VERSION_FORBIDDEN 0xff

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool read_hex(uint8_t *bytes, size_t count, const char *text)
{
	int bad = 0;

	for (size_t i = 0; i < count; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		bad |= high | low;
		bytes[i] =
			(uint8_t)((unsigned int)high << 4 | (unsigned int)low);
	}
	return bad >= 0;
}

static bool is_zero(const uint8_t *id, size_t bytes)
{
	uint8_t any = 0;

	for (size_t i = 0; i < bytes; i++)
		any |= id[i];
	return any == 0;
}

/* What may follow the four fields depends on the version. */
static bool tail_is_allowed(uint8_t version, const char *value, size_t length)
{
	if (version == VERSION_FORBIDDEN)
		return false;
	if (length == FIELDS_BYTES)
		return true;
	return version > 0 && value[FIELDS_BYTES] == '-';
}

static int parse_trimmed(struct trace_parent *parent, const char *value,
			 size_t length)
{
	struct trace_parent read;
	uint8_t version;

	if (length < FIELDS_BYTES)
		return -EINVAL;
	if (value[TRACE_ID_AT - 1] != '-' || value[PARENT_ID_AT - 1] != '-' ||
	    value[FLAGS_AT - 1] != '-')
		return -EINVAL;
	if (!read_hex(&version, 1, value + VERSION_AT) ||
	    !read_hex(read.trace_id, TRACE_ID_BYTES, value + TRACE_ID_AT) ||
	    !read_hex(read.parent_id, SPAN_ID_BYTES, value + PARENT_ID_AT) ||
	    !read_hex(&read.flags, 1, value + FLAGS_AT))
		return -EINVAL;
	if (is_zero(read.trace_id, TRACE_ID_BYTES) ||
	    is_zero(read.parent_id, SPAN_ID_BYTES))
		return -EINVAL;
	if (!tail_is_allowed(version, value, length))
		return -EINVAL;
	*parent = read;
	return 0;
}

int wire_w3c_parse(struct trace_parent *parent, const char *value,
		   size_t length, bool longer)
{
	while (length > 0 && is_blank(*value)) {
		value++;
		length--;
	}
	/* The blanks at the end of what was kept lie inside a longer value. */
	while (!longer && length > 0 && is_blank(value[length - 1]))
		length--;
	if (longer && length < TRACE_PARENT_DECISIVE_BYTES)
		return -EINVAL;
	return parse_trimmed(parent, value, length);
}
