/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of near matches.
 * Runs on: the test program's main thread.
 */
#include "report/suggest.h"

#include "tests/lib/unit.h"

static const char *const words[] = {"spans",   "show",   "top", "duration",
				    "samples", "--json", NULL};

TEST(suggest_finds_one_slip)
{
	CHECK_STR(suggest("spnas", words), "spans");
	CHECK_STR(suggest("span", words), "spans");
	CHECK_STR(suggest("shwo", words), "show");
	CHECK_STR(suggest("topp", words), "top");
	CHECK_STR(suggest("--jsno", words), "--json");
}

TEST(suggest_finds_more_slips_in_longer_words)
{
	CHECK_STR(suggest("duratoins", words), "duration");
	CHECK_STR(suggest("dur", words), "duration");
}

TEST(suggest_stays_silent_otherwise)
{
	CHECK(!suggest("", words));
	CHECK(!suggest("foo", words));
	CHECK(!suggest("xyzzy", words));
	CHECK(!suggest("a word that is much longer than any that exists",
		       words));
}
