/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing that drives a terminal reaches one.
 * Runs on: the test program's main thread.
 */
#include "supervisor/printable.h"

#include "tests/lib/unit.h"

static const char *clean(const char *from)
{
	static char to[256];

	to[printable_copy(to, from, strlen(from))] = '\0';
	return to;
}

TEST(printable_keeps_text_of_all_scripts)
{
	CHECK_STR(clean("a b ~"), "a b ~");
	CHECK_STR(clean("J\u00f6rg \u00b1 \u65e5\u672c \U0001f600"),
		  "J\u00f6rg \u00b1 \u65e5\u672c \U0001f600");
	CHECK_STR(clean(""), "");
}

TEST(printable_replaces_controls)
{
	CHECK_STR(clean("a\033[2Jb\r\n\t\177"), "a?[2Jb????");
	CHECK_STR(clean("\xc2\x9b"
			"2J"),
		  "??2J"); /* C1: CSI */
}

TEST(printable_replaces_marks_of_direction)
{
	CHECK_STR(clean("a\u202eb\u2066c\u200fd"), "a???b???c???d");
	CHECK_STR(clean("a\u2028b"), "a???b");
}

TEST(printable_replaces_what_is_no_utf8)
{
	CHECK_STR(clean("\x80\xff"), "??");
	CHECK_STR(clean("\xc0\xaf"), "??");           /* too long for / */
	CHECK_STR(clean("\xe0\x80\xaf"), "???");      /* the same */
	CHECK_STR(clean("\xed\xa0\x80"), "???");      /* a surrogate */
	CHECK_STR(clean("\xf4\x90\x80\x80"), "????"); /* beyond 10FFFF */
	CHECK_STR(clean("\xe6\x97"), "??");           /* half */
	CHECK_STR(clean("\xe6"
			"abc"),
		  "?abc");
}

TEST(printable_reads_no_further_than_it_may)
{
	char to[4];

	CHECK_EQ(printable_copy(to, "\xe6\x97\xa5", 2), 2);
	CHECK(!memcmp(to, "??", 2));
	CHECK_EQ(printable_copy(to, "\0a", 2), 2);
	CHECK(!memcmp(to, "?a", 2));
}
