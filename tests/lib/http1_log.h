/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to the HTTP/1 parsers in chosen pieces and logs what they tell,
 * for unit tests and fuzzers: however the bytes are cut, the logs must agree.
 * Every piece is fed from a block of exactly its size, so that a sanitizer sees
 * a read beyond it.
 */
#ifndef TESTS_LIB_HTTP1_LOG_H
#define TESTS_LIB_HTTP1_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/http1_request.h"
#include "hooks/http1_response.h"

#define HTTP1_LOG_EVENTS 64

struct http1_feed {
	const uint8_t *bytes;
	size_t length;
	/* For a response stream: the flags of each request, of which the first
	 * is begun at once and each further one when the one before it is
	 * done. NULL for a request stream. */
	const uint8_t *head_flags;
	size_t requests;
	/* In front of bytes[skip_at], at most `length`, so many bytes go by
	 * unseen; 0 for none. */
	size_t skip_at;
	uint64_t skip_bytes;
};

struct http1_log {
	size_t count; /* of all events; the first ones are kept */
	struct http1_log_event {
		size_t end; /* bytes consumed so far */
		int event;  /* of the stream's kind */
		uint32_t status;
		struct http1_head head;
	} events[HTTP1_LOG_EVENTS];
	size_t fed;
	size_t begun; /* requests, of a response stream */
	struct http1_request_stream request;
	struct http1_response_stream response;
};

/* Feeds everything in pieces of the `count` sizes in turn, a size of 0 being
 * taken for 1. Aborts when a parser breaks what its header promises. */
void http1_log_run(struct http1_log *log, const struct http1_feed *feed,
		   const size_t *sizes, size_t count);

/* The same in one piece. */
void http1_log_run_whole(struct http1_log *log, const struct http1_feed *feed);

/* Whether events, heads and final states are the same, byte by byte. */
bool http1_log_equal(const struct http1_log *a, const struct http1_log *b);

/* Whether the log is the same in one piece, in pieces of one byte, and in two
 * pieces for every place to cut. */
bool http1_log_cuts_agree(const struct http1_feed *feed);

#endif
