/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit tests: reads inbound bytes of a connection with http1_request_feed
 * and asks what was seen. All reading is repeated in pieces of one byte and cut
 * in two at every place, and must end the same way.
 */
#ifndef TESTS_LIB_REQUESTS_H
#define TESTS_LIB_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/http1_request.h"
#include "tests/lib/http1_log.h"

#define IDS "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
#define OTHER_IDS "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
#define TP "traceparent: 00-" IDS "-01\r\n"
#define OTHER_TP "traceparent: 00-" OTHER_IDS "-01\r\n"
#define GET "GET /a HTTP/1.1\r\n"
#define POST "POST /p HTTP/1.1\r\n"
#define END "\r\n"
#define NEXT "GET /next HTTP/1.1\r\n" END

/* What was read last. */
extern struct http1_log requests_seen;

void requests_read(const char *text, size_t length);

/* `before`, `count` bytes unseen, `after`. */
void requests_read_around(const char *before, uint64_t count,
			  const char *after);

/* `before`, `count` times `filler`, `after`. */
void requests_read_filled(const char *before, const char *filler, size_t count,
			  const char *after);

/* The same as a string that the caller frees. */
char *requests_fill(const char *before, const char *filler, size_t count,
		    const char *after);

/* The i-th head that was seen. */
const struct http1_head *requests_head(size_t i);

/* Exactly so many heads were seen, and the stream is not lost. */
void requests_check_heads(size_t count);

/* The stream is lost, after so many heads. */
void requests_check_lost(size_t heads);

/* The i-th head has a valid traceparent with these ids. */
void requests_check_parent(size_t i, const char *ids);

/* The text of a string literal, NULs included. */
#define requests_read_literal(text) requests_read(text, sizeof(text) - 1)

#endif
