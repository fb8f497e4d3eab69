/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the ring against producers that lie: about sizes,
 * kinds, texts and owners.
 * Runs on: the test program's main thread.
 */
#include "exporter/intake.h"

#include <stdio.h>

#include "tests/lib/agent.h"
#include "tests/lib/forge.h"
#include "tests/lib/unit.h"

static struct intake intake;
static uint64_t dead_owner; /* 0: nobody is dead */

/* What was taken in the last pass. */
#define TAKEN_MAX 64u
static union forged taken[TAKEN_MAX];
static size_t taken_count;
static char order[4 * TAKEN_MAX]; /* kind@time of each */

static bool is_dead(void *context, uint64_t owner)
{
	CHECK(context == &intake);
	return owner == dead_owner;
}

static void take(void *context, const struct record *record)
{
	size_t used = strlen(order);

	CHECK(context == &intake);
	/* The ring may change under our hands, but not what is handed on. */
	memset(agent.ring->blocks[0].data, 0xff, 4096);
	if (taken_count < TAKEN_MAX && record->bytes <= sizeof(taken[0]))
		memcpy(&taken[taken_count], record, record->bytes);
	if (taken_count < TAKEN_MAX)
		snprintf(order + used, sizeof(order) - used, "%u@%u ",
			 record->kind, (unsigned)record->time_ns);
	taken_count++;
}

static void begin(void)
{
	agent_begin();
	intake_fini(&intake);
	memset(&intake, 0, sizeof(intake));
	intake.ring = agent.ring;
	intake.is_dead = is_dead;
	intake.take = take;
	intake.context = &intake;
	dead_owner = 0;
}

/* One pass; so many records are good, and so many faults are counted. */
static void check_pass(size_t good, uint64_t malformed)
{
	taken_count = 0;
	order[0] = '\0';
	intake.malformed = 0;
	CHECK_EQ(intake_pass(&intake), good);
	CHECK_EQ(taken_count, good);
	CHECK_EQ(intake.malformed, malformed);
}

TEST(an_empty_ring_gives_nothing)
{
	begin();
	check_pass(0, 0);
}

/* The window is out: its blocks are the producers' again. */
static void end_window(void)
{
	intake_mark(&intake);
	intake_window_out(&intake);
}

TEST(a_block_is_taken_once_and_given_back_with_its_window)
{
	begin();
	forge_put(3, forge(RECORD_UNSAMPLED, 5));
	forge_put(RING_BLOCKS - 1, forge(RECORD_SPAN_END, 6));
	check_pass(2, 0);
	CHECK_EQ(agent.ring->blocks[3].owner, 0);
	check_pass(0, 0);
	CHECK(agent.ring->blocks[3].used != 0);
	end_window();
	CHECK_EQ(agent.ring->blocks[3].used, 0);
	CHECK_EQ(agent.ring->blocks[3].owner, 0);
	check_pass(0, 0);
}

TEST(records_come_so_that_each_can_be_understood)
{
	static const struct {
		enum record_kind kind;
		uint64_t time;
	} mixed[] = {{RECORD_SPAN_END, 1},  {RECORD_SAMPLE, 3},
		     {RECORD_MODULE, 9},    {RECORD_SPAN_BEGIN, 8},
		     {RECORD_UNSAMPLED, 2}, {RECORD_SPAN_END, 7},
		     {RECORD_MODULES, 10},  {RECORD_SAMPLE, 1},
		     {RECORD_SPAN_BEGIN, 4}};

	begin();
	for (unsigned i = 0; i < 9; i++)
		forge_put(i % 4, forge(mixed[i].kind, mixed[i].time));
	check_pass(9, 0);
	CHECK_STR(order, "3@4 3@8 5@9 6@10 1@1 2@2 1@3 4@1 4@7 ");
}

/* ---- levels of blocks ---- */

TEST(a_level_beyond_the_block_is_taken_as_full)
{
	begin();
	forge_put(0, forge(RECORD_UNSAMPLED, 5));
	atomic_store(&agent.ring->blocks[0].used, UINT32_MAX);
	/* Behind the record lie zeros: a record of no size. */
	check_pass(1, 1);
	end_window();
	CHECK_EQ(agent.ring->blocks[0].used, 0);
}

TEST(an_odd_level_is_taken_as_the_even_one_below)
{
	begin();
	for (unsigned more = 1; more < 8; more++) {
		forge_put(0, forge(RECORD_UNSAMPLED, 5));
		forge_append(0, "\xff\xff\xff\xff\xff\xff\xff", more);
		forge_put(1, forge(RECORD_UNSAMPLED, 6));
		check_pass(2, 0);
		end_window();
	}
	forge_put(0, forge(RECORD_UNSAMPLED, 5));
	atomic_fetch_sub(&agent.ring->blocks[0].used, 1);
	check_pass(0, 1);
}

