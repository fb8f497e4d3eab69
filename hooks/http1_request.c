/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds HTTP/1 requests in a connection's inbound bytes.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/http1_request.h"

#include <stdbool.h>
#include <string.h>

enum request_state {
	REQUEST_IDLE,     /* in front of a request line */
	REQUEST_EMPTY_LF, /* behind the CR of an empty line before it */
	REQUEST_METHOD,
	REQUEST_TARGET,
	REQUEST_VERSION,
	REQUEST_LINE_END, /* behind the version */
	REQUEST_LINE_LF,  /* behind a CR after it */
	REQUEST_FIELDS,
	REQUEST_BODY,
	REQUEST_UNFRAMED, /* behind a head that does not frame its body */
	REQUEST_OPAQUE,   /* swallowing, as it should be */
	REQUEST_LOST,     /* swallowing, having failed */
};

#define METHOD_MAX_BYTES 32

static bool is_token(uint8_t c)
{
	/* RFC 9110 section 5.6.2: letters, digits and !#$%&'*+-.^_`|~ */
	static const uint32_t token[4] = {0, 0x03ff6cfa, 0xc7fffffe,
					  0x57ffffff};

	return c < 0x80 && (token[c >> 5] >> (c & 31) & 1);
}

/* Not for arbitrary strings: `word` is shorter than a method's place. */
static bool method_is(const struct http1_head *head, const char *word)
{
	size_t i = 0;

	while (word[i] && head->method[i] == word[i])
		i++;
	return head->method[i] == word[i];
}

static void begin_head(struct http1_request_stream *stream)
{
	memset(&stream->head, 0, sizeof(stream->head));
	memset(&stream->target, 0, sizeof(stream->target));
	stream->index = 0;
	stream->line_bytes = 0;
	stream->state = REQUEST_METHOD;
}

/* Passes over empty lines. The byte that begins a line is not consumed. */
static size_t feed_idle(struct http1_request_stream *stream, uint8_t c)
{
	if (stream->state == REQUEST_EMPTY_LF) {
		stream->state = c == '\n' ? REQUEST_IDLE : REQUEST_LOST;
		return 1;
	}
	if (c == '\r')
		stream->state = REQUEST_EMPTY_LF;
	else if (c != '\n')
		begin_head(stream);
	return stream->state != REQUEST_METHOD;
}

static void method_byte(struct http1_request_stream *stream, uint8_t c)
{
	if (c == ' ' && stream->index > 0) {
		stream->state = REQUEST_TARGET;
		return;
	}
	if (!is_token(c) || stream->index == METHOD_MAX_BYTES) {
		stream->state = REQUEST_LOST;
		return;
	}
	if (stream->index < SPAN_METHOD_BYTES - 1)
		stream->head.method[stream->index] = (char)c;
	stream->index++;
}

static void end_target(struct http1_request_stream *stream, uint8_t c)
{
	struct http1_head *head = &stream->head;

	/* A target that is still zeroed is empty. */
	if (c != ' ' || stream->target.state == 0) {
		stream->state = REQUEST_LOST;
		return;
	}
	http1_target_end(&stream->target, head->path);
	if (method_is(head, "HEAD"))
		head->flags |= HTTP1_HEAD_IS_HEAD;
	if (method_is(head, "CONNECT")) {
		/* Its target is an authority and has no path. */
		head->flags |= HTTP1_HEAD_IS_CONNECT;
		memset(head->path, 0, sizeof(head->path));
	}
	stream->index = 0;
	stream->state = REQUEST_VERSION;
}

static void version_byte(struct http1_request_stream *stream, uint8_t c)
{
	if (!http1_line_is_version(stream->index, c))
		stream->state = REQUEST_LOST;
	else if (++stream->index == HTTP1_VERSION_BYTES)
		stream->state = REQUEST_LINE_END;
}

static void end_line(struct http1_request_stream *stream, uint8_t c)
{
	if (c == '\r' && stream->state == REQUEST_LINE_END) {
		stream->state = REQUEST_LINE_LF;
		return;
	}
	stream->state = c == '\n' ? REQUEST_FIELDS : REQUEST_LOST;
	http1_body_begin_head(&stream->body);
}

static void line_byte(struct http1_request_stream *stream, uint8_t c)
{
	switch (stream->state) {
	case REQUEST_METHOD:
		method_byte(stream, c);
		return;
	case REQUEST_TARGET:
		end_target(stream, c);
		return;
	case REQUEST_VERSION:
		version_byte(stream, c);
		return;
	default:
		end_line(stream, c);
	}
}

static bool is_in_line(const struct http1_request_stream *stream)
{
	return stream->state >= REQUEST_METHOD &&
	       stream->state <= REQUEST_LINE_LF;
}

