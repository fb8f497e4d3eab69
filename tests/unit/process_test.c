/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent knows of its process: memory that fork wipes, and ids that no
 * one else has.
 * Runs on: the test program's threads.
 */
#include "preload/process.h"

#include <stdlib.h>

#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/unit.h"

#define IDS 1000000u

static uint64_t *ids;

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left;
	const uint64_t *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void check_all_different(size_t count)
{
	qsort(ids, count, sizeof(*ids), by_value);
	CHECK(ids[0] != 0);
	for (size_t i = 1; i < count; i++)
		CHECK(ids[i] != ids[i - 1]);
}

static void allocate_ids(void)
{
	if (!ids)
		ids = malloc(IDS * sizeof(*ids));
	CHECK(ids != NULL);
}

TEST(a_million_ids_are_different_and_never_0)
{
	allocate_ids();
	agent_begin();
	for (size_t i = 0; i < IDS; i++)
		ids[i] = process_unique_id_sig();
	check_all_different(IDS);
}

#define THREADS 4u

static long take_ids(unsigned number, void *unused)
{
	size_t share = IDS / THREADS / 4;

	(void)unused;
	for (size_t i = 0; i < share; i++)
		ids[number * share + i] = process_unique_id_sig();
	return 0;
}

TEST(threads_get_different_ids)
{
	allocate_ids();
	agent_begin();
	crowd_run(THREADS, take_ids, NULL);
	check_all_different(IDS / 4);
}

TEST(processes_with_different_seeds_get_different_ids)
{
	allocate_ids();
	agent_begin();
	for (size_t i = 0; i < 100000; i++)
		ids[i] = process_unique_id_sig();
	process->id_seed++;
	process->id_counter = 0;
	for (size_t i = 100000; i < 200000; i++)
		ids[i] = process_unique_id_sig();
	check_all_different(200000);
}

/* The mixing is a bijection that maps 0 to 0: exactly one counter of the 2^64
 * gives the number that must not come out. */
TEST(the_id_0_is_passed_over)
{
	agent_begin();
	process->id_seed = 0;
	process->id_counter = 0;
	CHECK(process_unique_id_sig() != 0);
	CHECK_EQ(process->id_counter, 2);
}

struct memory {
	uint64_t *wiped;
	uint64_t *kept;
};

static int look_in_child(void *context)
{
	struct memory *memory = context;

	if (process->pid || process->slot || process->id_seed ||
	    process->id_counter || process->debt_ns || process->window)
		return 1;
	if (*memory->wiped != 0)
		return 2;
	return *memory->kept != 42;
}

TEST(fork_wipes_what_is_private_to_a_process)
{
	struct memory memory;

	agent_begin();
	process->debt_ns = 5;
	process->window = 6;
	memory.wiped = process_memory(4096, true);
	memory.kept = process_memory(4096, false);
	CHECK(memory.wiped && memory.kept);
	CHECK(agent.forks_wipe);
	*memory.wiped = *memory.kept = 42;
	CHECK_EQ(crowd_wait(crowd_fork(look_in_child, &memory)), 0);
	CHECK_EQ(*memory.wiped, 42);
	CHECK_EQ(process->slot, AGENT_SLOT);
}

TEST(memory_is_zeroed_and_absent_beyond_reason)
{
	uint8_t *memory = process_memory(3 * 4096, false);

	CHECK(memory != NULL);
	for (size_t i = 0; i < 3 * 4096; i++)
		CHECK_EQ(memory[i], 0);
	CHECK(!process_memory(UINT64_C(1) << 60, false));
}

TEST(counts_go_to_the_ring)
{
	agent_begin();
	count_sig(RING_HEADS);
	count_sig(RING_HEADS);
	CHECK_EQ(agent_count(RING_HEADS), 2);
	CHECK_EQ(agent_count(RING_SPANS), 0);
}
