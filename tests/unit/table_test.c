/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of laying out tables.
 * Runs on: the test program's main thread.
 */
#include "report/table.h"

#include <stdint.h>
#include <stdlib.h>

#include "report/text.h"
#include "tests/lib/unit.h"

static const struct table_column columns[] = {
	{"ID", false, TABLE_END, 8, 4},
	{"TIME", true, TABLE_NEVER, 0, 0},
	{"NAME", false, TABLE_MIDDLE, 12, 5},
};

/* The text of a table with two rows. Free with free(). */
static char *print(const struct screen *screen, size_t limit)
{
	static const char *const first[] = {"0123456789abcdef", "1.00 s",
					    "a_rather_long_name"};
	static const char *const second[] = {"fedcba9876543210", "0", "x\033"};
	struct table *table = table_create(columns, 3);
	char *text;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	text_init();
	table_add(table, first);
	table_add(table, second);
	table_print(table, to, screen, limit);
	table_destroy(table);
	fclose(to);
	return text;
}

static void check_width(size_t width, const char *expected)
{
	char *text = print(&(struct screen){width, false}, SIZE_MAX);

	CHECK_STR(text, expected);
	free(text);
}

TEST(table_cuts_nothing_when_there_is_room)
{
	check_width(0, "ID                 TIME NAME\n"
		       "0123456789abcdef 1.00 s a_rather_long_name\n"
		       "fedcba9876543210      0 x?\n");
	check_width(42, "ID                 TIME NAME\n"
			"0123456789abcdef 1.00 s a_rather_long_name\n"
			"fedcba9876543210      0 x?\n");
}

TEST(table_cuts_ids_to_their_first_digits)
{
	check_width(41, "ID         TIME NAME\n"
			"01234567 1.00 s a_rather_long_name\n"
			"fedcba98      0 x?\n");
}

TEST(table_cuts_names_only_as_far_as_needed)
{
	check_width(33, "ID         TIME NAME\n"
			"01234567 1.00 s a_rather…ong_name\n"
			"fedcba98      0 x?\n");
}

TEST(table_gives_up_more_on_a_narrow_screen)
{
	check_width(18, "ID     TIME NAME\n"
			"0123 1.00 s a_r…me\n"
			"fedc      0 x?\n");
	check_width(1, "ID     TIME NAME\n"
		       "0123 1.00 s a_…me\n"
		       "fedc      0 x?\n");
}

TEST(table_prints_the_rows_it_is_asked_for)
{
	char *text = print(&(struct screen){0, false}, 1);

	CHECK(strstr(text, "0123456789abcdef"));
	CHECK(!strstr(text, "fedc"));
	free(text);
}

TEST(table_colours_titles_only_when_told)
{
	char *text = print(&(struct screen){0, true}, 1);

	CHECK(strncmp(text, "\033[1mID", 6) == 0);
	free(text);
}
