/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of distinct strings.
 * Runs on: the test program's main thread.
 */
#include "exporter/strings.h"

#include <stdio.h>

#include "tests/lib/unit.h"

static struct strings strings;

static void begin(void)
{
	strings_fini(&strings);
	CHECK_EQ(strings_init(&strings), 0);
}

TEST(a_new_table_has_the_empty_string_at_0)
{
	begin();
	CHECK_EQ(strings.count, 1);
	CHECK_STR(strings.texts[0], "");
	CHECK_EQ(strings_intern(&strings, ""), 0);
	CHECK_EQ(strings.count, 1);
}

TEST(equal_texts_have_one_index)
{
	char copy[] = "abc";
	uint32_t first;

	begin();
	first = strings_intern(&strings, "abc");
	CHECK_EQ(first, 1);
	CHECK_EQ(strings_intern(&strings, copy), first);
	CHECK_EQ(strings_intern(&strings, "abcd"), 2);
	CHECK_EQ(strings_intern(&strings, "ab"), 3);
	CHECK_EQ(strings.count, 4);
	CHECK_EQ(strings.bytes, 3 + 4 + 2);
}

TEST(texts_are_copied)
{
	char text[] = "before";

	begin();
	strings_intern(&strings, text);
	strcpy(text, "behind");
	CHECK_STR(strings.texts[1], "before");
	CHECK_EQ(strings_intern(&strings, text), 2);
}

TEST(indexes_stay_while_the_table_grows)
{
	char text[32];

	begin();
	for (uint32_t i = 1; i <= 20000; i++) {
		snprintf(text, sizeof(text), "text %u", i);
		CHECK_EQ(strings_intern(&strings, text), i);
	}
	for (uint32_t i = 1; i <= 20000; i += 77) {
		snprintf(text, sizeof(text), "text %u", i);
		CHECK_STR(strings.texts[i], text);
		CHECK_EQ(strings_intern(&strings, text), i);
	}
	CHECK_EQ(strings.count, 20001);
	strings_fini(&strings);
	CHECK_EQ(strings.count, 0);
	CHECK(!strings.texts);
}
