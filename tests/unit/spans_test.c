/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporter's table of spans: begins and ends in any number, a memory of two
 * windows, and texts that no one has checked.
 * Runs on: the test program's main thread.
 */
#include "exporter/spans.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

static struct spans *spans;

static void begin(void)
{
	spans_destroy(spans);
	spans = spans_create();
	CHECK(spans != NULL);
}

/* Ids are the number's bytes, never zeros. */
static void set_id(struct span_context *context, uint64_t number)
{
	memset(context, 0x40, sizeof(*context));
	memcpy(context->span_id, &number, SPAN_ID_BYTES);
}

static void span_begins(uint64_t number, uint64_t start_ns, uint32_t pid)
{
	struct record_span_begin record = {
		.head = {.tid = 77, .time_ns = start_ns},
		.method = "GET",
		.path = "/x",
	};

	set_id(&record.span, number);
	spans_begin(spans, &record, pid);
}

static void span_ends(uint64_t number, uint64_t end_ns)
{
	struct record_span_end record = {
		.head = {.tid = 78, .time_ns = end_ns},
		.cpu_ns = 500,
		.http_status = 201,
		.reason = SPAN_END_COMPLETE,
	};

	set_id(&record.span, number);
	spans_end(spans, &record);
}

static const struct known_span *find(uint64_t number)
{
	struct span_context context;

	set_id(&context, number);
	return spans_find(spans, context.span_id);
}

/* The spans that a window's end told of. */
#define TOLD_MAX 64u
static struct known_span told[TOLD_MAX];
static size_t told_count;

static void tell(void *context, const struct known_span *span)
{
	CHECK(context == &told_count);
	if (told_count < TOLD_MAX)
		told[told_count] = *span;
	told_count++;
}

static size_t close_window(void)
{
	told_count = 0;
	spans_close_window(spans, tell, &told_count);
	return told_count;
}

static uint64_t told_number(size_t i)
{
	uint64_t number;

	memcpy(&number, told[i].context.span_id, SPAN_ID_BYTES);
	return number;
}

TEST(a_span_is_known_from_its_begin)
{
	begin();
	CHECK(!find(1));
	span_begins(1, 1000, 42);
	CHECK(find(1) != NULL);
	CHECK_EQ(find(1)->pid, 42);
	CHECK_EQ(find(1)->tid, 77);
	CHECK_EQ(find(1)->start_ns, 1000);
	CHECK_EQ(find(1)->end_ns, 0);
	CHECK_STR(find(1)->method, "GET");
	CHECK_STR(find(1)->path, "/x");
	CHECK_EQ(find(1)->context.trace_id[15], 0x40);
	CHECK_EQ(spans_ended(spans), 0);
}

TEST(a_window_tells_of_the_spans_that_ended_in_it)
{
	begin();
	span_begins(1, 1000, 42);
	span_begins(2, 1001, 42);
	span_begins(3, 1002, 42);
	span_ends(3, 2000);
	span_ends(1, 2001);
	CHECK_EQ(spans_ended(spans), 2);
	CHECK_EQ(close_window(), 2);
	CHECK_EQ(told_number(0), 3);
	CHECK_EQ(told_number(1), 1);
	CHECK_EQ(told[1].start_ns, 1000);
	CHECK_EQ(told[1].end_ns, 2001);
	CHECK_EQ(told[1].cpu_ns, 500);
	CHECK_EQ(told[1].http_status, 201);
	CHECK_EQ(told[1].end_reason, SPAN_END_COMPLETE);
	CHECK_EQ(spans_ended(spans), 0);
	CHECK_EQ(close_window(), 0);
}

/* Samples that come late find their span's name. */
TEST(an_ended_span_is_known_to_the_end_of_the_next_window)
{
	begin();
	span_begins(1, 1000, 42);
	span_ends(1, 2000);
	CHECK(find(1) != NULL);
	close_window();
	CHECK(find(1) != NULL);
	CHECK_EQ(find(1)->end_ns, 2000);
	close_window();
	CHECK(!find(1));
}

TEST(an_open_span_is_known_through_all_windows)
{
	begin();
	span_begins(1, 1000, 42);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(close_window(), 0);
	CHECK(find(1) != NULL);
	span_ends(1, 9000);
	CHECK_EQ(close_window(), 1);
}

