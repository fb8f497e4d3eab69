/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often, and how soon, a dead exporter is started again.
 * Runs on: the test program's main thread.
 */
#include "supervisor/restart.h"

#include "tests/lib/unit.h"

#define S UINT64_C(1000000000)

TEST(each_death_of_a_minute_doubles_the_wait)
{
	struct restart restart = {.count = 0};

	CHECK_EQ(restart_delay_ns(&restart, 100 * S), S / 10);
	CHECK_EQ(restart_delay_ns(&restart, 110 * S), S / 5);
	CHECK_EQ(restart_delay_ns(&restart, 120 * S), 2 * S / 5);
	/* The first two are over. */
	CHECK_EQ(restart_delay_ns(&restart, 171 * S), S / 5);
}

TEST(too_many_deaths_are_the_end)
{
	struct restart restart = {.count = 0};

	for (unsigned i = 0; i < RESTARTS_MAX; i++)
		CHECK(restart_delay_ns(&restart, (100 + i) * S) > 0);
	CHECK_EQ(restart_delay_ns(&restart, 159 * S), -1);
	CHECK_EQ(restart_delay_ns(&restart, 159 * S), -1);
}

TEST(one_death_now_and_then_never_ends_it)
{
	struct restart restart = {.count = 0};

	for (unsigned i = 1; i < 100; i++)
		CHECK(restart_delay_ns(&restart, i * 13 * S) > 0);
}