/* ---- sizes of records ---- */

TEST(a_size_that_makes_no_sense_hides_the_rest_of_its_block)
{
	static const uint32_t bad[] = {0,        8,          16,
				       23,       25,         81,
				       84,       UINT32_MAX, UINT32_MAX - 7,
				       1u << 31, 262128,     256};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		union forged *record;

		begin();
		forge_put(0, forge(RECORD_UNSAMPLED, 1));
		record = forge(RECORD_UNSAMPLED, 2);
		record->head.bytes = bad[i];
		forge_append(0, record, sizeof(struct record_unsampled));
		forge_put(0, forge(RECORD_UNSAMPLED, 3));
		forge_put(1, forge(RECORD_UNSAMPLED, 4));
		check_pass(2, 1);
		CHECK_STR(order, "2@1 2@4 ");
	}
}

static const enum record_kind kinds[] = {RECORD_SAMPLE,     RECORD_UNSAMPLED,
					 RECORD_SPAN_BEGIN, RECORD_SPAN_END,
					 RECORD_MODULE,     RECORD_MODULES};

TEST(a_record_that_is_too_short_for_its_kind_is_refused_alone)
{
	for (size_t i = 0; i < 6; i++) {
		union forged *record;

		begin();
		record = forge(kinds[i], 1);
		record->head.bytes = sizeof(struct record);
		forge_put(0, record);
		record = forge(kinds[i], 2);
		record->head.bytes -= kinds[i] == RECORD_MODULE ? 24 : 8;
		if (record->head.bytes > sizeof(struct record))
			forge_put(0, record);
		forge_put(0, forge(RECORD_UNSAMPLED, 3));
		taken_count = 0;
		order[0] = '\0';
		CHECK_EQ(intake_pass(&intake), 1);
		CHECK_STR(order, "2@3 ");
		CHECK(intake.malformed >= 1);
	}
}

TEST(a_record_may_be_longer_than_its_kind)
{
	for (size_t i = 0; i < 6; i++) {
		union forged *record;

		begin();
		record = forge(kinds[i], 1);
		record->head.bytes += 64;
		forge_put(0, record);
		forge_put(0, forge(RECORD_UNSAMPLED, 3));
		check_pass(2, 0);
	}
}

TEST(unknown_kinds_and_processes_are_refused)
{
	static const uint16_t unknown[] = {0, RECORD_MODULES + 1, UINT16_MAX};
	union forged *record;

	begin();
	for (size_t i = 0; i < 3; i++) {
		record = forge(RECORD_UNSAMPLED, 1);
		record->head.kind = unknown[i];
		forge_put(0, record);
	}
	record = forge(RECORD_UNSAMPLED, 1);
	record->head.process = RING_PROCESSES;
	forge_put(0, record);
	record = forge(RECORD_UNSAMPLED, 2);
	record->head.process = RING_PROCESSES - 1;
	forge_put(0, record);
	check_pass(1, 4);
	CHECK_STR(order, "2@2 ");
}

/* ---- what is inside of records ---- */

static void check_stack(uint32_t claimed, uint32_t there, size_t good)
{
	union forged *record;

	begin();
	record = forge(RECORD_SAMPLE, 1);
	record->sample.stack_bytes = claimed;
	record->head.bytes += there;
	forge_put(0, record);
	check_pass(good, 1 - good);
}

TEST(a_stack_lies_in_its_sample)
{
	check_stack(0, 0, 1);
	check_stack(4096, 4096, 1);
	check_stack(4089, 4096, 1);
	check_stack(1, 0, 0);
	check_stack(4097, 4096, 0);
	check_stack(SAMPLE_STACK_MAX_BYTES + 8, 64, 0);
	check_stack(UINT32_MAX, 4096, 0);
}

static struct record_module *new_module(void)
{
	begin();
	return &forge(RECORD_MODULE, 1)->module;
}

static void check_module(const struct record_module *module, size_t good)
{
	forge_put(0, (const union forged *)(const void *)module);
	check_pass(good, 1 - good);
}

TEST(a_modules_path_ends_in_its_record)
{
	struct record_module *module = new_module();

	module->path_bytes = 16;
	memset(module->path, 'x', 16);
	check_module(module, 0);
	module = new_module();
	module->path_bytes = 0;
	check_module(module, 0);
	module = new_module();
	module->path_bytes = 17;
	check_module(module, 0);
	module = new_module();
	module->path_bytes = UINT32_MAX;
	check_module(module, 0);
	module = new_module();
	module->path_bytes = 16;
	check_module(module, 1);
}

