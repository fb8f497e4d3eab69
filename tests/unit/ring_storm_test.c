/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everybody writes into the ring at once: threads and forked children, each of
 * them interrupted all the time by a signal whose handler writes, too, while
 * the main thread empties it. What was written comes out once and whole, or is
 * counted as lost.
 * Runs on: the test program's threads and children.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/ring.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/storm.h"
#include "tests/lib/unit.h"

#define THREADS 3u
#define CHILDREN 2u
#define WRITERS (THREADS + CHILDREN)
#define SOURCES (2 * WRITERS) /* and what their handlers write */
#define MOST 60000u           /* records of one source */
#define EACH 50000u           /* records of a writer outside of handlers */
#define FIRST_SLOT 20u

/* Shared with the children. */
struct tally {
	_Atomic uint32_t written[SOURCES];
	_Atomic uint32_t lost[SOURCES];
	_Atomic uint32_t ready; /* writers */
	_Atomic uint32_t done;
};
static struct tally *tally;

static uint8_t *seen[SOURCES]; /* by number */
static uint32_t seen_count[SOURCES];

struct storm_record {
	struct record head;
	uint32_t source;
	uint32_t number;
	uint64_t words[]; /* each is made of both */
};

static __thread uint32_t writer; /* its handler uses it, too */

static uint64_t word_of(uint32_t source, uint32_t number)
{
	return ((uint64_t)source << 32 | number) * 0x9e3779b97f4a7c15u;
}

static void write_record(uint32_t source)
{
	uint32_t number = tally->written[source];
	size_t words = 1 + number % 41;
	size_t bytes = sizeof(struct storm_record) + words * 8;
	uint32_t hint = number % 2; /* so that all want the same blocks */
	struct ring_grip grip;
	struct storm_record *record;

	if (number >= MOST)
		return;
	tally->written[source]++;
	record = ring_open_sig(&grip, &hint, source, bytes);
	if (!record) {
		tally->lost[source]++;
		return;
	}
	record->source = source;
	record->number = number;
	for (size_t i = 0; i < words; i++)
		record->words[i] = word_of(source, number);
	ring_close_sig(&grip, RECORD_UNSAMPLED, bytes);
}

static void write_in_handler(void)
{
	write_record(WRITERS + writer);
}

static void write_all(uint32_t number)
{
	struct storm storm;
	int error;

	writer = number;
	tally->ready++;
	while (tally->ready < WRITERS)
		sched_yield();
	error = storm_begin(&storm, write_in_handler);
	for (uint32_t i = 0; !error && i < EACH; i++)
		write_record(number);
	storm_end(&storm);
	tally->done++;
}

static void *thread_main(void *number)
{
	write_all((uint32_t)(uintptr_t)number);
	return NULL;
}

static int child_main(void *number)
{
	uint32_t index = (uint32_t)(uintptr_t)number;

	agent_begin_child(FIRST_SLOT + index);
	write_all(index);
	return 0;
}

static void check_record(const struct record *head)
{
	const struct storm_record *record = (const struct storm_record *)head;
	size_t words = (head->bytes - sizeof(*record)) / 8;

	CHECK_EQ(head->kind, RECORD_UNSAMPLED);
	CHECK(record->source < SOURCES);
	CHECK(record->number < MOST);
	CHECK_EQ(head->tid, record->source);
	CHECK_EQ(words, 1 + record->number % 41);
	for (size_t i = 0; i < words; i++)
		CHECK_EQ(record->words[i],
			 word_of(record->source, record->number));
	CHECK(!seen[record->source][record->number]);
	seen[record->source][record->number] = 1;
	seen_count[record->source]++;
}

static size_t empty_ring(void)
{
	size_t count = records_take();

	for (size_t i = 0; i < count; i++)
		check_record(records_at(i));
	return count;
}

static void begin(void)
{
	agent_begin();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(tally != MAP_FAILED);
	for (unsigned i = 0; i < SOURCES; i++) {
		seen[i] = calloc(MOST, 1);
		CHECK(seen[i] != NULL);
	}
}

TEST(whatever_is_written_comes_out_once_or_is_counted)
{
	pthread_t threads[THREADS];
	pid_t children[CHILDREN];
	uint64_t lost = 0;

	begin();
	for (uintptr_t i = 0; i < CHILDREN; i++)
		children[i] = crowd_fork(child_main, (void *)(THREADS + i));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, thread_main,
					(void *)i),
			 0);
	while (tally->done < WRITERS)
		empty_ring();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < CHILDREN; i++)
		CHECK_EQ(crowd_wait(children[i]), 0);
	empty_ring();
	for (unsigned i = 0; i < SOURCES; i++) {
		CHECK(tally->written[i] > 0);
		CHECK_EQ(seen_count[i] + tally->lost[i], tally->written[i]);
		lost += tally->lost[i];
	}
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), lost);
}
