/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans: stale handles, a full table, one closer among many, and
 * identities that are never torn.
 * Runs on: the test program's threads.
 */
#include "preload/span.h"

#include <stdlib.h>

#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/steps.h"
#include "tests/lib/unit.h"

static span_handle handles[SPAN_TABLE_SIZE];

static void fill_table(void)
{
	for (size_t i = 0; i < SPAN_TABLE_SIZE; i++) {
		handles[i] = span_open_app();
		CHECK(handles[i] != 0);
	}
}

/* Opens at most so many times; 0 when none succeeded. */
static span_handle open_within(unsigned attempts)
{
	span_handle handle = 0;

	while (!handle && attempts--)
		handle = span_open_app();
	return handle;
}

TEST(an_open_span_is_found_and_empty)
{
	struct span *span;
	span_handle handle;

	agent_begin();
	handle = span_open_app();
	span = span_get_sig(handle);
	CHECK(span != NULL);
	CHECK_EQ(span->cpu_ns, 0);
	CHECK_EQ(span->next, 0);
	CHECK(!span->begun);
	CHECK(!span->bearer);
	CHECK_STR(span->method, "");
}

TEST(no_handle_is_no_span)
{
	struct span_context context;
	struct span last;

	agent_begin();
	CHECK(!span_get_sig(0));
	CHECK(!span_context_sig(0, &context));
	CHECK(!span_close_app(0, &last));
}

TEST(closing_gives_the_last_contents_and_is_told_once)
{
	struct span last;
	span_handle handle;

	agent_begin();
	handle = span_open_app();
	strcpy(span_get_sig(handle)->path, "/a");
	span_get_sig(handle)->cpu_ns = 7;
	CHECK(span_close_app(handle, &last));
	CHECK_STR(last.path, "/a");
	CHECK_EQ(last.cpu_ns, 7);
	CHECK(!span_close_app(handle, &last));
}

TEST(a_stale_handle_reads_as_none_also_when_its_entry_is_used_again)
{
	struct span_context context = {.flags = 99};
	struct span last;
	span_handle first;
	span_handle second;
	struct span *entry;

	agent_begin();
	first = span_open_app();
	entry = span_get_sig(first);
	CHECK(span_close_app(first, &last));
	CHECK(!span_get_sig(first));
	CHECK(!span_context_sig(first, &context));
	CHECK_EQ(context.flags, 99);
	do
		second = open_within(1);
	while (second && span_get_sig(second) != entry);
	CHECK(second != 0);
	CHECK(second != first);
	CHECK(!span_get_sig(first));
	CHECK(!span_close_app(first, &last));
	CHECK(span_get_sig(second) == entry);
}

TEST(an_entry_is_zeroed_for_its_next_span)
{
	struct span last;
	span_handle handle;
	struct span *entry;

	agent_begin();
	handle = span_open_app();
	entry = span_get_sig(handle);
	memset((char *)entry + sizeof(entry->state), 0xee,
	       sizeof(*entry) - sizeof(entry->state));
	span_close_app(handle, &last);
	do
		handle = span_open_app();
	while (handle && span_get_sig(handle) != entry);
	CHECK(handle != 0);
	for (size_t i = sizeof(entry->state); i < sizeof(*entry); i++)
		CHECK_EQ(((char *)entry)[i], 0);
}

static int by_value(const void *left, const void *right)
{
	const span_handle *a = left;
	const span_handle *b = right;

	return *a < *b ? -1 : *a > *b;
}

TEST(a_full_table_refuses_and_harms_no_one)
{
	struct span last;

	agent_begin();
	fill_table();
	CHECK(!span_open_app());
	qsort(handles, SPAN_TABLE_SIZE, sizeof(handles[0]), by_value);
	for (size_t i = 1; i < SPAN_TABLE_SIZE; i++)
		CHECK(handles[i] != handles[i - 1]);
	for (size_t i = 0; i < SPAN_TABLE_SIZE; i++)
		CHECK(span_close_app(handles[i], &last));
	fill_table();
}

/* The search is bounded, and goes on where the last one ended. */
TEST(a_free_entry_of_a_crowded_table_is_soon_found)
{
	struct span last;

	agent_begin();
	fill_table();
	for (size_t i = 5; i < SPAN_TABLE_SIZE; i += 3001) {
		CHECK(span_close_app(handles[i], &last));
		handles[i] = open_within(80);
		CHECK(handles[i] != 0);
	}
}

/* Generations have 32 bits: after the last comes 1, since a handle is never 0
 * and an entry of generation 0 is one that was never used. */