TEST(a_modules_counts_are_within_their_tables)
{
	struct record_module *module = new_module();

	module->build_id_bytes = MODULE_BUILD_ID_BYTES + 1;
	check_module(module, 0);
	module = new_module();
	module->segment_count = MODULE_SEGMENTS + 1;
	check_module(module, 0);
	module = new_module();
	module->segment_count = UINT32_MAX;
	check_module(module, 0);
	module = new_module();
	module->build_id_bytes = MODULE_BUILD_ID_BYTES;
	module->segment_count = MODULE_SEGMENTS;
	check_module(module, 1);
}

TEST(a_spans_texts_are_ended)
{
	union forged *record;

	begin();
	record = forge(RECORD_SPAN_BEGIN, 1);
	memset(record->begin.method, 'M', SPAN_METHOD_BYTES);
	memset(record->begin.path, 'p', SPAN_PATH_BYTES);
	forge_put(0, record);
	check_pass(1, 0);
	CHECK_EQ(strlen(taken[0].begin.method), SPAN_METHOD_BYTES - 1);
	CHECK_EQ(strlen(taken[0].begin.path), SPAN_PATH_BYTES - 1);
}

/* take() overwrites the block: see there. */
TEST(what_is_handed_on_is_a_copy)
{
	union forged *record;

	begin();
	for (uint64_t i = 0; i < 3; i++) {
		record = forge(RECORD_UNSAMPLED, i);
		record->unsampled.cpu_ns = 1000 + i;
		forge_put(0, record);
	}
	check_pass(3, 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(taken[i].unsampled.cpu_ns, 1000 + i);
}

/* ---- owners ---- */

#define OWNER(tid) (UINT64_C(1) << 48 | UINT64_C(1) << 32 | (tid))

static void own(uint64_t owner)
{
	forge_put(0, forge(RECORD_UNSAMPLED, 1));
	atomic_store(&agent.ring->blocks[0].owner, owner);
}

TEST(a_block_in_use_is_left_alone)
{
	begin();
	own(OWNER(7));
	for (int i = 0; i < 5; i++)
		check_pass(0, 0);
	CHECK_EQ(agent.ring->blocks[0].owner, OWNER(7));
	atomic_store(&agent.ring->blocks[0].owner, 0);
	check_pass(1, 0);
}

TEST(a_dead_owners_block_is_taken_on_the_second_pass)
{
	begin();
	own(OWNER(7));
	dead_owner = OWNER(7);
	check_pass(0, 0);
	check_pass(1, 0);
	CHECK_EQ(agent.ring->blocks[0].owner, 0);
}

TEST(a_dead_owners_empty_block_is_taken_too)
{
	begin();
	atomic_store(&agent.ring->blocks[0].owner, OWNER(7));
	dead_owner = OWNER(7);
	check_pass(0, 0);
	check_pass(0, 0);
	CHECK_EQ(agent.ring->blocks[0].owner, 0);
}

/* Between two looks it was given back and taken by another one, who has died
 * as well: he may have died only now. */
TEST(an_owner_that_changes_is_a_new_one)
{
	begin();
	own(OWNER(7));
	check_pass(0, 0);
	atomic_store(&agent.ring->blocks[0].owner, OWNER(8));
	dead_owner = OWNER(8);
	check_pass(0, 0);
	check_pass(1, 0);
}

TEST(a_former_exporters_block_is_taken_at_once)
{
	begin();
	own(RING_OWNER_EXPORTER);
	check_pass(1, 0);
	CHECK_EQ(agent.ring->blocks[0].owner, 0);
}

/* ---- memory ---- */

static void fill_ring(void)
{
	const size_t bytes = sizeof(struct record_modules);
	const union forged *record = forge(RECORD_MODULES, 1);

	for (unsigned i = 0; i < RING_BLOCKS; i++) {
		while (agent.ring->blocks[i].used + bytes <=
		       sizeof(agent.ring->blocks[i].data))
			forge_append(i, record, bytes);
	}
}

TEST(memory_is_bounded_by_the_ring)
{
	const size_t bytes = sizeof(agent.ring->blocks[0].data);
	const size_t good =
		RING_BLOCKS * (bytes / sizeof(struct record_modules));
	size_t capacity;

	begin();
	fill_ring();
	check_pass(good, 0);
	capacity = intake.capacity;
	CHECK(capacity <= 2 * sizeof(struct ring));
	CHECK_EQ(intake.kept, INTAKE_KEPT_MAX);
	end_window();
	fill_ring();
	check_pass(good, 0);
	CHECK_EQ(intake.capacity, capacity);
	CHECK(intake.record_capacity <= 2 * good);
}
