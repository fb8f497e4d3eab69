/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The producers' side of the ring: order, heads, a full ring, writers that are
 * interrupted, race, fork or are killed.
 * Runs on: the test program's threads and children.
 */
#include "sampler/ring.h"

#include <signal.h>
#include <unistd.h>

#include "exporter/intake.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define DATA_BYTES sizeof(((struct ring_block *)0)->data)

/* A record whose contents can be told from a damaged one's: all of its words
 * are its number. It passes for a RECORD_UNSAMPLED. */
struct numbered {
	struct record head;
	uint64_t words[];
};

#define LEAST_BYTES sizeof(struct record_unsampled)

/* Returns whether there was room. `bytes` of more words, a multiple of 8. */
static bool push(uint32_t *hint, uint32_t tid, uint64_t number, size_t bytes)
{
	struct ring_grip grip;
	size_t size = LEAST_BYTES + bytes;
	struct numbered *record = ring_open_sig(&grip, hint, tid, size);

	if (!record)
		return false;
	for (size_t i = 0; i < (size - sizeof(record->head)) / 8; i++)
		record->words[i] = number;
	ring_close_sig(&grip, RECORD_UNSAMPLED, size);
	return true;
}

static bool is_intact(const struct record *record)
{
	const struct numbered *numbered = (const struct numbered *)record;
	size_t words = (record->bytes - sizeof(*record)) / 8;

	for (size_t i = 1; i < words; i++) {
		if (numbered->words[i] != numbered->words[0])
			return false;
	}
	return record->kind == RECORD_UNSAMPLED;
}

static uint64_t number_of(const struct record *record)
{
	return ((const struct numbered *)record)->words[0];
}

TEST(a_record_bears_its_writer_size_kind_and_time)
{
	const struct record *record;
	uint64_t before;
	uint32_t hint = 0;

	agent_begin();
	before = clock_monotonic_sig();
	CHECK(push(&hint, 77, 1, 16));
	CHECK_EQ(records_take(), 1);
	record = records_at(0);
	CHECK_EQ(record->bytes, LEAST_BYTES + 16);
	CHECK_EQ(record->kind, RECORD_UNSAMPLED);
	CHECK_EQ(record->process, AGENT_SLOT);
	CHECK_EQ(record->generation, AGENT_GENERATION);
	CHECK_EQ(record->tid, 77);
	CHECK(record->time_ns >= before);
	CHECK(record->time_ns <= clock_monotonic_sig());
}

TEST(sizes_are_rounded_up_to_8)
{
	struct ring_grip grip;
	uint32_t hint = 0;

	agent_begin();
	for (size_t bytes = 33; bytes <= 40; bytes++) {
		CHECK(ring_open_sig(&grip, &hint, 1, bytes));
		ring_close_sig(&grip, RECORD_MODULES, bytes);
		CHECK_EQ(records_take(), 1);
		CHECK_EQ(records_at(0)->bytes, 40);
	}
}

TEST(a_record_may_end_shorter_than_was_asked_for)
{
	struct ring_grip grip;
	uint32_t hint = 0;

	agent_begin();
	CHECK(ring_open_sig(&grip, &hint, 1, 4096));
	ring_close_sig(&grip, RECORD_MODULES, 32);
	CHECK(push(&hint, 1, 9, 8));
	CHECK_EQ(records_take(), 2);
	CHECK_EQ(records_at(0)->bytes, 32);
	CHECK(is_intact(records_at(1)));
}

TEST(a_block_keeps_the_order_of_its_records)
{
	const struct ring_block *block;
	const struct record *record;
	uint32_t hint = 5;
	size_t at = 0;

	agent_begin();
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(push(&hint, 1, i, i % 5 * 8));
	CHECK_EQ(hint, 5);
	block = &agent.ring->blocks[5];
	for (uint64_t i = 0; i < 1000; i++) {
		record = (const struct record *)(block->data + at);
		CHECK_EQ(number_of(record), i);
		CHECK(is_intact(record));
		at += record->bytes;
	}
	CHECK_EQ(block->used, at);
	CHECK_EQ(block->owner, 0);
}

TEST(any_hint_will_do)
{
	uint32_t hint = UINT32_MAX;

	agent_begin();
	CHECK(push(&hint, 1, 1, 0));
	CHECK(hint < RING_BLOCKS);
	CHECK_EQ(records_take(), 1);
}

TEST(a_full_ring_drops_counts_and_spoils_nothing)
{
	uint32_t hint = 0;
	uint64_t written = 0;
	const size_t bytes = 65536;
	const uint64_t fit = RING_BLOCKS * (DATA_BYTES / (LEAST_BYTES + bytes));

	agent_begin();
	while (push(&hint, 1, written, bytes))
		written++;
	CHECK_EQ(written, fit);
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), 1);
	CHECK(!push(&hint, 1, 0, bytes));
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), 2);
	/* A smaller one finds the rest of a block. */
	CHECK(push(&hint, 1, written, 8));
	CHECK_EQ(records_take(), written + 1);
	for (uint64_t i = 0; i <= written; i++) {
		CHECK_EQ(number_of(records_at(i)), i);
		CHECK(is_intact(records_at(i)));
	}
	CHECK(push(&hint, 1, 0, bytes));
}

TEST(the_largest_record_fills_a_block)
{
	const size_t most = DATA_BYTES - LEAST_BYTES;
	uint32_t hint = 0;

	agent_begin();
	CHECK(!push(&hint, 1, 1, most + 8));
	CHECK(push(&hint, 1, 1, most));
	CHECK_EQ(agent.ring->blocks[hint].used, DATA_BYTES);
	CHECK_EQ(records_take(), 1);
	CHECK(is_intact(records_at(0)));
}

