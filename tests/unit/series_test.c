/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of a series: what a server would refuse does not get in.
 * Runs on: the test program's main thread.
 */
#include "exporter/series.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

static struct series series;
static char warned[1024];

static void warn(const char *label, const char *reason)
{
	size_t used = strlen(warned);

	snprintf(warned + used, sizeof(warned) - used, "%s: %s;", label,
		 reason);
}

static void add_list(const char *text, int colon)
{
	struct series_list list = {text, colon};

	series_fini(&series);
	warned[0] = '\0';
	series_add_list(&series, &list, warn);
}

static void check(size_t i, const char *name, const char *value)
{
	CHECK(i < series.count);
	CHECK_STR(series.labels[i].name, name);
	CHECK_STR(series.labels[i].value, value);
}

TEST(a_list_has_names_and_values)
{
	add_list("a=b, c.d=e=f,,g=h:i", 0);
	CHECK_STR(warned, "");
	CHECK_EQ(series.count, 3);
	check(0, "a", "b");
	check(1, "c.d", "e=f");
	check(2, "g", "h:i");
}

TEST(a_colon_separates_only_where_it_may)
{
	add_list("a:b,c=d:e,f:g=h", 1);
	CHECK_STR(warned, "");
	check(0, "a", "b");
	check(1, "c", "d:e");
	check(2, "f", "g=h");
	add_list("a:b", 0);
	CHECK_EQ(series.count, 0);
	CHECK_STR(warned, "a:b: no NAME=VALUE;");
}

TEST(labels_that_a_server_would_refuse_are_told)
{
	add_list("a=b,a=c,=d,e=,\xff=g,h=\xff,i", 0);
	CHECK_EQ(series.count, 1);
	CHECK(strstr(warned, "a=c: the name is taken;"));
	CHECK(strstr(warned, "=d: the name is empty;"));
	CHECK(strstr(warned, "e=: the value is empty;"));
	CHECK(strstr(warned, "?=g: the name is not UTF-8"));
	CHECK(strstr(warned, "h=?: the value is not UTF-8"));
	CHECK(strstr(warned, "i: no NAME=VALUE;"));
}

TEST(names_with_a_meaning_of_their_own_are_refused)
{
	add_list("span_id=a,trace_id=b,span_name=c,__name__=d,__x=e,pid=f,"
		 "profile_id=g",
		 0);
	CHECK_EQ(series.count, 0);
}

TEST(names_and_values_have_the_servers_bounds)
{
	char text[SERIES_VALUE_MAX_BYTES + 2];

	series_fini(&series);
	memset(text, 'a', sizeof(text));
	text[SERIES_VALUE_MAX_BYTES] = '\0';
	CHECK(!series_add(&series, "a", text));
	text[SERIES_NAME_MAX_BYTES] = '\0';
	CHECK(!series_add(&series, text, "b"));
	text[SERIES_NAME_MAX_BYTES] = 'b';
	text[SERIES_NAME_MAX_BYTES + 1] = '\0';
	CHECK(series_add(&series, text, "b") != NULL);
	memset(text, 'a', sizeof(text));
	text[SERIES_VALUE_MAX_BYTES + 1] = '\0';
	CHECK(series_add(&series, "c", text) != NULL);
	CHECK_EQ(series.count, 2);
}

TEST(there_are_30_labels_at_most)
{
	char name[16];

	series_fini(&series);
	for (unsigned i = 0; i < SERIES_LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		CHECK(!series_add(&series, name, "v"));
	}
	CHECK_STR(series_add(&series, "more", "v"), "more than 30 labels");
	series_fini(&series);
	CHECK_EQ(series.count, 0);
}