TEST(windows_with_and_without_ends_do_not_disturb_each_other)
{
	begin();
	for (uint64_t i = 1; i < 40; i++) {
		bool ends = i % 3 != 0;

		span_begins(i, i, 42);
		if (ends)
			span_ends(i, i + 1);
		CHECK_EQ(close_window(), ends);
		CHECK((i < 3 || !find(i - 2)) || (i - 2) % 3 == 0);
	}
}

TEST(a_second_begin_changes_nothing_and_is_counted)
{
	begin();
	span_begins(1, 1000, 42);
	span_begins(1, 5000, 43);
	CHECK_EQ(find(1)->pid, 42);
	CHECK_EQ(find(1)->start_ns, 1000);
	CHECK_EQ(spans_refused(spans), 1);
	span_ends(1, 6000);
	span_begins(1, 7000, 44);
	CHECK_EQ(find(1)->pid, 42);
	CHECK_EQ(close_window(), 1);
}

TEST(a_second_end_changes_nothing)
{
	begin();
	span_begins(1, 1000, 42);
	span_ends(1, 2000);
	span_ends(1, 3000);
	CHECK_EQ(spans_ended(spans), 1);
	CHECK_EQ(close_window(), 1);
	CHECK_EQ(told[0].end_ns, 2000);
	span_ends(1, 4000);
	CHECK_EQ(close_window(), 0);
}

TEST(an_end_without_a_begin_is_nothing)
{
	begin();
	span_ends(1, 2000);
	CHECK_EQ(close_window(), 0);
	CHECK(!find(1));
}

TEST(a_span_never_ends_before_its_begin)
{
	begin();
	span_begins(1, 5000, 42);
	span_ends(1, 10);
	CHECK_EQ(find(1)->end_ns, 5000);
}

TEST(the_open_spans_of_a_dead_process_end_unfinished)
{
	begin();
	for (uint64_t i = 1; i <= 4; i++)
		span_begins(i, 1000 + i, i % 2 ? 42 : 43);
	span_ends(1, 2000);
	spans_abandon(spans, 42, 9000);
	CHECK_EQ(find(3)->end_ns, 9000);
	CHECK_EQ(find(3)->end_reason, 0);
	CHECK_EQ(find(2)->end_ns, 0);
	CHECK_EQ(find(1)->end_ns, 2000);
	CHECK_EQ(close_window(), 2);
	spans_abandon(spans, 42, 9999);
	CHECK_EQ(close_window(), 0);
	span_ends(3, 10000);
	CHECK_EQ(close_window(), 0);
}

/* 0 stands for "open". */
TEST(a_span_of_time_0_ends_once)
{
	begin();
	span_begins(1, 0, 42);
	span_ends(1, 0);
	span_ends(1, 0);
	CHECK_EQ(spans_ended(spans), 1);
	CHECK_EQ(close_window(), 1);
	CHECK_EQ(close_window(), 0);
}

/* "No span" is an id of zeros: it must not get a name. */
TEST(an_id_of_zeros_is_no_span)
{
	begin();
	span_begins(0, 1000, 42);
	CHECK(!find(0));
	CHECK_EQ(spans_refused(spans), 1);
}

TEST(texts_are_made_valid_utf8)
{
	struct record_span_begin record = {.head = {.time_ns = 1}};

	begin();
	set_id(&record.span, 1);
	memcpy(record.method, "G\xff\nT", 5);
	memcpy(record.path, "/\xc3\xa4/\xc3", 6);
	spans_begin(spans, &record, 42);
	CHECK_STR(find(1)->method, "G??T");
	CHECK_STR(find(1)->path, "/\xc3\xa4/?");
}

TEST(a_flood_is_refused_and_counted)
{
	begin();
	for (uint64_t i = 1; i <= SPANS_MAX + 5; i++)
		span_begins(i, i, 42);
	CHECK_EQ(spans_refused(spans), 5);
	CHECK(find(SPANS_MAX) != NULL);
	CHECK(!find(SPANS_MAX + 1));
	/* Room comes back two windows after an end. */
	span_ends(7, 9999999);
	close_window();
	span_begins(SPANS_MAX + 1, 1, 42);
	CHECK(!find(SPANS_MAX + 1));
	close_window();
	span_begins(SPANS_MAX + 1, 1, 42);
	CHECK(find(SPANS_MAX + 1) != NULL);
	spans_destroy(spans);
	spans = NULL;
}
