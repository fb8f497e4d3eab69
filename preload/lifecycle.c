/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begins and ends processes and threads.
 * Runs on: the program's threads.
 *
 * Fork: in the prepare handler the sampler thread is stopped, so that the
 * program is as single-threaded as it believes, and the signal is blocked, so
 * that a large process's fork cannot be interrupted for ever. Ours is the first
 * prepare handler to be registered and so the last to run. The child begins
 * with wiped memory (preload/process.h): new slot, new record, new timer.
 *
 * Threads end in the destructor of a pthread key: it runs for return,
 * pthread_exit and cancellation alike, and by putting itself back until the
 * last round it runs after the program's own destructors.
 */
#include "preload/lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "preload/process.h"
#include "preload/real.h"
#include "sampler/arch.h"
#include "sampler/handler.h"
#include "sampler/ledger.h"
#include "sampler/ring.h"
#include "sampler/scope.h"
#include "sampler/timer.h"
#include "sampler/worker.h"

/* POSIX: destructors run at least _POSIX_THREAD_DESTRUCTOR_ITERATIONS times;
 * glibc does exactly 4 rounds. */
#define DESTRUCTOR_ROUNDS 4

/* The kernel keeps at least 128 MiB below the main thread's stack free of
 * mappings (arch/x86/mm/mmap.c, SIZE_128M). */
#define MAIN_STACK_BYTES (UINT64_C(64) << 20)

static pthread_key_t end_key;

/* From before fork to after it, on the thread that forks. */
static __thread struct {
	bool active;
	bool signal_was_blocked;
	bool blocks_signal;
	uint64_t stack_low;
	uint64_t stack_top;
	struct ring_process *parent; /* who forks */
} forking __attribute__((tls_model("initial-exec")));

/* Round number, kept as the key's value. */
static void set_round(uintptr_t round)
{
	real_pthread_setspecific(end_key, (void *)round);
}

static void thread_end(struct thread *thread)
{
	handler_block_sig(1);
	thread_set_self_app(0);
	atomic_store_explicit(&thread->state, THREAD_CLAIMED,
			      memory_order_release);
	timer_disarm_sig(thread);
	scope_switch_app(thread, 0);
	ledger_book_app(thread, true);
	thread_release_sig(thread);
}

static void end_of_thread(void *value)
{
	uintptr_t round = (uintptr_t)value;
	struct thread *thread = thread_self_app();

	if (!agent.active || !thread ||
	    thread->tid != (uint32_t)SYS0(SYS_gettid))
		return;
	if (round < DESTRUCTOR_ROUNDS)
		set_round(round + 1);
	else
		thread_end(thread);
}

void thread_begin_app(struct thread *thread, uint64_t stack_low,
		      uint64_t stack_top)
{
	int error;

	thread->tid = (uint32_t)SYS0(SYS_gettid);
	thread->stack_low = stack_low;
	thread->stack_top = stack_top;
	thread->booked_window = process->window;
	thread_set_self_app(thread);
	set_round(1);
	atomic_store_explicit(&thread->state, THREAD_LIVE,
			      memory_order_release);
	error = timer_arm_sig(thread);
	count_sig(error ? RING_LOST_TIMER : RING_THREADS);
	/* A mask that was set before we were there, or by a system call. */
	if (handler_block_sig(0))
		thread->blocks_signal = true;
}

static bool claim_slot(uint32_t slot, uint32_t pid)
{
	struct ring_process *entry = &agent.ring->processes[slot];
	uint64_t claim = atomic_load(&entry->claim);
	uint32_t generation = (uint32_t)(claim >> 32) + 1;

	if ((uint32_t)claim != 0 ||
	    !atomic_compare_exchange_strong(&entry->claim, &claim,
					    (uint64_t)generation << 32 | pid))
		return false;
	atomic_store(&entry->leader_accounted_ns, 0);
	atomic_store(&entry->forks_begun, 0);
	atomic_store(&entry->forks_claimed, 0);
	atomic_store(&entry->agent_address, (uint64_t)(uintptr_t)claim_slot);
	atomic_store(&entry->claimed_boot_ns, clock_boot_sig());
	atomic_store(&entry->signal_number, (uint32_t)agent.signal_number);
	process->slot = slot;
	process->generation = generation;
	return true;
}

/* What was accounted of this very process before it called exec: its slot of
 * then lies on the way. A slot that a dead process of the same number has left
 * may say far more than our clock does, and is not believed. */
