/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of cleaning, cutting and quoting texts.
 * Runs on: the test program's main thread.
 */
#include "report/text.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

/* Checks a text that a function allocated. */
#define CHECK_TEXT(call, expected)            \
	do {                                  \
		char *text_;                  \
		text_init();                  \
		text_ = (call);               \
		CHECK_STR(text_, (expected)); \
		free(text_);                  \
	} while (0)

TEST(text_cleans_what_drives_a_terminal)
{
	CHECK_TEXT(text_clean("\033[31mred\033[0m"), "?[31mred?[0m");
	CHECK_TEXT(text_clean("a\nb\tc\rd\177"), "a?b?c?d?");
	/* U+009B is CSI in one character, U+202E turns what follows. */
	CHECK_TEXT(text_clean("x\xc2\x9b"
			      "31m"),
		   "x?31m");
	CHECK_TEXT(text_clean("a\xe2\x80\xae"
			      "b"),
		   "a?b");
}

TEST(text_cleans_what_is_not_utf8)
{
	CHECK_TEXT(text_clean("a\xff\xc3"), "a??");
	CHECK_TEXT(text_clean("\xc0\xaf"), "??");
	CHECK_TEXT(text_clean("\xed\xa0\x80"), "???");
}

TEST(text_keeps_names_of_all_scripts)
{
	CHECK_TEXT(text_clean("größe"), "größe");
	CHECK_TEXT(text_clean("关数"), "关数");
	text_init();
	CHECK_EQ(text_width("größe"), 5);
	CHECK_EQ(text_width("关数"), 4);
	CHECK_EQ(text_width(""), 0);
}

TEST(text_cuts_in_the_middle)
{
	CHECK_TEXT(text_cut_middle("abcdefghij", 10), "abcdefghij");
	CHECK_TEXT(text_cut_middle("abcdefghij", 9), "abcd…ghij");
	CHECK_TEXT(text_cut_middle("abcdefghij", 8), "abcd…hij");
	CHECK_TEXT(text_cut_middle("abcdefghij", 3), "a…j");
	CHECK_TEXT(text_cut_middle("abcdefghij", 2), "ab");
	CHECK_TEXT(text_cut_middle("abcdefghij", 0), "");
}

TEST(text_never_cuts_characters_apart)
{
	CHECK_TEXT(text_cut_middle("关数关数关数", 8), "关数…数");
	CHECK_TEXT(text_cut_middle("关数关数关数", 7), "关…数");
	CHECK_TEXT(text_cut_end("关数", 3), "关");
	CHECK_TEXT(text_cut_end("abc", 9), "abc");
}

TEST(text_quotes_words_for_a_shell)
{
	CHECK_TEXT(text_quote("out/a-1.pb.gz"), "out/a-1.pb.gz");
	CHECK_TEXT(text_quote("GET /a/{id}"), "'GET /a/{id}'");
	CHECK_TEXT(text_quote("it's"), "'it'\\''s'");
	CHECK_TEXT(text_quote("$(x)`y`"), "'$(x)`y`'");
	CHECK_TEXT(text_quote(""), "''");
}

static void check_duration(uint64_t ns, const char *expected)
{
	char text[TEXT_NUMBER_BYTES];

	words_duration(text, ns);
	CHECK_STR(text, expected);
}

TEST(text_writes_durations_with_three_figures)
{
	check_duration(0, "0");
	check_duration(1, "1 ns");
	check_duration(999, "999 ns");
	check_duration(1000, "1.00 us");
	check_duration(9994, "9.99 us");
	check_duration(9999, "10.0 us");
	check_duration(99960, "100 us");
	check_duration(999600, "1.00 ms");
	check_duration(12345678, "12.3 ms");
	check_duration(999499999, "999 ms");
	check_duration(999500000, "1.00 s");
	check_duration(UINT64_MAX, "18446744074 s");
}

TEST(text_writes_shares_also_of_nothing)
{
	char text[TEXT_NUMBER_BYTES];

	words_percent(text, 1, 3);
	CHECK_STR(text, "33.3");
	words_percent(text, 0, 0);
	CHECK_STR(text, "-");
	words_percent(text, UINT64_MAX, UINT64_MAX);
	CHECK_STR(text, "100.0");
}

TEST(text_writes_times_in_utc)
{
	char text[TEXT_NUMBER_BYTES];

	text_clock(text, 1783851072345999999);
	CHECK_STR(text, "10:11:12.345");
	text_date(text, 1783851072345999999);
	CHECK_STR(text, "2026-07-12 10:11:12");
	text_clock(text, 0);
	CHECK_STR(text, "-");
	text_date(text, UINT64_MAX);
	CHECK_STR(text, "2554-07-21 23:34:33");
}
