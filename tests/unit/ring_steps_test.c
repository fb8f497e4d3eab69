/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may happen between two instructions of a writer: another one writes,
 * takes the block and keeps it, fills it up, or the exporter empties it.
 * Runs on: the test program's main thread, and its signal handler.
 */
#include "sampler/ring.h"

#include "exporter/intake.h"
#include "tests/lib/agent.h"
#include "tests/lib/records.h"
#include "tests/lib/steps.h"
#include "tests/lib/unit.h"

#define DATA_BYTES sizeof(((struct ring_block *)0)->data)

enum writer {
	OURS = 1,
	THEIRS = 2
};

#define FILLED_BYTES (sizeof(struct record_unsampled) - sizeof(struct record))

static void fill(struct record *record, enum writer writer)
{
	memset(record + 1, writer, FILLED_BYTES);
}

static void write_one(enum writer writer)
{
	struct ring_grip grip;
	uint32_t hint = 0; /* both want the same block */
	struct record *record = ring_open_sig(&grip, &hint, writer,
					      sizeof(struct record_unsampled));

	if (!record)
		return;
	fill(record, writer);
	ring_close_sig(&grip, RECORD_UNSAMPLED,
		       sizeof(struct record_unsampled));
}

static void write_ours(void)
{
	write_one(OURS);
}

static void write_theirs(void)
{
	write_one(THEIRS);
}

/* Exactly so many records of both are in the ring, and whole. */
static void check_records(size_t ours, size_t theirs)
{
	size_t count[3] = {0, 0, 0};

	CHECK_EQ(records_take(), ours + theirs);
	for (size_t i = 0; i < ours + theirs; i++) {
		const struct record *record = records_at(i);
		const uint8_t *bytes = (const uint8_t *)(record + 1);

		CHECK(record->tid == OURS || record->tid == THEIRS);
		CHECK_EQ(record->bytes, sizeof(struct record_unsampled));
		for (size_t at = 0; at < FILLED_BYTES; at++)
			CHECK_EQ(bytes[at], record->tid);
		count[record->tid]++;
	}
	CHECK_EQ(count[OURS], ours);
	CHECK_EQ(count[THEIRS], theirs);
}

static void check_nobody_holds_a_block(void)
{
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		CHECK_EQ(agent.ring->blocks[i].owner, 0);
}

TEST(a_writer_that_comes_between_spoils_nothing)
{
	unsigned n = 0;

	agent_begin();
	for (; steps_interrupt(n, write_ours, write_theirs); n += STEPS_STRIDE)
		check_records(1, 1);
	check_records(1, 0);
	check_nobody_holds_a_block();
	CHECK(n > 50);
}

/* Another thread's writer, which is not done when ours goes on. */
static struct ring_grip their_grip;
static struct record *their_record;

static void begin_theirs(void)
{
	uint32_t hint = 0;

	their_record = ring_open_sig(&their_grip, &hint, THEIRS,
				     sizeof(struct record_unsampled));
}

static void end_theirs(void)
{
	fill(their_record, THEIRS);
	ring_close_sig(&their_grip, RECORD_UNSAMPLED,
		       sizeof(struct record_unsampled));
}

TEST(a_block_has_one_writer_at_a_time)
{
	agent_begin();
	for (unsigned n = 0; steps_interrupt(n, write_ours, begin_theirs);
	     n += STEPS_STRIDE) {
		CHECK(their_record != NULL);
		end_theirs();
		check_records(1, 1);
	}
	check_nobody_holds_a_block();
}

/* Leaves too little room in the first block for another record. */
static void fill_block(void)
{
	struct ring_grip grip;
	uint32_t hint = 0;
	size_t bytes = DATA_BYTES - sizeof(struct record_unsampled);

	if (ring_open_sig(&grip, &hint, THEIRS, bytes))
		ring_close_sig(&grip, RECORD_UNSAMPLED, bytes);
}

TEST(a_block_that_fills_up_meanwhile_is_not_overrun)
{
	agent_begin();
	write_theirs();
	CHECK(agent.ring->blocks[0].used > 0);
	for (unsigned n = 0; steps_interrupt(n, write_ours, fill_block);
	     n += STEPS_STRIDE) {
		CHECK(agent.ring->blocks[0].used <= DATA_BYTES);
		CHECK_EQ(agent.ring->blocks[1].owner, 0);
		CHECK_EQ(records_take(), 3);
		write_theirs();
	}
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), 0);
}

/* ---- the exporter comes between ---- */

static size_t taken[3];

static void count_record(void *context, const struct record *record)
{
	(void)context;
	if (record->tid <= THEIRS)
		taken[record->tid]++;
}

static bool nobody_is_dead(void *context, uint64_t owner)
{
	(void)context;
	(void)owner;
	return false;
}

static struct intake intake;

static void begin_exporter(void)
{
	agent_begin();
	intake.ring = agent.ring;
	intake.is_dead = nobody_is_dead;
	intake.take = count_record;
	memset(taken, 0, sizeof(taken));
}

static void export_pass(void)
{
	intake_pass(&intake);
}

TEST(a_record_is_exported_once_whenever_the_exporter_comes)
{
	size_t rounds = 0;

	begin_exporter();
	for (unsigned n = 0; steps_interrupt(n, write_ours, export_pass);
	     n += STEPS_STRIDE) {
		export_pass();
		CHECK_EQ(taken[OURS], ++rounds);
	}
	CHECK_EQ(intake.malformed, 0);
}

/* The other way round: a writer comes while the exporter looks at the first
 * block, which is the one that it wants. */
TEST(a_record_written_during_an_export_is_exported_once)
{
	size_t rounds = 0;

	begin_exporter();
	for (unsigned n = 0; n < 300; n += 1 + STEPS_STRIDE) {
		write_ours();
		CHECK(steps_interrupt(n, export_pass, write_theirs));
		rounds++;
		export_pass();
		CHECK_EQ(taken[OURS], rounds);
		CHECK_EQ(taken[THEIRS], rounds);
	}
	CHECK_EQ(intake.malformed, 0);
}
