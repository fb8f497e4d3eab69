/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The responses in the outbound bytes of one HTTP/1 server connection (RFC
 * 9110, RFC 9112), followed as the bytes go, in pieces of any size. It knows
 * nothing of the inbound side but the flags of each request's head.
 */
#ifndef HOOKS_HTTP1_RESPONSE_H
#define HOOKS_HTTP1_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

#include "hooks/http1_body.h"

enum http1_response_event {
	HTTP1_RESPONSE_NONE, /* all bytes are consumed */
	/* The response to the current request is complete: stream->status. */
	HTTP1_RESPONSE_DONE,
	/* 101, or 2xx to CONNECT: the connection is no HTTP/1 from here on,
	 * in neither direction. */
	HTTP1_RESPONSE_SWITCHED,
	HTTP1_RESPONSE_LOST, /* not HTTP/1, or unfollowable; told once */
};

/* Zeroed, it is a fresh connection. The caller owns and zeroes it. */
struct http1_response_stream {
	uint8_t state;
	uint8_t index;   /* in the status line */
	uint8_t flags;   /* enum http1_head_flags of the request */
	uint16_t digits; /* of a status that is not complete */
	uint16_t status; /* of the final response or 101; 0 until it is known */
	struct http1_body body;
};

/*
 * A request whose head had `head_flags` (enum http1_head_flags) is to be
 * answered next; sets `status` to 0. With pipelined requests call it for the
 * next one once HTTP1_RESPONSE_DONE was told for the one before. It also takes
 * up a lost stream, and drops a response that is not complete: right for
 * clients that send a request only after the whole answer to the last one.
 */
void http1_response_begin(struct http1_response_stream *stream,
			  uint8_t head_flags);

/*
 * Consumes outbound bytes up to and including the one that makes an event, and
 * returns their number; at least 1 when length is. Call again while bytes are
 * left. 1xx responses but 101 are passed over without an event. A response
 * that ends with the connection is never done: the caller ends it at close or
 * shutdown. Bytes when no request is to be answered make the stream lost.
 *
 * A lost stream swallows everything without an event until it is zeroed or
 * http1_response_begin is called; so does a switched one.
 */
size_t http1_response_feed(struct http1_response_stream *stream,
			   const void *bytes, size_t length,
			   enum http1_response_event *event);

/* `count` outbound bytes went unseen, as with sendfile. The event is
 * HTTP1_RESPONSE_LOST unless they all lie in a run of known length (a counted
 * body, one chunk) or in a body that ends with the connection, or there are
 * none, or the stream swallows everything. */
void http1_response_skip(struct http1_response_stream *stream, uint64_t count,
			 enum http1_response_event *event);

#endif