static int64_t accounted_before(uint32_t slot, uint32_t pid, int64_t most_ns)
{
	const struct ring_process *entry = &agent.ring->processes[slot];
	int64_t accounted = atomic_load(&entry->leader_accounted_ns);

	if ((uint32_t)atomic_load(&entry->claim) != pid || accounted < 0 ||
	    accounted > most_ns)
		return 0;
	return accounted;
}

/* How far from its home an earlier self may have found a free slot. */
#define SELF_PROBES 16u

/* Where an earlier self of the process has got. The exporter frees its slot a
 * moment after the exec, and then a slot nearer to home may be free. */
static int64_t accounted_by_self(uint32_t pid)
{
	/* Samples stand for whole periods: the account may be ahead of the
	 * clock by as much as one of them stands for. */
	int64_t ahead_ns =
		(int64_t)(ledger_most_periods_sig() * agent.period_ns);
	int64_t most_ns = thread_cpu_sig(pid) + ahead_ns;
	int64_t most = 0;

	for (uint32_t i = 0; i < SELF_PROBES; i++) {
		int64_t before = accounted_before((pid + i) % RING_PROCESSES,
						  pid, most_ns);

		if (before > most)
			most = before;
	}
	return most;
}

static int claim_any_slot(uint32_t pid)
{
	for (uint32_t i = 0; i < RING_PROCESSES; i++) {
		if (claim_slot((pid + i) % RING_PROCESSES, pid))
			return 0;
	}
	return -EUSERS;
}

static void seed_ids(void)
{
	uint64_t seed = 0;

	if (SYS3(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK) !=
	    sizeof(seed))
		seed = clock_monotonic_sig() ^ clock_boot_sig() << 20 ^
		       (uint64_t)SYS0(SYS_getpid) << 44 ^
		       (uint64_t)(uintptr_t)&seed;
	process->id_seed = seed;
}

static int process_begin_app(uint64_t stack_low, uint64_t stack_top)
{
	uint32_t pid = (uint32_t)SYS0(SYS_getpid);
	int64_t accounted_ns = accounted_by_self(pid);
	int error = claim_any_slot(pid);
	struct thread *thread = error ? 0 : thread_claim_sig();

	if (!thread)
		return -EUSERS;
	seed_ids();
	thread->accounted_ns = thread->switch_accounted_ns = accounted_ns;
	thread->switch_cpu_ns = accounted_ns;
	atomic_store(&process->pid, pid);
	thread_begin_app(thread, stack_low, stack_top);
	return 0;
}

static void book_at_exit(struct thread *thread, void *self)
{
	if (thread != self && thread->state == THREAD_LIVE)
		ledger_close_other_sig(thread);
}

void process_end_app(void)
{
	struct thread *self = thread_self_app();

	if (process->pid != (uint32_t)SYS0(SYS_getpid))
		return;
	thread_each_sig(book_at_exit, self);
	if (!self)
		return;
	scope_switch_app(self, self->span);
	ledger_book_app(self, true);
	ledger_leave_debt_sig();
}

static void before_fork(void)
{
	struct thread *self = thread_self_app();

	forking.active = agent.active;
	if (!forking.active)
		return;
	forking.stack_low = self ? self->stack_low : 0;
	forking.stack_top = self ? self->stack_top : 0;
	forking.blocks_signal = self && self->blocks_signal;
	forking.parent = &agent.ring->processes[process->slot];
	atomic_fetch_add(&forking.parent->forks_begun, 1);
	forking.signal_was_blocked = handler_block_sig(1);
	worker_hold_app();
}

static void after_fork_in_parent(void)
{
	if (!forking.active)
		return;
	worker_release_app();
	if (!forking.signal_was_blocked)
		handler_block_sig(0);
}

/* Without MADV_WIPEONFORK (Linux before 4.14) the child has its parent's
 * threads and spans, and stands aside. */
static void after_fork_in_child(void)
{
	if (!forking.active)
		return;
	thread_set_self_app(0);
	if (!agent.forks_wipe || agent.children_stand_aside ||
	    process_begin_app(forking.stack_low, forking.stack_top) != 0)
		agent.active = false;
	else
		thread_self_app()->blocks_signal = forking.blocks_signal;
	atomic_fetch_add(&forking.parent->forks_claimed, 1);
	if (!forking.signal_was_blocked)
		handler_block_sig(0);
}

int process_begin_main_app(void)
{
	uint64_t top = real_stack_end();

	return process_begin_app(top ? top - MAIN_STACK_BYTES : 0, top);
}

int lifecycle_install(void)
{
	if (real_pthread_key_create(&end_key, end_of_thread) != 0)
		return -EAGAIN;
	return real_register_atfork(before_fork, after_fork_in_parent,
				    after_fork_in_child);
}
