/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that wait: kept as they came, offered oldest first, within a bound.
 * Runs on: the test program's main thread.
 */
#include "exporter/late.h"

#include "tests/lib/forge.h"
#include "tests/lib/unit.h"

static struct late late;
static uint64_t offered[64]; /* times of the samples */
static size_t offered_count;

/* A sample with a stack full of its time's low byte. */
static const struct record_sample *sample_at(uint64_t time, uint32_t stack)
{
	union forged *record = forge(RECORD_SAMPLE, time);

	record->head.bytes += stack;
	record->sample.stack_bytes = stack;
	memset(record->sample.stack, (int)time, stack);
	return &record->sample;
}

static void begin(void)
{
	late_init(&late);
	offered_count = 0;
}

/* Takes those whose time is a multiple of *context. */
static bool take_some(void *context, const struct record_sample *sample)
{
	for (uint32_t i = 0; i < sample->stack_bytes; i++)
		CHECK_EQ(sample->stack[i], (uint8_t)sample->head.time_ns);
	if (offered_count < 64)
		offered[offered_count] = sample->head.time_ns;
	offered_count++;
	return sample->head.time_ns % *(unsigned *)context == 0;
}

static size_t retry(unsigned divisor)
{
	offered_count = 0;
	late_retry(&late, take_some, &divisor);
	return offered_count;
}

TEST(nothing_waits_at_first)
{
	begin();
	CHECK_EQ(retry(1), 0);
	late_fini(&late);
}

TEST(samples_are_offered_oldest_first_until_they_are_taken)
{
	begin();
	for (uint64_t i = 1; i <= 6; i++)
		CHECK(late_keep(&late, sample_at(i, 64 * (uint32_t)i)));
	CHECK_EQ(retry(7), 6);
	for (uint64_t i = 0; i < 6; i++)
		CHECK_EQ(offered[i], i + 1);
	CHECK_EQ(retry(2), 6);
	CHECK_EQ(retry(3), 3);
	CHECK_EQ(offered[0], 1);
	CHECK_EQ(offered[1], 3);
	CHECK_EQ(offered[2], 5);
	CHECK_EQ(retry(1), 2);
	CHECK_EQ(retry(1), 0);
	CHECK_EQ(late.bytes, 0);
}

/* The end of the list moves with what is taken. */
TEST(samples_may_come_while_others_wait)
{
	begin();
	for (uint64_t i = 1; i <= 9; i++) {
		CHECK(late_keep(&late, sample_at(i, 8)));
		retry(2);
	}
	CHECK_EQ(retry(10), 5);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_EQ(offered[i], 2 * i + 1);
	late_fini(&late);
}

TEST(no_more_than_a_bound_is_kept)
{
	const struct record_sample *sample = sample_at(5, 4096);
	size_t kept = 0;

	begin();
	while (late_keep(&late, sample))
		kept++;
	CHECK_EQ(kept, LATE_BYTES_MAX / sample->head.bytes);
	CHECK(late.bytes <= LATE_BYTES_MAX);
	CHECK(!late_keep(&late, sample));
	CHECK_EQ(retry(5), kept);
	CHECK_EQ(late.bytes, 0);
	CHECK(late_keep(&late, sample));
	late_fini(&late);
	CHECK_EQ(late.bytes, 0);
}
