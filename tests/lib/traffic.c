/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays a server's traffic.
 * Runs on: the test program's threads; traffic_told on the main one.
 */
#include "tests/lib/traffic.h"

#include <stdio.h>
#include <string.h>

#include "preload/span.h"
#include "preload/thread.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

static struct iovec part_of(const char *text)
{
	struct iovec part = {(void *)(uintptr_t)text, strlen(text)};

	return part;
}

void traffic_receive(int fd, const char *text)
{
	struct iovec part = part_of(text);

	if (connection_is_followed_app(fd))
		connection_received_app(fd, &part, 1, part.iov_len);
}

void traffic_send(int fd, const char *text)
{
	struct iovec part = part_of(text);

	if (connection_is_followed_app(fd))
		connection_sent_app(fd, &part, 1, part.iov_len);
}

void traffic_get(int fd, const char *path, const char *headers)
{
	char text[1024];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n%s\r\n", path,
		 headers);
	traffic_receive(fd, text);
}

/* The spans that began, to name their ends. */
#define BEGINS_MAX 4096u

static struct record_span_begin begins[BEGINS_MAX];
static size_t begin_count;

static const char *path_of(const uint8_t *id)
{
	for (size_t i = begin_count; i > 0; i--) {
		if (!memcmp(begins[i - 1].span.span_id, id, SPAN_ID_BYTES))
			return begins[i - 1].path;
	}
	return "?";
}

static void append(char *text, size_t bytes, const struct record *record)
{
	static const char *const reasons[] = {"0", "complete", "closed", "next",
					      "lost"};
	const struct record_span_end *end = (const void *)record;
	size_t used = strlen(text);
	const char *blank = used ? " " : "";

	if (record->kind == RECORD_SPAN_BEGIN) {
		struct record_span_begin *begin = &begins[begin_count++];

		CHECK(begin_count < BEGINS_MAX);
		memcpy(begin, record, sizeof(*begin));
		snprintf(text + used, bytes - used, "%s+%s", blank,
			 begin->path);
	} else if (record->kind == RECORD_SPAN_END) {
		CHECK(end->reason >= 1 && end->reason <= 4);
		snprintf(text + used, bytes - used, "%s-%s:%s:%u", blank,
			 path_of(end->span.span_id), reasons[end->reason],
			 end->http_status);
	}
}

const char *traffic_told(void)
{
	static char text[4096];
	size_t count = records_take();

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		append(text, sizeof(text), records_at(i));
	return text;
}

const char *traffic_current(void)
{
	struct thread *self = thread_self_app();
	struct span *span = self ? span_get_sig(self->span) : NULL;

	return span ? span->path : "";
}
