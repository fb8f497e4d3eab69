/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads from their begin to their end: slots in the ring,
 * threads that return, exit or are cancelled, forks, and that all CPU time is
 * accounted for.
 * Runs on: the test program's threads and children.
 */
#include "preload/lifecycle.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sampler/handler.h"
#include "sampler/ring.h"
#include "sampler/timer.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

static void begin(void)
{
	agent_begin_alive();
}

/* Leaves no timer for the next test. */
static void end(void)
{
	handler_block_sig(1);
	agent_leave();
	handler_block_sig(0);
}

static void count_thread(struct thread *thread, void *count)
{
	(void)thread;
	++*(unsigned *)count;
}

static unsigned threads_known(void)
{
	unsigned count = 0;

	thread_each_sig(count_thread, &count);
	return count;
}

TEST(a_process_takes_a_slot_and_says_who_it_is)
{
	const struct ring_process *slot;
	uint64_t before = clock_boot_sig();

	begin();
	slot = &agent.ring->processes[process->slot];
	CHECK_EQ(process->pid, getpid());
	CHECK_EQ(process->generation, 1);
	CHECK_EQ(slot->claim, UINT64_C(1) << 32 | (uint32_t)getpid());
	CHECK_EQ(slot->signal_number, agent.signal_number);
	CHECK(slot->claimed_boot_ns >= before);
	CHECK(slot->claimed_boot_ns <= clock_boot_sig());
	CHECK(process->id_seed != 0);
	end();
}

TEST(a_slot_that_was_used_counts_its_generation_on)
{
	uint32_t own = (uint32_t)getpid() % RING_PROCESSES;

	begin();
	CHECK_EQ(process->slot, own);
	/* The exporter has let go of it. */
	atomic_store(&agent.ring->processes[own].claim, UINT64_C(7) << 32);
	end();
	process->pid = 0;
	CHECK_EQ(process_begin_main_app(), 0);
	CHECK_EQ(process->slot, own);
	CHECK_EQ(process->generation, 8);
	end();
}

TEST(a_taken_slot_is_passed_by_and_none_is_an_error)
{
	uint32_t own = (uint32_t)getpid() % RING_PROCESSES;

	begin();
	end();
	process->pid = 0;
	CHECK_EQ(process_begin_main_app(), 0);
	CHECK_EQ(process->slot, (own + 1) % RING_PROCESSES);
	end();
	for (unsigned i = 0; i < RING_PROCESSES; i++)
		atomic_store(&agent.ring->processes[i].claim, 1);
	process->pid = 0;
	CHECK(process_begin_main_app() < 0);
	CHECK_EQ(process->pid, 0);
	CHECK(!thread_self_app());
	CHECK_EQ(threads_known(), 0);
}

TEST(the_main_thread_is_sampled)
{
	struct thread *self;

	begin();
	self = thread_self_app();
	CHECK(self != NULL);
	CHECK_EQ(self->tid, gettid());
	CHECK_EQ(self->state, THREAD_LIVE);
	CHECK(self->timer >= 0);
	CHECK((uint64_t)&self > self->stack_low);
	CHECK((uint64_t)&self < self->stack_top);
	CHECK_EQ(agent_count(RING_THREADS), 1);
	end();
}

/* ---- how threads end ---- */

static void *return_soon(void *unused)
{
	agent_enter_alive();
	return unused;
}

static void *exit_soon(void *unused)
{
	agent_enter_alive();
	pthread_exit(unused);
}

static _Atomic bool ready;

static void *wait_to_be_cancelled(void *unused)
{
	agent_enter_alive();
	ready = true;
	for (;;)
		pause();
	return unused;
}

static void check_all_gone(void)
{
	CHECK_EQ(threads_known(), 1);
	CHECK_EQ(agent_count(RING_LOST_TIMER), 0);
}

TEST(threads_end_by_return_exit_and_cancellation)
{
	pthread_t threads[3];

	begin();
	ready = false;
	CHECK_EQ(pthread_create(&threads[0], NULL, return_soon, NULL), 0);
	CHECK_EQ(pthread_create(&threads[1], NULL, exit_soon, NULL), 0);
	CHECK_EQ(pthread_create(&threads[2], NULL, wait_to_be_cancelled, NULL),
		 0);
	while (!ready)
		usleep(100);
	CHECK_EQ(pthread_cancel(threads[2]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(agent_count(RING_THREADS), 4);
	check_all_gone();
	end();
}

/* The process's POSIX timers; 0 where the kernel doesn't tell
 * (CONFIG_CHECKPOINT_RESTORE). */
static unsigned count_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "re");
	char line[128];
	unsigned count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += strncmp(line, "ID:", 3) == 0;
	if (file)
		fclose(file);
	return count;
}

TEST(a_hundred_threads_leave_no_record_and_no_timer)
{
	unsigned timers;

	begin();
	timers = count_timers();
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, return_soon, NULL), 0);
		pthread_join(thread, NULL);
	}
	check_all_gone();
	CHECK_EQ(agent_count(RING_THREADS), 101);
	CHECK_EQ(count_timers(), timers);
	end();
}