static size_t feed_line(struct http1_request_stream *stream,
			const uint8_t *bytes, size_t length)
{
	size_t room = HTTP1_REQUEST_LINE_BYTES - stream->line_bytes;
	size_t used = 0;

	if (length > room)
		length = room;
	while (used < length && is_in_line(stream)) {
		if (stream->state == REQUEST_TARGET)
			used += http1_target_feed(&stream->target,
						  stream->head.path,
						  bytes + used, length - used);
		if (used < length)
			line_byte(stream, bytes[used++]);
	}
	stream->line_bytes += (uint32_t)used;
	if (is_in_line(stream) &&
	    stream->line_bytes == HTTP1_REQUEST_LINE_BYTES)
		stream->state = REQUEST_LOST;
	return used;
}

static void note_traceparent(struct http1_request_stream *stream, bool broken)
{
	const struct http1_line_reader *lines = &stream->body.lines;
	struct http1_head *head = &stream->head;

	if (!broken && head->traceparent == HTTP1_TRACEPARENT_ABSENT &&
	    wire_w3c_parse(&head->parent, lines->value, lines->length,
			   lines->longer) == 0) {
		head->traceparent = HTTP1_TRACEPARENT_VALID;
		return;
	}
	head->traceparent = HTTP1_TRACEPARENT_INVALID;
	memset(&head->parent, 0, sizeof(head->parent));
}

static void end_head(struct http1_request_stream *stream)
{
	enum http1_framing framing = http1_body_framing(&stream->body);

	if (stream->head.flags & HTTP1_HEAD_IS_CONNECT)
		stream->state = REQUEST_OPAQUE;
	else if (framing == HTTP1_FRAMING_ABSENT)
		stream->state = REQUEST_IDLE;
	else if (framing == HTTP1_FRAMING_BAD || framing == HTTP1_FRAMING_CLOSE)
		stream->state = REQUEST_UNFRAMED;
	else
		stream->state = http1_body_begin(&stream->body, framing)
					? REQUEST_BODY
					: REQUEST_IDLE;
}

static size_t feed_fields(struct http1_request_stream *stream,
			  const uint8_t *bytes, size_t length,
			  enum http1_request_event *event)
{
	struct http1_body *body = &stream->body;
	enum http1_line_event line;
	size_t used = http1_body_feed_head(body, bytes, length, &line);

	if (line == HTTP1_LINE_END) {
		end_head(stream);
		*event = HTTP1_REQUEST_HEAD;
	} else if (line != HTTP1_LINE_MORE) {
		if (body->lines.field == HTTP1_FIELD_TRACEPARENT)
			note_traceparent(stream, line == HTTP1_LINE_BROKEN);
		else if (body->lines.field == HTTP1_FIELD_UPGRADE)
			stream->head.flags |= HTTP1_HEAD_UPGRADE;
	}
	return used;
}

static void follow_body(struct http1_request_stream *stream,
			enum http1_body_event event)
{
	if (event == HTTP1_BODY_DONE)
		stream->state = REQUEST_IDLE;
	else if (event == HTTP1_BODY_BAD)
		stream->state = REQUEST_LOST;
}

static size_t feed_body(struct http1_request_stream *stream,
			const uint8_t *bytes, size_t length)
{
	enum http1_body_event event;
	size_t used = http1_body_feed(&stream->body, bytes, length, &event);

	follow_body(stream, event);
	return used;
}

static bool is_swallowing(const struct http1_request_stream *stream)
{
	return stream->state >= REQUEST_OPAQUE;
}

static size_t step(struct http1_request_stream *stream, const uint8_t *bytes,
		   size_t length, enum http1_request_event *event)
{
	switch (stream->state) {
	case REQUEST_IDLE:
	case REQUEST_EMPTY_LF:
		return feed_idle(stream, *bytes);
	case REQUEST_FIELDS:
		return feed_fields(stream, bytes, length, event);
	case REQUEST_BODY:
		return feed_body(stream, bytes, length);
	case REQUEST_UNFRAMED:
		stream->state = REQUEST_LOST;
		return 1;
	default:
		return feed_line(stream, bytes, length);
	}
}

size_t http1_request_feed(struct http1_request_stream *stream,
			  const void *bytes, size_t length,
			  enum http1_request_event *event)
{
	const uint8_t *next = bytes;
	size_t used = 0;

	*event = HTTP1_REQUEST_NONE;
	if (is_swallowing(stream))
		return length;
	while (used < length && *event == HTTP1_REQUEST_NONE) {
		used += step(stream, next + used, length - used, event);
		if (stream->state == REQUEST_LOST)
			*event = HTTP1_REQUEST_LOST;
	}
	return used;
}

enum http1_request_event http1_request_skip(struct http1_request_stream *stream,
					    uint64_t count)
{
	if (count == 0 || is_swallowing(stream))
		return HTTP1_REQUEST_NONE;
	if (stream->state == REQUEST_BODY)
		follow_body(stream, http1_body_skip(&stream->body, count));
	else
		stream->state = REQUEST_LOST;
	return stream->state == REQUEST_LOST ? HTTP1_REQUEST_LOST
					     : HTTP1_REQUEST_NONE;
}

void http1_request_lose(struct http1_request_stream *stream)
{
	stream->state = REQUEST_OPAQUE;
}
