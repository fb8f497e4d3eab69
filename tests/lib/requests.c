/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads requests and checks what was seen.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/requests.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

struct http1_log requests_seen;

static void read_feed(const struct http1_feed *feed)
{
	http1_log_run_whole(&requests_seen, feed);
	CHECK(http1_log_cuts_agree(feed));
}

static bool is_lost(void)
{
	const struct http1_log *log = &requests_seen;

	return log->count > 0 &&
	       log->events[log->count - 1].event == HTTP1_REQUEST_LOST;
}

static size_t heads(void)
{
	return requests_seen.count - is_lost();
}

void requests_read(const char *text, size_t length)
{
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = length,
	};

	read_feed(&feed);
}

void requests_read_around(const char *before, uint64_t count, const char *after)
{
	char *text = requests_fill(before, "", 0, after);
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = strlen(text),
		.skip_at = strlen(before),
		.skip_bytes = count,
	};

	read_feed(&feed);
	free(text);
}

void requests_read_filled(const char *before, const char *filler, size_t count,
			  const char *after)
{
	char *text = requests_fill(before, filler, count, after);

	requests_read(text, strlen(text));
	free(text);
}

char *requests_fill(const char *before, const char *filler, size_t count,
		    const char *after)
{
	size_t bytes = strlen(filler);
	char *text = malloc(strlen(before) + count * bytes + strlen(after) + 1);
	char *end;

	CHECK(text != NULL);
	strcpy(text, before);
	end = text + strlen(before);
	for (size_t i = 0; i < count; i++, end += bytes)
		memcpy(end, filler, bytes);
	strcpy(end, after);
	return text;
}

const struct http1_head *requests_head(size_t i)
{
	CHECK(i < heads());
	CHECK_EQ(requests_seen.events[i].event, HTTP1_REQUEST_HEAD);
	return &requests_seen.events[i].head;
}

void requests_check_heads(size_t count)
{
	CHECK_EQ(heads(), count);
	CHECK(!is_lost());
}

void requests_check_lost(size_t heads_before)
{
	CHECK(is_lost());
	CHECK_EQ(heads(), heads_before);
}

void requests_check_parent(size_t i, const char *ids)
{
	const struct http1_head *head = requests_head(i);
	struct trace_parent parent;
	char value[64];
	int length = snprintf(value, sizeof(value), "00-%s-01", ids);

	CHECK_EQ(wire_w3c_parse(&parent, value, (size_t)length, false), 0);
	CHECK_EQ(head->traceparent, HTTP1_TRACEPARENT_VALID);
	CHECK(!memcmp(&parent, &head->parent, sizeof(parent)));
}
