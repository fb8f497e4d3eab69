/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound of span names.
 * Runs on: the test program's main thread.
 */
#include "exporter/names.h"

#include <stdio.h>

#include "tests/lib/unit.h"

TEST(beyond_a_hundred_names_all_are_other)
{
	struct names names;
	char name[16];

	CHECK_EQ(names_init(&names), 0);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < NAMES_MAX + 30; i++) {
			snprintf(name, sizeof(name), "NAME%u", i);
			CHECK_STR(names_bound(&names, name),
				  i < NAMES_MAX ? name : NAMES_OTHER);
		}
	}
	CHECK_EQ(names.seen.count, NAMES_MAX + 1);
	names_fini(&names);
}
