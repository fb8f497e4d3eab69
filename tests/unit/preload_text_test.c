/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The string functions of the preloaded library (preload/text.h).
 * Runs on: the test program's main thread.
 */
#include "preload/text.h"

#include "tests/lib/unit.h"

TEST(length_and_equality_are_those_of_libc)
{
	CHECK_EQ(text_length_sig(""), 0);
	CHECK_EQ(text_length_sig("abc"), 3);
	CHECK(text_equal_sig("", ""));
	CHECK(text_equal_sig("abc", "abc"));
	CHECK(!text_equal_sig("abc", "ab"));
	CHECK(!text_equal_sig("ab", "abc"));
	CHECK(!text_equal_sig("abc", "abd"));
}

TEST(after_gives_what_follows_a_prefix)
{
	CHECK_STR(text_after_sig("name=value", "name="), "value");
	CHECK_STR(text_after_sig("name", "name"), "");
	CHECK_STR(text_after_sig("name", ""), "name");
	CHECK(!text_after_sig("nam", "name"));
	CHECK(!text_after_sig("", "n"));
	CHECK(!text_after_sig("nome", "name"));
}

TEST(copy_cuts_and_ends_with_a_nul)
{
	char to[4];

	CHECK(text_copy_sig(to, sizeof(to), "abc"));
	CHECK_STR(to, "abc");
	CHECK(!text_copy_sig(to, sizeof(to), "wxyz"));
	CHECK_STR(to, "wxy");
	CHECK(text_copy_sig(to, sizeof(to), ""));
	CHECK_STR(to, "");
	to[1] = 'k';
	CHECK(!text_copy_sig(to, 1, "a"));
	CHECK_STR(to, "");
	CHECK_EQ(to[1], 'k');
}

static void check_number(const char *text, unsigned base, uint64_t value,
			 const char *rest)
{
	const char *cursor = text;
	uint64_t got = 0;

	CHECK(text_number_sig(&cursor, base, &got));
	CHECK_EQ(got, value);
	CHECK_STR(cursor, rest);
}

TEST(numbers_are_read_up_to_the_first_other_character)
{
	check_number("0", 10, 0, "");
	check_number("12ms", 10, 12, "ms");
	check_number("12a", 16, 0x12a, "");
	check_number("deadBEEF", 16, 0xdead, "BEEF");
	check_number("000000000000000000000000000000007", 10, 7, "");
	check_number("18446744073709551615", 10, UINT64_MAX, "");
	check_number("ffffffffffffffff-", 16, UINT64_MAX, "-");
}

static void check_no_number(const char *text, unsigned base)
{
	const char *cursor = text;
	uint64_t got = 42;

	CHECK(!text_number_sig(&cursor, base, &got));
	CHECK(cursor == text);
	CHECK_EQ(got, 42);
}

TEST(what_is_no_number_or_too_large_moves_nothing)
{
	check_no_number("", 10);
	check_no_number("x", 10);
	check_no_number("-1", 10);
	check_no_number("a", 10);
	check_no_number("18446744073709551616", 10);
	check_no_number("10000000000000000", 16);
}

static void check_decimal(uint64_t value, const char *text)
{
	char to[21];

	*text_decimal_sig(to, value) = '\0';
	CHECK_STR(to, text);
}

TEST(decimal_writes_every_digit)
{
	check_decimal(0, "0");
	check_decimal(9, "9");
	check_decimal(10, "10");
	check_decimal(UINT64_MAX, "18446744073709551615");
}

TEST(append_gives_the_new_end)
{
	char to[8] = "";
	char *end = text_append_sig(text_append_sig(to, "ab"), "cd");

	CHECK_STR(to, "abcd");
	CHECK(end == to + 4);
}