TEST(nobody_writes_into_a_block_that_is_held)
{
	uint32_t first = 0;
	uint32_t second = 0;
	struct ring_grip grip;

	agent_begin();
	CHECK(ring_open_sig(&grip, &first, 1, 64));
	CHECK(push(&second, 2, 5, 0));
	CHECK(second != first);
	ring_close_sig(&grip, RECORD_MODULES, 64);
	CHECK_EQ(records_take(), 2);
}

TEST(a_held_block_tells_its_owner)
{
	uint32_t hint = 0;
	struct ring_grip grip;

	agent_begin();
	CHECK(ring_open_sig(&grip, &hint, 0x89abcdef, 64));
	CHECK_EQ(grip.block->owner, (uint64_t)(AGENT_SLOT + 1) << 48 |
					    (uint64_t)AGENT_GENERATION << 32 |
					    0x89abcdef);
	ring_close_sig(&grip, RECORD_MODULES, 64);
	CHECK_EQ(grip.block->owner, 0);
}

TEST(a_block_with_an_impossible_level_is_left_alone)
{
	uint32_t hint = 0;

	agent_begin();
	atomic_store(&agent.ring->blocks[0].used, UINT32_MAX - 7);
	atomic_store(&agent.ring->blocks[1].used, DATA_BYTES + 8);
	CHECK(push(&hint, 1, 1, 0));
	CHECK_EQ(hint, 2);
}

/* ---- killed writers ---- */

#define CHILD_SLOT 9u

/* Told by the test: nobody of the child's slot lives any more. */
static bool slot_is_dead(void *context, uint64_t owner)
{
	(void)context;
	return owner >> 48 == CHILD_SLOT + 1;
}

/* What the exporter finds of a writer: whole records without a gap. */
struct found {
	uint64_t count;
	uint64_t bad;
};

static void find(void *context, const struct record *record)
{
	struct found *found = context;

	found->bad += !is_intact(record) || record->process != CHILD_SLOT ||
		      number_of(record) != found->count;
	found->count++;
}

/* Two passes: the second one takes the blocks of the dead. With the window's
 * end they are free. */
static struct found pass_twice(void)
{
	struct found found = {0, 0};
	struct intake intake = {.ring = agent.ring,
				.is_dead = slot_is_dead,
				.take = find,
				.context = &found};

	CHECK(intake_pass(&intake) >= 0);
	CHECK(intake_pass(&intake) >= 0);
	CHECK_EQ(intake.malformed, 0);
	intake_mark(&intake);
	intake_window_out(&intake);
	intake_fini(&intake);
	return found;
}

static void check_ring_is_free(void)
{
	for (unsigned i = 0; i < RING_BLOCKS; i++) {
		CHECK_EQ(agent.ring->blocks[i].owner, 0);
		CHECK_EQ(agent.ring->blocks[i].used, 0);
	}
}

static int die_in_a_record(void *unused)
{
	struct ring_grip grip;
	struct numbered *record;
	uint32_t hint = 0;

	(void)unused;
	agent_begin_child(CHILD_SLOT);
	for (uint64_t i = 0; i < 10; i++)
		push(&hint, (uint32_t)gettid(), i, 64);
	record = ring_open_sig(&grip, &hint, (uint32_t)gettid(), 4096);
	if (record)
		memset(record->words, 0xee, 4000);
	kill(getpid(), SIGKILL);
	return 0;
}

TEST(a_writer_killed_in_a_record_loses_only_that_record)
{
	struct found found;
	uint32_t hint = 0;

	agent_begin();
	CHECK_EQ(crowd_wait(crowd_fork(die_in_a_record, NULL)), 256 + SIGKILL);
	CHECK(agent.ring->blocks[0].owner != 0);
	/* Others write on, elsewhere. */
	CHECK(push(&hint, 1, 0, 0));
	CHECK_EQ(hint, 1);
	records_take();
	found = pass_twice();
	CHECK_EQ(found.count, 10);
	CHECK_EQ(found.bad, 0);
	check_ring_is_free();
	hint = 0;
	CHECK(push(&hint, 1, 0, 0));
	CHECK_EQ(hint, 0);
}

static int write_until_killed(void *unused)
{
	uint32_t hint = 0;

	(void)unused;
	agent_begin_child(CHILD_SLOT);
	for (uint64_t i = 0;; i++) {
		while (!push(&hint, (uint32_t)gettid(), i, i * 8 % 999 / 8 * 8))
			pause();
	}
	return 0;
}

TEST(a_writer_killed_anywhere_leaves_whole_records)
{
	uint64_t total = 0;

	for (useconds_t i = 0; i < 25; i++) {
		struct found found;
		pid_t child;

		agent_begin();
		child = crowd_fork(write_until_killed, NULL);
		while (!atomic_load(&agent.ring->blocks[0].used))
			;
		usleep(i * 61);
		kill(child, SIGKILL);
		CHECK_EQ(crowd_wait(child), 256 + SIGKILL);
		found = pass_twice();
		CHECK_EQ(found.bad, 0);
		CHECK(found.count > 0);
		total += found.count;
		check_ring_is_free();
	}
	CHECK(total > 25);
}

TEST(a_live_owner_keeps_its_block)
{
	struct ring_grip grip;
	uint32_t hint = 0;

	agent_begin();
	CHECK(ring_open_sig(&grip, &hint, 1, 64));
	CHECK_EQ(pass_twice().count, 0);
	CHECK(grip.block->owner != 0);
	ring_close_sig(&grip, RECORD_UNSAMPLED, LEAST_BYTES);
	CHECK_EQ(records_take(), 1);
}
