/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HTTP/1 requests and responses share behind their start line: the head's
 * field lines, the framing they tell, and the body (RFC 9112 sections 5 to 7).
 * Bytes come in pieces of any size.
 *
 * For each message: http1_body_begin_head, http1_body_feed_head until
 * HTTP1_LINE_END, http1_body_framing, http1_body_begin, then http1_body_feed
 * and http1_body_skip until HTTP1_BODY_DONE.
 */
#ifndef HOOKS_HTTP1_BODY_H
#define HOOKS_HTTP1_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/http1_line.h"

/* What a head tells about its body's end. */
enum http1_framing {
	HTTP1_FRAMING_ABSENT,  /* nothing */
	HTTP1_FRAMING_LENGTH,  /* Content-Length, 0 included */
	HTTP1_FRAMING_CHUNKED, /* Transfer-Encoding, with chunked at its end */
	HTTP1_FRAMING_CLOSE, /* Transfer-Encoding, something else at its end */
	HTTP1_FRAMING_BAD,   /* malformed, contradictory or ambiguous */
};

enum http1_body_event {
	HTTP1_BODY_MORE, /* the body goes on */
	HTTP1_BODY_DONE, /* its last byte was consumed */
	HTTP1_BODY_BAD,  /* its framing can't be followed; give it up */
};

struct http1_body {
	uint64_t left; /* Content-Length; then bytes left of body or chunk */
	uint8_t state;
	uint8_t notes;                  /* what the head told so far */
	struct http1_line_reader lines; /* of the head, then of the trailers */
};

void http1_body_begin_head(struct http1_body *body);

/* As http1_line_feed, on body->lines, and takes note of the framing. */
size_t http1_body_feed_head(struct http1_body *body, const uint8_t *bytes,
			    size_t length, enum http1_line_event *event);

/*
 * The framing of a complete head. Transfer-Encoding overrides Content-Length,
 * however malformed. A Content-Length that is repeated with the same number is
 * fine; a list in one field is not.
 */
enum http1_framing http1_body_framing(const struct http1_body *body);

/* Begins a body that ends as `framing` says, HTTP1_FRAMING_ABSENT and
 * HTTP1_FRAMING_CLOSE: never. Not for HTTP1_FRAMING_BAD. Returns false when
 * there is no byte to come. */
bool http1_body_begin(struct http1_body *body, enum http1_framing framing);

/* Consumes bytes up to the end of the body and returns their number, 1 at
 * least when length is. Chunk lines must end with CRLF: servers differ in what
 * they do with a bare LF there. */
size_t http1_body_feed(struct http1_body *body, const uint8_t *bytes,
		       size_t length, enum http1_body_event *event);

/* `count` bytes of the body went by unseen. HTTP1_BODY_BAD unless they all
 * belong to one run of known length (the body's, one chunk's) or to a body
 * without end. */
enum http1_body_event http1_body_skip(struct http1_body *body, uint64_t count);

#endif
