/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the parsers of HTTP/1 requests and responses, whole
 * and in pieces: events, heads and final states must agree. The input is
 *
 *	byte 0		bit 0: a response stream; bits 1..6: head flags, two
 *			bits for each of three requests in turn
 *	byte 1		bytes that go by unseen, in sixteens
 *	bytes 2, 3	where, low byte first, modulo the message's length + 1
 *	bytes 4..7	sizes of the pieces in turn
 *	the rest	the message
 *
 * Runs on: the fuzzer's main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/http1_log.h"

#define PROLOGUE_BYTES 8
#define PIECE_SIZES 4
#define REQUESTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

static bool is_name_at(const uint8_t *text)
{
	static const char name[] = "traceparent:";

	for (size_t i = 0; i < sizeof(name) - 1; i++)
		if (lower(text[i]) != (uint8_t)name[i])
			return false;
	return true;
}

/* "TRACE-ID-PARENT-ID-FLAGS" in lower-case hex. */
static void print_parent(char text[53], const struct trace_parent *parent)
{
	static const char digits[] = "0123456789abcdef";
	char *end = text;

	for (size_t i = 0; i < sizeof(*parent); i++) {
		uint8_t byte = i < 16   ? parent->trace_id[i]
			       : i < 24 ? parent->parent_id[i - 16]
					: parent->flags;

		*end++ = digits[byte >> 4];
		*end++ = digits[byte & 15];
		if (i == 15 || i == 23)
			*end++ = '-';
	}
	*end = 0;
}

/* A context that is taken stands in a line of its own in the message, behind
 * the header's name, an optional blank and two characters of version. */
static void require_in_message(const struct trace_parent *parent,
			       const uint8_t *message, size_t length)
{
	const size_t name = sizeof("\ntraceparent:") - 1, ids = 52;
	char text[53];

	print_parent(text, parent);
	for (size_t i = 0; i + name + 3 + ids <= length; i++) {
		size_t at = i + name;

		if (message[i] != '\n' || !is_name_at(message + i + 1))
			continue;
		while (at < length &&
		       (message[at] == ' ' || message[at] == '\t'))
			at++;
		if (at + 3 + ids <= length &&
		    !memcmp(message + at + 3, text, ids))
			return;
	}
	abort();
}

static void require_parents_in_message(const struct http1_log *log,
				       const struct http1_feed *feed)
{
	size_t kept =
		log->count < HTTP1_LOG_EVENTS ? log->count : HTTP1_LOG_EVENTS;

	for (size_t i = 0; i < kept; i++) {
		const struct http1_head *head = &log->events[i].head;

		require(log->events[i].end <= feed->length);
		if (head->traceparent == HTTP1_TRACEPARENT_VALID)
			require_in_message(&head->parent, feed->bytes,
					   feed->length);
	}
}

/* A head takes two lines at least; being lost or switched comes once. */
static void require_lines(const struct http1_log *log,
			  const struct http1_feed *feed)
{
	size_t lines = 0;

	for (size_t i = 0; i < feed->length; i++)
		lines += feed->bytes[i] == '\n';
	require(log->count <= lines / 2 + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http1_log whole, split, bytewise;
	uint8_t flags[REQUESTS];
	size_t sizes[PIECE_SIZES];
	const size_t one = 1;
	struct http1_feed feed = {0};

	if (size < PROLOGUE_BYTES)
		return 0;
	for (size_t i = 0; i < REQUESTS; i++)
		flags[i] = data[0] >> (1 + 2 * (i % 3)) & 3;
	for (size_t i = 0; i < PIECE_SIZES; i++)
		sizes[i] = data[4 + i];
	feed.bytes = data + PROLOGUE_BYTES;
	feed.length = size - PROLOGUE_BYTES;
	feed.head_flags = data[0] & 1 ? flags : NULL;
	feed.requests = data[0] & 1 ? REQUESTS : 0;
	feed.skip_bytes = data[1] * UINT64_C(16);
	feed.skip_at = (data[2] | (size_t)data[3] << 8) % (feed.length + 1);

	http1_log_run_whole(&whole, &feed);
	http1_log_run(&split, &feed, sizes, PIECE_SIZES);
	http1_log_run(&bytewise, &feed, &one, 1);
	require(http1_log_equal(&whole, &split));
	require(http1_log_equal(&whole, &bytewise));
	require_parents_in_message(&whole, &feed);
	require_lines(&whole, &feed);
	return 0;
}
