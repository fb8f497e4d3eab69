/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU timers, the handler and the ledger together: a thread's samples and
 * bookings are its CPU time, at each rate, also for threads that live for less
 * than a period.
 * Runs on: the test program's threads.
 */
#include "sampler/timer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sampler/handler.h"
#include "sampler/ledger.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

/* What the ring tells of one thread (0: of all). */
struct told {
	uint64_t samples;
	uint64_t periods;
	int64_t sampled_ns;
	int64_t unsampled_ns;
};

static struct told take_told(uint32_t tid)
{
	struct told told = {0, 0, 0, 0};
	size_t count = records_take();

	for (size_t i = 0; i < count; i++) {
		const struct record *record = records_at(i);
		const struct record_sample *sample = (const void *)record;
		const struct record_unsampled *unsampled = (const void *)record;

		if (tid && record->tid != tid)
			continue;
		if (record->kind == RECORD_SAMPLE) {
			told.samples++;
			told.periods += sample->count;
			told.sampled_ns += (int64_t)sample->cpu_ns;
		} else if (record->kind == RECORD_UNSAMPLED) {
			told.unsampled_ns += (int64_t)unsampled->cpu_ns;
		}
	}
	return told;
}

static void set_rate(uint32_t hertz)
{
	agent.config.rate_hz = hertz;
	agent.period_ns = UINT64_C(1000000000) / hertz;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

/* Burns on the calling thread with its timer on; what is told is taken before
 * anything is booked. */
static struct told burn_with_timer(int64_t ns, int64_t *cpu_ns)
{
	struct thread *self = agent_enter();
	int64_t from;

	CHECK_EQ(timer_arm_sig(self), 0);
	agent_run_first(true);
	from = agent_cpu_ns();
	agent_burn_ns(ns);
	timer_disarm_sig(self);
	*cpu_ns = agent_cpu_ns() - from;
	agent_run_first(false);
	return take_told(self->tid);
}

/*
 * The kernel looks at CPU timers at its ticks. On a busy machine, ticks may
 * miss the thread for a while; what they missed comes with the next sample, and
 * the last of it not at all. So samples are never ahead of the clock, and it is
 * enough when one trial of several finds them close behind.
 */
#define TRIALS 6

static struct told burn_until_close(uint32_t hertz, int64_t ns)
{
	struct told told = {0, 0, 0, 0};
	int64_t cpu_ns = 0;
	bool close = false;

	for (int trial = 0; trial < TRIALS && !close; trial++) {
		agent_begin();
		set_rate(hertz);
		told = burn_with_timer(ns, &cpu_ns);
		CHECK_EQ(told.sampled_ns,
			 (int64_t)(told.periods * agent.period_ns));
		CHECK(told.sampled_ns <= cpu_ns + 20 * MS);
		CHECK_EQ(agent_count(RING_SAMPLES), told.samples);
		close = cpu_ns - told.sampled_ns <= 30 * MS;
	}
	CHECK(close);
	return told;
}

TEST(a_thread_that_burns_a_second_gets_100_periods)
{
	struct told told = burn_until_close(100, 1000 * MS);

	CHECK(told.periods >= 95);
	CHECK(told.periods <= 105);
	CHECK(told.samples <= told.periods);
	CHECK(told.samples > 20);
}

/* Where a tick is longer than a millisecond, one signal stands for several
 * expiries. */
TEST(at_1000_hz_overruns_keep_the_weight)
{
	struct told told = burn_until_close(1000, 300 * MS);

	CHECK(told.periods >= 265);
	if (agent.tick_ns > (uint64_t)(2 * MS))
		CHECK(told.samples < told.periods);
}

TEST(samples_and_the_last_booking_are_the_threads_clock)
{
	int64_t cpu_ns;
	struct told told;
	struct told booked;

	agent_begin();
	told = burn_with_timer(300 * MS, &cpu_ns);
	ledger_book_app(thread_self_app(), true);
	booked = take_told(0);
	CHECK_EQ(told.sampled_ns + booked.unsampled_ns - process->debt_ns,
		 thread_self_app()->accounted_ns);
	CHECK(distance(thread_self_app()->accounted_ns, agent_cpu_ns()) <=
	      20 * MS);
}

TEST(a_thread_that_sleeps_is_not_sampled)
{
	struct thread *self;
	struct timespec nap = {0, 100 * MS};

	agent_begin();
	set_rate(1000);
	self = agent_enter();
	CHECK_EQ(timer_arm_sig(self), 0);
	nanosleep(&nap, NULL);
	timer_disarm_sig(self);
	CHECK(take_told(0).sampled_ns <= 20 * MS);
}

TEST(a_timer_that_is_deleted_fires_no_more)
{
	struct thread *self;

	agent_begin();
	set_rate(1000);
	self = agent_enter();
	CHECK_EQ(timer_arm_sig(self), 0);
	CHECK(self->timer >= 0);
	timer_disarm_sig(self);
	CHECK_EQ(self->timer, -1);
	timer_disarm_sig(self);
	records_take();
	agent_burn_ns(50 * MS);
	CHECK_EQ(records_take(), 0);
}

/* RLIMIT_SIGPENDING counts timers. */
static int arm_without_room(void *unused)
{
	struct rlimit none = {0, 0};
	struct thread *self;

	(void)unused;
	agent_begin_child(9);
	self = agent_enter();
	if (setrlimit(RLIMIT_SIGPENDING, &none) != 0)
		return 2;
	return timer_arm_sig(self) != -EAGAIN || self->timer != -1;
}

TEST(a_timer_that_cannot_be_had_is_an_error)
{
	agent_begin();
	CHECK_EQ(crowd_wait(crowd_fork(arm_without_room, NULL)), 0);
}

TEST(the_clock_of_a_thread_that_has_gone_is_none)
{
	CHECK(thread_cpu_sig((uint32_t)gettid()) > 0);
	CHECK_EQ(thread_cpu_sig(0x3fffff), -1);
}

/* ---- threads that live for less than a period ---- */

#define SHORT_THREADS 150

static struct {
	int64_t accounted_ns; /* the threads' clocks, as they were settled */
	int64_t clocks_ns;    /* the same, read by the threads */
} short_sum;

/* Begins and ends as preload/lifecycle.c does it. */
static void *live_shortly(void *unused)
{
	struct thread *self = agent_enter();

	(void)unused;
	if (timer_arm_sig(self) != 0)
		return NULL;
	agent_burn_ns(2 * MS);
	handler_block_sig(1);
	timer_disarm_sig(self);
	short_sum.clocks_ns += agent_cpu_ns();
	ledger_book_app(self, true);
	short_sum.accounted_ns += self->accounted_ns;
	agent_leave();
	return NULL;
}

static void run_short_threads(int count)
{
	memset(&short_sum, 0, sizeof(short_sum));
	agent_run_first(true);
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, live_shortly, NULL), 0);
		pthread_join(thread, NULL);
	}
	agent_run_first(false);
}

TEST(short_threads_add_up_to_their_clocks_exactly)
{
	struct told told;

	agent_begin();
	run_short_threads(SHORT_THREADS);
	told = take_told(0);
	CHECK_EQ(told.sampled_ns + told.unsampled_ns - process->debt_ns,
		 short_sum.accounted_ns);
	CHECK(short_sum.accounted_ns >= short_sum.clocks_ns);
	/* The settling itself takes some microseconds. */
	CHECK(short_sum.accounted_ns - short_sum.clocks_ns <=
	      short_sum.clocks_ns / 20);
	CHECK(short_sum.clocks_ns >= SHORT_THREADS * 2 * MS);
}

/* Without a random first expiry none of them would be seen. A fifth of their
 * time is expected to be: 30 samples. */
TEST(short_threads_are_seen_as_often_as_they_deserve)
{
	bool seen = false;

	for (int trial = 0; trial < TRIALS && !seen; trial++) {
		struct told told;

		agent_begin();
		run_short_threads(SHORT_THREADS);
		told = take_told(0);
		CHECK(told.samples <= 120);
		seen = told.samples >= 5;
	}
	CHECK(seen);
}
