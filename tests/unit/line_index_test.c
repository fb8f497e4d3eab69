/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index is refused unless all in it leads somewhere, and gives chains of
 * inlined calls.
 * Runs on: the test program's main thread.
 */
#include "exporter/line_index.h"

#include "tests/lib/unit.h"

#define BASE UINT64_C(0x401000)
#define NONE LINE_INDEX_NONE

/* f at 0..100 with g inlined at 10..50 and h into that at 20..30. */
static const struct whole {
	struct line_index head;
	struct line_range ranges[3];
	struct line_scope scopes[3];
	struct line_row rows[4];
	char texts[16];
} good = {
	.head = {LINE_INDEX_MAGIC, 3, 3, 4, BASE, 16, 0},
	.ranges = {{0, 100, 0, NONE}, {10, 40, 1, 0}, {20, 10, 2, 1}},
	.scopes = {{NONE, 1, 0, 0, 7, 1},
		   {0, 3, 7, 12, 7, 3},
		   {1, 5, 7, 5, 11, 9}},
	.rows = {{0, 7, 10}, {20, 11, 99}, {30, 7, 13}, {90, 0, 0}},
	.texts = "\0f\0g\0h\0a.c\0b.h",
};

static bool is_good(const struct whole *whole)
{
	return line_index_check(whole, sizeof(*whole));
}

TEST(a_sound_index_is_taken_and_a_cut_one_refused)
{
	CHECK(is_good(&good));
	for (size_t len = 0; len < sizeof(good); len++)
		CHECK(!line_index_check(&good, len));
}

TEST(what_leads_astray_is_refused)
{
	struct whole bad;

#define REFUSED(change)                \
	do {                           \
		bad = good;            \
		change;                \
		CHECK(!is_good(&bad)); \
	} while (0)
	REFUSED(bad.head.magic++);
	REFUSED(bad.head.range_count++);
	REFUSED(bad.head.row_count = UINT32_MAX);
	REFUSED(bad.head.text_bytes = 0);
	REFUSED(bad.ranges[1].scope = 3);
	REFUSED(bad.ranges[1].below = 1);
	REFUSED(bad.ranges[0].below = 0);
	REFUSED(bad.ranges[0].start = 11);
	REFUSED(bad.scopes[1].parent = 1);
	REFUSED(bad.scopes[2].parent = 77);
	REFUSED(bad.scopes[0].name = 16);
	REFUSED(bad.scopes[0].call_file = 16);
	REFUSED(bad.scopes[0].declared_file = 16);
	REFUSED(bad.rows[0].file = 16);
	REFUSED(bad.rows[0].start = 21);
	REFUSED(bad.texts[0] = 'x');
	REFUSED(bad.texts[15] = 'x');
}

static void check_frame(const struct line_frame *frame, const char *name,
			const char *file, uint32_t line)
{
	CHECK_STR(frame->name, name);
	CHECK_STR(frame->file, file);
	CHECK_EQ(frame->line, line);
}

TEST(the_innermost_call_comes_first_and_the_function_last)
{
	struct line_frame frames[4];

	CHECK_EQ(line_index_find(&good.head, BASE + 25, frames, 4), 3);
	check_frame(&frames[0], "h", "b.h", 99);
	check_frame(&frames[1], "g", "a.c", 5);
	check_frame(&frames[2], "f", "a.c", 12);
	CHECK_EQ(frames[0].start_line, 9);
	CHECK_EQ(frames[2].start_line, 1);
	CHECK_EQ(line_index_find(&good.head, BASE + 10, frames, 4), 2);
	check_frame(&frames[0], "g", "a.c", 10);
	CHECK_EQ(line_index_find(&good.head, BASE + 50, frames, 4), 1);
	check_frame(&frames[0], "f", "a.c", 13);
}

TEST(the_function_is_told_even_if_there_is_room_for_one)
{
	struct line_frame frame;

	CHECK_EQ(line_index_find(&good.head, BASE + 25, &frame, 1), 1);
	check_frame(&frame, "f", "a.c", 12);
}

TEST(a_function_begins_where_it_says_in_its_own_file_only)
{
	struct whole other = good;
	struct line_frame frames[4];

	other.scopes[2].declared_file = 7;
	CHECK(is_good(&other));
	CHECK_EQ(line_index_find(&other.head, BASE + 25, frames, 4), 3);
	CHECK_EQ(frames[0].start_line, 0);
}

TEST(outside_nothing_is_known)
{
	struct line_frame frames[4];

	CHECK_EQ(line_index_find(&good.head, BASE - 1, frames, 4), 0);
	CHECK_EQ(line_index_find(&good.head, BASE + 100, frames, 4), 0);
	CHECK_EQ(line_index_find(&good.head, UINT64_MAX, frames, 4), 0);
	CHECK_EQ(line_index_find(&good.head, 0, frames, 4), 0);
}

TEST(a_function_without_lines_and_lines_without_a_function_are_told)
{
	struct whole half = good;
	struct line_frame frames[4];

	CHECK_EQ(line_index_find(&good.head, BASE + 95, frames, 4), 1);
	check_frame(&frames[0], "f", "", 0);
	half.ranges[0].len_bytes = half.ranges[1].len_bytes =
		half.ranges[2].len_bytes = 1;
	CHECK_EQ(line_index_find(&half.head, BASE + 5, frames, 4), 1);
	check_frame(&frames[0], "", "a.c", 10);
}
