/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows HTTP/1 responses in a connection's outbound bytes.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/http1_response.h"

#include <stdbool.h>
#include <string.h>

#include "hooks/http1_request.h"

enum response_state {
	RESPONSE_IDLE, /* no request is to be answered */
	RESPONSE_VERSION,
	RESPONSE_STATUS, /* in the blank and the digits behind it */
	RESPONSE_STATUS_END,
	RESPONSE_REASON,
	RESPONSE_LINE_LF, /* behind a CR right after the status */
	RESPONSE_FIELDS,
	RESPONSE_BODY,
	RESPONSE_OPAQUE, /* swallowing, as it should be */
	RESPONSE_LOST,   /* swallowing, having failed */
};

#define STATUS_BYTES 3

static void begin_line(struct http1_response_stream *stream)
{
	stream->index = 0;
	stream->digits = 0;
	stream->status = 0;
	stream->state = RESPONSE_VERSION;
}

static void version_byte(struct http1_response_stream *stream, uint8_t c)
{
	if (!http1_line_is_version(stream->index, c)) {
		stream->state = RESPONSE_LOST;
		return;
	}
	if (++stream->index == HTTP1_VERSION_BYTES) {
		stream->index = 0;
		stream->state = RESPONSE_STATUS;
	}
}

/* SP and three digits, of which the first is not 0. */
static void status_byte(struct http1_response_stream *stream, uint8_t c)
{
	uint8_t least = stream->index == 1 ? '1' : '0';

	if (stream->index == 0 ? c != ' ' : c < least || c > '9') {
		stream->state = RESPONSE_LOST;
		return;
	}
	if (stream->index > 0)
		stream->digits = (uint16_t)(stream->digits * 10 + (c - '0'));
	if (stream->index++ == STATUS_BYTES)
		stream->state = RESPONSE_STATUS_END;
}

static void begin_fields(struct http1_response_stream *stream)
{
	http1_body_begin_head(&stream->body);
	stream->state = RESPONSE_FIELDS;
}

static void status_end_byte(struct http1_response_stream *stream, uint8_t c)
{
	if (c == '\n')
		begin_fields(stream);
	else if (c == '\r' && stream->state == RESPONSE_STATUS_END)
		stream->state = RESPONSE_LINE_LF;
	else if (c == ' ' && stream->state == RESPONSE_STATUS_END)
		stream->state = RESPONSE_REASON;
	else
		stream->state = RESPONSE_LOST;
}

static size_t pass_reason(struct http1_response_stream *stream,
			  const uint8_t *bytes, size_t length)
{
	const uint8_t *end = memchr(bytes, '\n', length);

	if (!end)
		return length;
	begin_fields(stream);
	return (size_t)(end - bytes) + 1;
}

static enum http1_response_event done(struct http1_response_stream *stream)
{
	stream->state = RESPONSE_IDLE;
	return HTTP1_RESPONSE_DONE;
}

static enum http1_response_event switched(struct http1_response_stream *stream)
{
	stream->state = RESPONSE_OPAQUE;
	return HTTP1_RESPONSE_SWITCHED;
}

/* RFC 9112 section 6.3; a 204 to CONNECT is a 2xx above all. */
static enum http1_response_event end_head(struct http1_response_stream *stream)
{
	enum http1_framing framing = http1_body_framing(&stream->body);
	uint16_t status = stream->digits;

	if (status < 200 && status != 101) {
		begin_line(stream);
		return HTTP1_RESPONSE_NONE;
	}
	stream->status = status;
	if (status == 101)
		return switched(stream);
	if (stream->flags & HTTP1_HEAD_IS_CONNECT && status < 300)
		return switched(stream);
	if (stream->flags & HTTP1_HEAD_IS_HEAD || status == 204 ||
	    status == 304)
		return done(stream);
	if (framing == HTTP1_FRAMING_BAD) {
		stream->state = RESPONSE_LOST;
		return HTTP1_RESPONSE_NONE;
	}
	stream->state = RESPONSE_BODY;
	if (!http1_body_begin(&stream->body, framing))
		return done(stream);
	return HTTP1_RESPONSE_NONE;
}

static size_t feed_fields(struct http1_response_stream *stream,
			  const uint8_t *bytes, size_t length,
			  enum http1_response_event *event)
{
	enum http1_line_event line;
	size_t used = http1_body_feed_head(&stream->body, bytes, length, &line);

	if (line == HTTP1_LINE_END)
		*event = end_head(stream);
	return used;
}

static void follow_body(struct http1_response_stream *stream,
			enum http1_body_event body,
			enum http1_response_event *event)
{
	if (body == HTTP1_BODY_DONE)
		*event = done(stream);
	else if (body == HTTP1_BODY_BAD)
		stream->state = RESPONSE_LOST;
}

static size_t feed_body(struct http1_response_stream *stream,
			const uint8_t *bytes, size_t length,
			enum http1_response_event *event)
{
	enum http1_body_event body;
	size_t used = http1_body_feed(&stream->body, bytes, length, &body);

	follow_body(stream, body, event);
	return used;
}

static bool is_swallowing(const struct http1_response_stream *stream)
{
	return stream->state >= RESPONSE_OPAQUE;
}

static size_t line_byte(struct http1_response_stream *stream, uint8_t c)
{
	switch (stream->state) {
	case RESPONSE_VERSION:
		version_byte(stream, c);
		return 1;
	case RESPONSE_STATUS:
		status_byte(stream, c);
		return 1;
	case RESPONSE_STATUS_END:
	case RESPONSE_LINE_LF:
		status_end_byte(stream, c);
		return 1;
	default:
		stream->state = RESPONSE_LOST;
		return 1;
	}
}

static size_t step(struct http1_response_stream *stream, const uint8_t *bytes,
		   size_t length, enum http1_response_event *event)
{
	switch (stream->state) {
	case RESPONSE_REASON:
		return pass_reason(stream, bytes, length);
	case RESPONSE_FIELDS:
		return feed_fields(stream, bytes, length, event);
	case RESPONSE_BODY:
		return feed_body(stream, bytes, length, event);
	default:
		return line_byte(stream, *bytes);
	}
}

void http1_response_begin(struct http1_response_stream *stream,
			  uint8_t head_flags)
{
	stream->flags = head_flags;
	begin_line(stream);
}

size_t http1_response_feed(struct http1_response_stream *stream,
			   const void *bytes, size_t length,
			   enum http1_response_event *event)
{
	const uint8_t *next = bytes;
	size_t used = 0;

	*event = HTTP1_RESPONSE_NONE;
	if (is_swallowing(stream))
		return length;
	while (used < length && *event == HTTP1_RESPONSE_NONE) {
		used += step(stream, next + used, length - used, event);
		if (stream->state == RESPONSE_LOST)
			*event = HTTP1_RESPONSE_LOST;
	}
	return used;
}

void http1_response_skip(struct http1_response_stream *stream, uint64_t count,
			 enum http1_response_event *event)
{
	*event = HTTP1_RESPONSE_NONE;
	if (count == 0 || is_swallowing(stream))
		return;
	if (stream->state == RESPONSE_BODY)
		follow_body(stream, http1_body_skip(&stream->body, count),
			    event);
	else
		stream->state = RESPONSE_LOST;
	if (stream->state == RESPONSE_LOST)
		*event = HTTP1_RESPONSE_LOST;
}
