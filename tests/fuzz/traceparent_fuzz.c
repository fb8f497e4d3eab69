/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges arbitrary traceparent values by the parser and by a naive reading of
 * the specification; both must agree, on the value alone, on its beginning
 * with more to follow, and on the same value in a request. Byte 0 of the input
 * says whether more follows; the rest is the value.
 * Runs on: the fuzzer's main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "hooks/wire_w3c.h"
#include "tests/lib/http1_log.h"

#define VALUE_MAX_BYTES 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Matches `value` against a mask: h stands for a lower-case hex digit. */
static bool has_shape(const char *value, const char *mask)
{
	for (; *mask; mask++, value++) {
		if (*mask == 'h' &&
		    !(*value && strchr("0123456789abcdef", *value)))
			return false;
		if (*mask != 'h' && *value != *mask)
			return false;
	}
	return true;
}

/* `value` has a NUL at value[length], and perhaps others. */
static bool naive_verdict(const char *value, size_t length, bool longer)
{
	static const char mask[] = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-"
				   "hhhhhhhhhhhhhhhh-hh";

	while (length > 0 && is_blank(value[0])) {
		value++;
		length--;
	}
	while (!longer && length > 0 && is_blank(value[length - 1]))
		length--;
	if (length < 55 || !has_shape(value, mask))
		return false;
	if (!strncmp(value, "ff", 2))
		return false;
	if (strspn(value + 3, "0") >= 32 || strspn(value + 36, "0") >= 16)
		return false;
	if (length == 55 && !longer)
		return true;
	return strncmp(value, "00", 2) != 0 && length > 55 && value[55] == '-';
}

static unsigned int naive_byte(const char *two)
{
	const char text[3] = {two[0], two[1], 0};

	return (unsigned int)strtoul(text, NULL, 16);
}

static void require_ids(const struct trace_parent *parent, const char *value)
{
	value += strspn(value, " \t");
	for (size_t i = 0; i < TRACE_ID_BYTES; i++)
		require(parent->trace_id[i] == naive_byte(value + 3 + 2 * i));
	for (size_t i = 0; i < SPAN_ID_BYTES; i++)
		require(parent->parent_id[i] == naive_byte(value + 36 + 2 * i));
	require(parent->flags == naive_byte(value + 53));
}

static void judge_value(const char *value, size_t length, bool longer)
{
	struct trace_parent parent;
	char *block = malloc(length ? length : 1);
	bool valid;

	require(block != NULL);
	memcpy(block, value, length);
	valid = wire_w3c_parse(&parent, block, length, longer) == 0;
	free(block);
	require(valid == naive_verdict(value, length, longer));
	if (valid)
		require_ids(&parent, value);
}

static void judge_request(const char *value, size_t length)
{
	static const char before[] = "GET / HTTP/1.1\r\ntraceparent:";
	static struct http1_log log;
	const struct http1_head *head = &log.events[0].head;
	char text[VALUE_MAX_BYTES + 64];
	const size_t start = sizeof(before) - 1;
	struct http1_feed feed = {.bytes = (const uint8_t *)text};

	if (memchr(value, '\n', length))
		return;
	memcpy(text, before, start);
	memcpy(text + start, value, length);
	memcpy(text + start + length, "\r\n\r\n", 4);
	feed.length = start + length + 4;
	http1_log_run_whole(&log, &feed);
	require(log.count == 1);
	require(head->traceparent == (naive_verdict(value, length, false)
					      ? HTTP1_TRACEPARENT_VALID
					      : HTTP1_TRACEPARENT_INVALID));
	if (head->traceparent == HTTP1_TRACEPARENT_VALID)
		require_ids(&head->parent, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char value[VALUE_MAX_BYTES + 1] = "";
	bool longer;

	if (size < 1 || size - 1 > VALUE_MAX_BYTES)
		return 0;
	longer = data[0] & 1;
	memcpy(value, data + 1, size - 1);
	judge_value(value, size - 1, longer);
	judge_request(value, size - 1);
	return 0;
}
