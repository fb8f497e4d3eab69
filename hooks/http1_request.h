/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests in the inbound bytes of one HTTP/1 server connection (RFC 9110,
 * RFC 9112), found as the bytes come, in pieces of any size.
 */
#ifndef HOOKS_HTTP1_REQUEST_H
#define HOOKS_HTTP1_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "hooks/http1_body.h"
#include "hooks/http1_target.h"
#include "hooks/wire_w3c.h"
#include "sampler/layout.h"

/* A request line of more bytes, its end included, is none. */
#define HTTP1_REQUEST_LINE_BYTES (64u << 10)

enum http1_head_flags {
	HTTP1_HEAD_IS_HEAD = 1,    /* the method is HEAD */
	HTTP1_HEAD_IS_CONNECT = 2, /* the method is CONNECT */
	HTTP1_HEAD_UPGRADE = 4,    /* there is an Upgrade field */
};

enum http1_traceparent {
	HTTP1_TRACEPARENT_ABSENT,
	HTTP1_TRACEPARENT_VALID,
	/* Malformed, there twice, folded, or with a blank before its colon. */
	HTTP1_TRACEPARENT_INVALID,
};

/* A request's head. Strings end with a NUL and zeros up to their end. */
struct http1_head {
	char method[SPAN_METHOD_BYTES]; /* cut to fit */
	char path[SPAN_PATH_BYTES];     /* url.path; "" for CONNECT */
	uint8_t flags;                  /* enum http1_head_flags */
	uint8_t traceparent;            /* enum http1_traceparent */
	struct trace_parent parent;     /* zeros unless valid */
};

enum http1_request_event {
	HTTP1_REQUEST_NONE, /* all bytes are consumed */
	HTTP1_REQUEST_HEAD, /* a head is complete: stream->head */
	HTTP1_REQUEST_LOST, /* not HTTP/1, or unfollowable; told once */
};

/* Zeroed, it is a fresh connection. The caller owns and zeroes it. */
struct http1_request_stream {
	uint8_t state;
	uint8_t index; /* in the method or the version */
	struct http1_target target;
	uint32_t line_bytes; /* of the request line so far */
	struct http1_body body;
	struct http1_head head; /* holds until the next head's first byte */
};

/*
 * Consumes inbound bytes up to and including the one that makes an event, and
 * returns their number; at least 1 when length is. Call again while bytes are
 * left, in the same buffer: bodies are passed over, further heads follow.
 *
 * A lost stream swallows everything without an event until it is zeroed. So
 * does one after a CONNECT's head: zero it if the answer is no 2xx and the
 * connection goes on. A head whose body can't be framed is told, and the next
 * byte makes the stream lost: a Transfer-Encoding that does not end with
 * chunked, a Content-Length that is no number or comes with different ones,
 * either of them folded or with a blank before its colon.
 */
size_t http1_request_feed(struct http1_request_stream *stream,
			  const void *bytes, size_t length,
			  enum http1_request_event *event);

/* `count` inbound bytes came unseen. Returns HTTP1_REQUEST_NONE when they all
 * lie in a run of known length (a counted body, one chunk), or there are none,
 * or the stream swallows everything; else HTTP1_REQUEST_LOST. */
enum http1_request_event http1_request_skip(struct http1_request_stream *stream,
					    uint64_t count);

/* What follows is no HTTP/1, as after an accepted upgrade: from here on the
 * stream swallows everything, without an event. */
void http1_request_lose(struct http1_request_stream *stream);

#endif
