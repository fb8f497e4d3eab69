/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ring keeps for the exporter that comes after a killed one: nothing
 * that was delivered, everything else, within a bound.
 * Runs on: the test program's main thread.
 */
#include <stdio.h>

#include "exporter/intake.h"
#include "tests/lib/agent.h"
#include "tests/lib/forge.h"
#include "tests/lib/unit.h"

static struct intake intake;
static char order[1024]; /* the times of the records of the last pass */

static bool is_dead(void *context, uint64_t owner)
{
	(void)context;
	(void)owner;
	return false;
}

static void take(void *context, const struct record *record)
{
	size_t used = strlen(order);

	(void)context;
	snprintf(order + used, sizeof(order) - used, "%u ",
		 (unsigned)record->time_ns);
}

/* Another exporter: nothing of the last one's is left but the ring. */
static void begin_exporter(void)
{
	intake_fini(&intake);
	memset(&intake, 0, sizeof(intake));
	intake.ring = agent.ring;
	intake.is_dead = is_dead;
	intake.take = take;
	intake_begin(&intake);
}

static void begin(void)
{
	agent_begin();
	begin_exporter();
}

/* Two deaths in a row would be blamed on a record. */
static void begin_exporter_later(void)
{
	atomic_store(&agent.ring->header.exporter_starts, 1);
	begin_exporter();
}

static void put(unsigned block, uint64_t time)
{
	forge_put(block, forge(RECORD_UNSAMPLED, time));
}

static void check_pass(const char *times)
{
	order[0] = '\0';
	CHECK(intake_pass(&intake) >= 0);
	CHECK_STR(order, times);
	CHECK_EQ(intake.malformed, 0);
}

static void end_window(void)
{
	intake_mark(&intake);
	intake_window_out(&intake);
}

TEST(what_was_only_taken_is_taken_again)
{
	begin();
	put(0, 1);
	put(5, 2);
	check_pass("1 2 ");
	put(0, 3);
	check_pass("3 ");
	begin_exporter();
	check_pass("1 2 3 ");
	check_pass("");
}

TEST(what_is_out_is_not_taken_again)
{
	begin();
	put(0, 1);
	check_pass("1 ");
	/* While the window is being written, a producer goes on. */
	intake_mark(&intake);
	put(0, 2);
	intake_window_out(&intake);
	begin_exporter();
	check_pass("2 ");
	put(0, 3);
	begin_exporter_later();
	check_pass("2 3 ");
}

TEST(a_window_that_is_not_out_yet_is_taken_again)
{
	begin();
	put(0, 1);
	check_pass("1 ");
	end_window();
	put(0, 2);
	check_pass("2 ");
	intake_mark(&intake);
	begin_exporter();
	check_pass("2 ");
}

TEST(an_exporter_that_dies_while_it_gives_a_block_back_loses_nothing)
{
	begin();
	put(0, 1);
	check_pass("1 ");
	/* As if there was a moment between the two stores of the give-back. */
	intake_mark(&intake);
	atomic_fetch_add(&agent.ring->header.windows_out, 1);
	atomic_store(&agent.ring->blocks[0].owner, RING_OWNER_EXPORTER);
	atomic_store(&agent.ring->blocks[0].used, 0);
	begin_exporter();
	check_pass("");
	put(0, 2);
	begin_exporter_later();
	check_pass("2 ");
}

TEST(a_block_that_is_in_use_at_the_windows_end_is_kept)
{
	begin();
	put(0, 1);
	check_pass("1 ");
	atomic_store(&agent.ring->blocks[0].owner, 77);
	end_window();
	CHECK(agent.ring->blocks[0].used != 0);
	put(0, 2);
	atomic_store(&agent.ring->blocks[0].owner, 0);
	check_pass("2 ");
	end_window();
	CHECK_EQ(agent.ring->blocks[0].used, 0);
}

TEST(half_of_the_blocks_are_always_the_producers)
{
	unsigned empty = 0;

	begin();
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		put(i, i);
	CHECK(intake_pass(&intake) == RING_BLOCKS);
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		empty += agent.ring->blocks[i].used == 0;
	CHECK_EQ(empty, RING_BLOCKS - INTAKE_KEPT_MAX);
	begin_exporter();
	CHECK_EQ(intake_pass(&intake), INTAKE_KEPT_MAX);
	end_window();
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		CHECK_EQ(agent.ring->blocks[i].used, 0);
	CHECK_EQ(intake.kept, 0);
}

/* A record may be what killed the first two. */
TEST(the_third_exporter_without_a_window_drops_what_was_kept)
{
	begin();
	put(0, 1);
	check_pass("1 ");
	begin_exporter();
	check_pass("1 ");
	begin_exporter();
	check_pass("");
	put(0, 2);
	check_pass("2 ");
	/* It has got over it. */
	end_window();
	put(0, 3);
	begin_exporter();
	check_pass("3 ");
}

TEST(marks_that_lie_hide_no_more_than_their_block)
{
	static const uint32_t lies[] = {UINT32_MAX, RING_BLOCK_BYTES, 1, 84,
					1u << 31};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		begin();
		put(0, 1);
		put(1, 2);
		atomic_store(&agent.ring->header.windows_out, UINT64_MAX);
		atomic_store(&agent.ring->header.marks[1].delivered[0],
			     lies[i]);
		begin_exporter();
		check_pass("1 2 ");
		end_window();
		CHECK_EQ(agent.ring->blocks[0].used, 0);
	}
}

TEST(a_level_that_falls_and_rises_is_followed)
{
	begin();
	put(0, 1);
	put(0, 2);
	check_pass("1 2 ");
	atomic_store(&agent.ring->blocks[0].used, 0);
	check_pass("");
	put(0, 3);
	check_pass("3 ");
	end_window();
	CHECK_EQ(agent.ring->blocks[0].used, 0);
}