/* Destructors of the program's keys still run under the thread's record. */
static pthread_key_t program_key;
static _Atomic int rounds_seen;

static void program_destructor(void *round)
{
	uintptr_t number = (uintptr_t)round;

	if (thread_self_app())
		rounds_seen++;
	if (number < 3)
		pthread_setspecific(program_key, (void *)(number + 1));
}

static void *use_key(void *unused)
{
	(void)unused;
	agent_enter_alive();
	pthread_setspecific(program_key, (void *)1);
	return NULL;
}

TEST(the_programs_destructors_run_before_ours)
{
	pthread_t thread;

	begin();
	rounds_seen = 0;
	CHECK_EQ(pthread_key_create(&program_key, program_destructor), 0);
	CHECK_EQ(pthread_create(&thread, NULL, use_key, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(rounds_seen, 3);
	check_all_gone();
	pthread_key_delete(program_key);
	end();
}

/* ---- fork ---- */

struct before_fork {
	uint32_t slot;
	uint64_t seed;
	struct thread *thread;
};

static int look_in_child(void *context)
{
	const struct before_fork *before = context;
	struct thread *self = thread_self_app();

	if (process->pid != (uint32_t)getpid() || !agent.active)
		return 1;
	if (process->slot == before->slot || process->id_seed == before->seed)
		return 2;
	if (!self || self->tid != (uint32_t)gettid() || self->timer < 0)
		return 3;
	if (self->stack_top == 0 || (uint64_t)&self > self->stack_top ||
	    (uint64_t)&self < self->stack_low)
		return 4;
	if (threads_known() != 1 || handler_block_sig(0))
		return 5;
	agent_burn_ns(60 * MS);
	process_end_app();
	return 0;
}

/* What the ring tells of a process's CPU time. */
static int64_t told_ns(uint32_t slot)
{
	int64_t sum = 0;

	for (size_t i = 0; i < records_count(RECORD_SAMPLE); i++) {
		const struct record_sample *sample =
			records_get(RECORD_SAMPLE, i);

		if (sample->head.process == slot)
			sum += (int64_t)sample->cpu_ns;
	}
	for (size_t i = 0; i < records_count(RECORD_UNSAMPLED); i++) {
		const struct record_unsampled *record =
			records_get(RECORD_UNSAMPLED, i);

		if (record->head.process == slot)
			sum += (int64_t)record->cpu_ns;
	}
	return sum;
}

TEST(a_forked_child_is_a_process_of_its_own)
{
	struct before_fork before;
	uint32_t childs_slot;

	begin();
	before.slot = process->slot;
	before.seed = process->id_seed;
	before.thread = thread_self_app();
	CHECK_EQ(crowd_wait(crowd_fork(look_in_child, &before)), 0);
	CHECK(thread_self_app() == before.thread);
	CHECK_EQ(process->slot, before.slot);
	CHECK_EQ(handler_block_sig(0), 0);
	for (childs_slot = 0; childs_slot < RING_PROCESSES; childs_slot++) {
		uint64_t claim =
			atomic_load(&agent.ring->processes[childs_slot].claim);

		if (claim && childs_slot != before.slot)
			break;
	}
	CHECK(childs_slot < RING_PROCESSES);
	records_take();
	CHECK(told_ns(childs_slot) >= 50 * MS);
	end();
}

/* The program believes that it blocks the signal; it never does. */
static int look_at_mask(void *unused)
{
	(void)unused;
	return handler_block_sig(0) || !thread_self_app()->blocks_signal;
}

TEST(a_childs_belief_in_its_signal_mask_is_its_parents)
{
	begin();
	CHECK(!thread_self_app()->blocks_signal);
	thread_self_app()->blocks_signal = true;
	CHECK_EQ(crowd_wait(crowd_fork(look_at_mask, NULL)), 0);
	thread_self_app()->blocks_signal = false;
	CHECK_EQ(crowd_wait(crowd_fork(look_at_mask, NULL)), 1);
	end();
}

TEST(a_signal_that_was_blocked_before_us_is_unblocked_and_noted)
{
	begin();
	end();
	handler_block_sig(1);
	begin();
	CHECK(thread_self_app()->blocks_signal);
	CHECK_EQ(handler_block_sig(0), 0);
	end();
}

/* ---- all of the time ---- */

static void *burn_shortly(void *unused)
{
	agent_enter_alive();
	agent_burn_ns(2 * MS);
	return unused;
}

static int64_t process_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Threads of 2 ms, as a server has that makes one for each connection. What
 * was used before the process began is the main thread's, too. */
TEST(sampled_and_unsampled_are_the_process_clock)
{
	int64_t used;
	int64_t told;

	begin();
	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, burn_shortly, NULL), 0);
		pthread_join(thread, NULL);
	}
	process_end_app();
	used = process_cpu_ns();
	records_take();
	told = told_ns(process->slot) - process->debt_ns -
	       agent.ring->header.debt_ns;
	CHECK(told <= used + 20 * MS);
	CHECK(told >= used - used / 20);
	end();
}
