/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is valid UTF-8, and text that is not. */
#include "exporter/utf8.h"

#include "tests/lib/unit.h"

static const char *copied(const char *text)
{
	static char to[64];

	utf8_copy(to, sizeof(to), text, strlen(text));
	return to;
}

TEST(valid_text_stays_as_it_is)
{
	CHECK_STR(copied("plain"), "plain");
	CHECK_STR(copied("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	CHECK_STR(copied(""), "");
	CHECK_STR(copied("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
}

TEST(bytes_that_are_no_character_become_question_marks)
{
	CHECK_STR(copied("a\xff\xfe"
			 "b"),
		  "a??b");
	CHECK_STR(copied("\xc3"), "?");
	CHECK_STR(copied("\xe2\x82"), "??");
	CHECK_STR(copied("\xc0\xaf"), "??");           /* overlong */
	CHECK_STR(copied("\xe0\x9f\xbf"), "???");      /* overlong */
	CHECK_STR(copied("\xed\xa0\x80"), "???");      /* surrogate */
	CHECK_STR(copied("\xf4\x90\x80\x80"), "????"); /* above U+10FFFF */
	CHECK_STR(copied("\xf0\x8f\xbf\xbf"), "????");
}

TEST(control_characters_become_question_marks)
{
	CHECK_STR(copied("a\x1b[31mb\n\x7f"), "a?[31mb??");
	CHECK_STR(copied("\xc2\x9b"), "??"); /* CSI as one character */
	CHECK_STR(copied("\xc2\xa0"), "\xc2\xa0");
}

TEST(a_copy_that_is_full_ends_at_a_character)
{
	char to[6];

	CHECK_EQ(utf8_copy(to, sizeof(to), "abcd\xc3\xa9", 6), 4);
	CHECK_STR(to, "abcd");
	CHECK_EQ(utf8_copy(to, sizeof(to), "abc\xc3\xa9z", 6), 5);
	CHECK_STR(to, "abc\xc3\xa9");
	CHECK_EQ(utf8_copy(to, 1, "abc", 3), 0);
	CHECK_STR(to, "");
}

TEST(a_copy_ends_at_a_nul)
{
	char to[8];

	CHECK_EQ(utf8_copy(to, sizeof(to), "ab\0cd", 5), 2);
	CHECK_STR(to, "ab");
}

TEST(whole_characters_are_counted)
{
	CHECK_EQ(utf8_whole("abc", 3), 3);
	CHECK_EQ(utf8_whole("ab\xc3\xa9", 4), 4);
	CHECK_EQ(utf8_whole("ab\xc3\xa9", 3), 2);
	CHECK_EQ(utf8_whole("\xf0\x9f\x98\x80", 3), 0);
	CHECK_EQ(utf8_whole("", 0), 0);
}
