/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the end of an HTTP/1 message's body.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/http1_body.h"

#include <string.h>

enum body_state {
	BODY_COUNTED, /* in a body of `left` more bytes */
	BODY_ENDLESS,
	BODY_CHUNK_LINE,    /* in front of a chunk's size */
	BODY_CHUNK_SIZE,    /* behind its first digit */
	BODY_CHUNK_REST,    /* in blanks or extensions behind it */
	BODY_CHUNK_LINE_LF, /* behind the CR of that line */
	BODY_CHUNK_DATA,    /* in front of `left` more bytes of it */
	BODY_CHUNK_CR,      /* in front of the CRLF behind the data */
	BODY_CHUNK_LF,
	BODY_TRAILERS,
};

enum body_note {
	NOTE_LENGTH = 1,     /* a Content-Length, whose value is in `left` */
	NOTE_BAD_LENGTH = 2, /* no number, too large, or two different ones */
	NOTE_CODING = 4,     /* a Transfer-Encoding */
	NOTE_CHUNKED = 8,    /* the last coding of the last one is chunked */
	NOTE_BROKEN = 16,    /* either can't be trusted */
};

#define LENGTH_MAX (UINT64_MAX >> 1)

static bool read_length(const struct http1_line_reader *lines, uint64_t *length)
{
	uint64_t number = 0;

	if (lines->length == 0 || lines->longer)
		return false;
	for (size_t i = 0; i < lines->length; i++) {
		unsigned int digit = (unsigned int)(lines->value[i] - '0');

		if (digit > 9 || number > (LENGTH_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*length = number;
	return true;
}

static void note_length(struct http1_body *body)
{
	uint64_t length = 0;

	if (!read_length(&body->lines, &length))
		body->notes |= NOTE_BAD_LENGTH;
	else if (body->notes & NOTE_LENGTH && length != body->left)
		body->notes |= NOTE_BAD_LENGTH;
	body->notes |= NOTE_LENGTH;
	body->left = length;
}

static bool is_list_padding(char c)
{
	return c == ' ' || c == '\t' || c == ',';
}

/* Whether the last member of a list of codings is chunked. Empty members do
 * not count (RFC 9110 section 5.6.1.2). */
static bool ends_chunked(const char *list, size_t length)
{
	static const char chunked[7] = "chunked";
	const size_t bytes = sizeof(chunked);

	while (length > 0 && is_list_padding(list[length - 1]))
		length--;
	if (length < bytes)
		return false;
	length -= bytes;
	for (size_t i = 0; i < bytes; i++)
		if ((list[length + i] | 0x20) != chunked[i])
			return false;
	while (length > 0 && is_list_padding(list[length - 1]))
		if (list[--length] == ',')
			return true;
	return length == 0;
}

static void note_coding(struct http1_body *body)
{
	const struct http1_line_reader *lines = &body->lines;

	body->notes |= NOTE_CODING;
	body->notes &= (uint8_t)~NOTE_CHUNKED;
	if (lines->longer)
		body->notes |= NOTE_BROKEN;
	else if (ends_chunked(lines->value, lines->length))
		body->notes |= NOTE_CHUNKED;
}

static void note_field(struct http1_body *body, bool broken)
{
	uint8_t field = body->lines.field;

	if (field != HTTP1_FIELD_CONTENT_LENGTH &&
	    field != HTTP1_FIELD_TRANSFER_ENCODING)
		return;
	if (broken)
		body->notes |= NOTE_BROKEN;
	else if (field == HTTP1_FIELD_CONTENT_LENGTH)
		note_length(body);
	else
		note_coding(body);
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static enum http1_body_event chunk_digit(struct http1_body *body, uint8_t c)
{
	int digit = hex_digit(c);

	if (digit < 0 || body->left > LENGTH_MAX >> 4)
		return HTTP1_BODY_BAD;
	body->left = body->left << 4 | (uint64_t)digit;
	body->state = BODY_CHUNK_SIZE;
	return HTTP1_BODY_MORE;
}

static enum http1_body_event chunk_size(struct http1_body *body, uint8_t c)
{
	if (c == '\r')
		body->state = BODY_CHUNK_LINE_LF;
	else if (c == ';' || c == ' ' || c == '\t')
		body->state = BODY_CHUNK_REST;
	else
		return chunk_digit(body, c);
	return HTTP1_BODY_MORE;
}

static enum http1_body_event chunk_rest(struct http1_body *body, uint8_t c)
{
	if (c == '\n')
		return HTTP1_BODY_BAD;
	if (c == '\r')
		body->state = BODY_CHUNK_LINE_LF;
	return HTTP1_BODY_MORE;
}

/* Goes on to `state` if `c` is the byte that must stand here. */
static enum http1_body_event expect(struct http1_body *body, bool right,
				    enum body_state state)
{
	if (!right)
		return HTTP1_BODY_BAD;
	body->state = state;
	return HTTP1_BODY_MORE;
}

static enum http1_body_event chunk_byte(struct http1_body *body, uint8_t c)
{
	switch (body->state) {
	case BODY_CHUNK_LINE:
		return chunk_digit(body, c);
	case BODY_CHUNK_SIZE:
		return chunk_size(body, c);
	case BODY_CHUNK_REST:
		return chunk_rest(body, c);
	case BODY_CHUNK_LINE_LF:
		return expect(body, c == '\n',
			      body->left ? BODY_CHUNK_DATA : BODY_TRAILERS);
	case BODY_CHUNK_CR:
		return expect(body, c == '\r', BODY_CHUNK_LF);
	default:
		return expect(body, c == '\n', BODY_CHUNK_LINE);
	}
}

/* Trailers are never taken for fields of the head. */
static size_t feed_trailers(struct http1_body *body, const uint8_t *bytes,
			    size_t length, enum http1_body_event *event)
{
	enum http1_line_event line;
	size_t used = http1_line_feed(&body->lines, bytes, length, &line);

	if (line == HTTP1_LINE_END)
		*event = HTTP1_BODY_DONE;
	return used;
}

static size_t step(struct http1_body *body, const uint8_t *bytes, size_t length,
		   enum http1_body_event *event)
{
	switch (body->state) {
	case BODY_ENDLESS:
		return length;
	case BODY_COUNTED:
	case BODY_CHUNK_DATA:
		length = length < body->left ? length : body->left;
		*event = http1_body_skip(body, length);
		return length;
	case BODY_TRAILERS:
		return feed_trailers(body, bytes, length, event);
	default:
		*event = chunk_byte(body, *bytes);
		return 1;
	}
}

void http1_body_begin_head(struct http1_body *body)
{
	memset(body, 0, sizeof(*body));
}

size_t http1_body_feed_head(struct http1_body *body, const uint8_t *bytes,
			    size_t length, enum http1_line_event *event)
{
	size_t used = http1_line_feed(&body->lines, bytes, length, event);

	if (*event == HTTP1_LINE_FIELD || *event == HTTP1_LINE_BROKEN)
		note_field(body, *event == HTTP1_LINE_BROKEN);
	return used;
}

enum http1_framing http1_body_framing(const struct http1_body *body)
{
	if (body->notes & NOTE_BROKEN)
		return HTTP1_FRAMING_BAD;
	if (body->notes & NOTE_CHUNKED)
		return HTTP1_FRAMING_CHUNKED;
	if (body->notes & NOTE_CODING)
		return HTTP1_FRAMING_CLOSE;
	if (body->notes & NOTE_BAD_LENGTH)
		return HTTP1_FRAMING_BAD;
	if (body->notes & NOTE_LENGTH)
		return HTTP1_FRAMING_LENGTH;
	return HTTP1_FRAMING_ABSENT;
}

bool http1_body_begin(struct http1_body *body, enum http1_framing framing)
{
	if (framing == HTTP1_FRAMING_LENGTH) {
		body->state = BODY_COUNTED;
		return body->left > 0;
	}
	body->left = 0;
	body->state = framing == HTTP1_FRAMING_CHUNKED ? BODY_CHUNK_LINE
						       : BODY_ENDLESS;
	return true;
}

size_t http1_body_feed(struct http1_body *body, const uint8_t *bytes,
		       size_t length, enum http1_body_event *event)
{
	size_t used = 0;

	*event = HTTP1_BODY_MORE;
	while (used < length && *event == HTTP1_BODY_MORE)
		used += step(body, bytes + used, length - used, event);
	return used;
}

enum http1_body_event http1_body_skip(struct http1_body *body, uint64_t count)
{
	if (count == 0 || body->state == BODY_ENDLESS)
		return HTTP1_BODY_MORE;
	if (body->state != BODY_COUNTED && body->state != BODY_CHUNK_DATA)
		return HTTP1_BODY_BAD;
	if (count > body->left)
		return HTTP1_BODY_BAD;
	body->left -= count;
	if (body->left > 0)
		return HTTP1_BODY_MORE;
	if (body->state == BODY_COUNTED)
		return HTTP1_BODY_DONE;
	body->state = BODY_CHUNK_CR;
	return HTTP1_BODY_MORE;
}
