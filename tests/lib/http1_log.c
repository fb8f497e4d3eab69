/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the HTTP/1 parsers over pieces and logs their events.
 * Runs on: the main thread of unit tests and fuzzers.
 */
#include "tests/lib/http1_log.h"

#include <stdlib.h>
#include <string.h>

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_text(const char *text, size_t bytes)
{
	size_t length = 0;

	while (length < bytes && text[length]) {
		require(text[length] >= 0x21 && text[length] <= 0x7e);
		length++;
	}
	require(length < bytes);
	while (length < bytes)
		require(text[length++] == 0);
}

static void require_parent(const struct http1_head *head)
{
	static const struct trace_parent none;
	const struct trace_parent *parent = &head->parent;

	if (head->traceparent != HTTP1_TRACEPARENT_VALID) {
		require(!memcmp(parent, &none, sizeof(none)));
		return;
	}
	require(memcmp(parent->trace_id, none.trace_id, TRACE_ID_BYTES) != 0);
	require(memcmp(parent->parent_id, none.parent_id, SPAN_ID_BYTES) != 0);
}

static void require_head(const struct http1_head *head)
{
	require_text(head->method, sizeof(head->method));
	require_text(head->path, sizeof(head->path));
	require(head->method[0] != 0);
	require_parent(head);
}

static struct http1_log_event *add(struct http1_log *log, int event)
{
	static struct http1_log_event beyond;
	size_t i = log->count++;
	struct http1_log_event *entry =
		i < HTTP1_LOG_EVENTS ? &log->events[i] : &beyond;

	entry->end = log->fed;
	entry->event = event;
	return entry;
}

static void begin_next(struct http1_log *log, const struct http1_feed *feed)
{
	if (log->begun < feed->requests)
		http1_response_begin(&log->response,
				     feed->head_flags[log->begun++]);
}

static void note_request(struct http1_log *log, enum http1_request_event event)
{
	if (event == HTTP1_REQUEST_NONE)
		return;
	if (event == HTTP1_REQUEST_HEAD)
		require_head(&log->request.head);
	add(log, event)->head = log->request.head;
}

static void note_response(struct http1_log *log, const struct http1_feed *feed,
			  enum http1_response_event event)
{
	if (event == HTTP1_RESPONSE_NONE)
		return;
	add(log, event)->status = log->response.status;
	if (event == HTTP1_RESPONSE_DONE || event == HTTP1_RESPONSE_SWITCHED)
		require(log->response.status >= 101 &&
			log->response.status <= 999);
	if (event == HTTP1_RESPONSE_DONE)
		begin_next(log, feed);
}

static size_t feed_once(struct http1_log *log, const struct http1_feed *feed,
			const uint8_t *bytes, size_t length)
{
	enum http1_request_event request;
	enum http1_response_event response;
	size_t used;

	if (!feed->head_flags) {
		used = http1_request_feed(&log->request, bytes, length,
					  &request);
		log->fed += used;
		note_request(log, request);
	} else {
		used = http1_response_feed(&log->response, bytes, length,
					   &response);
		log->fed += used;
		note_response(log, feed, response);
	}
	require(used > 0 && used <= length);
	return used;
}

static void feed_piece(struct http1_log *log, const struct http1_feed *feed,
		       const uint8_t *bytes, size_t length)
{
	uint8_t *piece = malloc(length);
	size_t used = 0;

	require(piece != NULL);
	memcpy(piece, bytes, length);
	while (used < length)
		used += feed_once(log, feed, piece + used, length - used);
	free(piece);
}

static void skip(struct http1_log *log, const struct http1_feed *feed)
{
	enum http1_response_event response;

	if (!feed->head_flags) {
		note_request(log, http1_request_skip(&log->request,
						     feed->skip_bytes));
		return;
	}
	http1_response_skip(&log->response, feed->skip_bytes, &response);
	note_response(log, feed, response);
}

static size_t at_most(size_t size, size_t room)
{
	if (size == 0)
		size = 1;
	return size < room ? size : room;
}

static bool cut_agrees(const struct http1_log *whole,
		       const struct http1_feed *feed, size_t cut)
{
	static struct http1_log log;
	const size_t sizes[2] = {cut, feed->length};

	http1_log_run(&log, feed, sizes, 2);
	return http1_log_equal(whole, &log);
}

/* Of a long message, cuts far from its ends are tried in steps. */
static size_t next_cut(size_t cut, size_t length)
{
	const size_t near = 700, step = 97;

	if (cut < near || cut + near + step > length)
		return cut + 1;
	return cut + step;
}

void http1_log_run(struct http1_log *log, const struct http1_feed *feed,
		   const size_t *sizes, size_t count)
{
	bool to_skip = feed->skip_bytes > 0;
	size_t piece = 0;

	memset(log, 0, sizeof(*log));
	begin_next(log, feed);
	while (log->fed < feed->length || to_skip) {
		size_t end = to_skip ? feed->skip_at : feed->length;
		size_t size;

		if (log->fed == end) {
			skip(log, feed);
			to_skip = false;
			continue;
		}
		size = at_most(sizes[piece++ % count], end - log->fed);
		feed_piece(log, feed, feed->bytes + log->fed, size);
	}
}

void http1_log_run_whole(struct http1_log *log, const struct http1_feed *feed)
{
	const size_t size = feed->length;

	http1_log_run(log, feed, &size, 1);
}

bool http1_log_equal(const struct http1_log *a, const struct http1_log *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool http1_log_cuts_agree(const struct http1_feed *feed)
{
	static struct http1_log whole, bytewise;
	const size_t one = 1;

	http1_log_run_whole(&whole, feed);
	http1_log_run(&bytewise, feed, &one, 1);
	if (!http1_log_equal(&whole, &bytewise))
		return false;
	for (size_t cut = 1; cut < feed->length;
	     cut = next_cut(cut, feed->length))
		if (!cut_agrees(&whole, feed, cut))
			return false;
	return true;
}