TEST(generations_wrap_without_zero)
{
	struct span last;
	span_handle handle;
	struct span *entry;

	agent_begin();
	handle = span_open_app();
	entry = span_get_sig(handle);
	span_close_app(handle, &last);
	atomic_store(&entry->state, (uint64_t)UINT32_MAX << 2);
	do
		handle = span_open_app();
	while (handle && span_get_sig(handle) != entry);
	CHECK(handle != 0);
	CHECK_EQ(handle >> 32, 1);
	CHECK(span_close_app(handle, &last));
	CHECK(!span_get_sig(handle));
}

#define RACED 2000u

static long close_all(unsigned number, void *unused)
{
	struct span last;
	long told = 0;

	(void)number;
	(void)unused;
	for (size_t i = 0; i < RACED; i++) {
		if (!span_close_app(handles[i], &last))
			continue;
		/* Who is told has the span's contents. */
		told += last.request_flags == (uint32_t)i ? 1 : 1000000;
	}
	return told;
}

TEST(of_several_closers_exactly_one_is_told)
{
	agent_begin();
	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < RACED; i++) {
			handles[i] = span_open_app();
			CHECK(handles[i] != 0);
			span_get_sig(handles[i])->request_flags = (uint32_t)i;
		}
		CHECK_EQ(crowd_run(4, close_all, NULL), RACED);
	}
}

static long open_and_close(unsigned number, void *unused)
{
	long bad = 0;

	(void)unused;
	for (uint32_t i = 0; i < 20000; i++) {
		span_handle handle = span_open_app();
		struct span *span = span_get_sig(handle);
		struct span last;

		if (!span)
			return 1000000;
		span->request_flags = number << 24 | i;
		bad += !span_close_app(handle, &last) ||
		       last.request_flags != (number << 24 | i);
	}
	return bad;
}

TEST(openers_never_share_an_entry)
{
	agent_begin();
	CHECK_EQ(crowd_run(4, open_and_close, NULL), 0);
}

/* One entry that ends and becomes another span between any two instructions
 * of a reader: it must never see a part of each. */
static struct span *entry_read;
static span_handle handle_read;
static struct span_context context_read;
static bool was_read;

static void read_identity(void)
{
	was_read = span_context_sig(handle_read, &context_read);
}

/* Ends the span, and opens its entry as span_open_app does, which would take
 * another one. */
static void become_another(void)
{
	uint64_t generation = (handle_read >> 32) + 1;
	struct span last;

	span_close_app(handle_read, &last);
	atomic_store(&entry_read->state, generation << 2 | 3);
	handle_read = generation << 32 | (uint32_t)handle_read;
	memset(&entry_read->context, (int)generation & 0xff,
	       sizeof(last.context));
}

TEST(an_identity_is_never_torn)
{
	const uint8_t *byte = (const uint8_t *)&context_read;
	unsigned n = 0;
	unsigned whole = 0;

	agent_begin();
	handle_read = span_open_app();
	entry_read = span_get_sig(handle_read);
	for (;; n += STEPS_STRIDE) {
		uint8_t generation = (uint8_t)(handle_read >> 32);

		memset(&entry_read->context, generation, sizeof(context_read));
		memset(&context_read, 0, sizeof(context_read));
		if (!steps_interrupt(n, read_identity, become_another))
			break;
		for (size_t i = 0; i < sizeof(context_read); i++) {
			uint8_t expected = was_read ? byte[0] : 0;

			CHECK_EQ(byte[i], expected);
		}
		CHECK(!was_read || byte[0] == generation ||
		      byte[0] == (uint8_t)(generation + 1));
		whole += was_read;
	}
	CHECK(was_read);
	CHECK(whole > 0 && whole < n);
}

/* The only entry that can be free: whoever comes in between takes it. */
static struct span last_closed;

static void close_span(void)
{
	span_close_app(handles[9], &last_closed);
}

static void take_free_entry(void)
{
	handles[10] = open_within(70);
}

TEST(contents_are_copied_before_the_entry_is_free)
{
	struct span last;

	agent_begin();
	fill_table();
	CHECK(span_close_app(handles[10], &last));
	for (unsigned n = 0;; n += 3 * STEPS_STRIDE) {
		handles[9] = open_within(70);
		CHECK(handles[9] != 0);
		span_get_sig(handles[9])->request_flags = n + 1;
		handles[10] = 0;
		if (!steps_interrupt(n, close_span, take_free_entry))
			break;
		CHECK_EQ(last_closed.request_flags, n + 1);
		span_close_app(handles[10], &last);
	}
}

static int look_in_child(void *context)
{
	span_handle handle = *(span_handle *)context;
	struct span last;

	return span_get_sig(handle) || span_close_app(handle, &last);
}

TEST(a_forked_child_has_no_open_span)
{
	span_handle handle;

	agent_begin();
	handle = span_open_app();
	CHECK_EQ(crowd_wait(crowd_fork(look_in_child, &handle)), 0);
	CHECK(span_get_sig(handle) != NULL);
}
