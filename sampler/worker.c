/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, stops and is the sampler thread.
 * Runs on: worker_run and below on the sampler thread; the rest on the
 * program's threads and in the handler. Raw system calls only.
 */
#include "sampler/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/ledger.h"
#include "sampler/maps.h"
#include "sampler/ring.h"
#include "sampler/tasks.h"

#define STACK_BYTES (64u << 10)
#define GUARD_BYTES 4096u
#define TICK_NS 100000000
#define MODULES_EVERY_NS UINT64_C(1000000000)

/* close_range(2), Linux 5.9; the flag makes the table ours first. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE_TABLE 2

/* What %fs of the thread points to: a block that is nobody's. gdb reads words
 * 0 and 2, which hold its own address in a real one. */
static uint64_t thread_block[16];
/* Kept from start to start. Written under WORKER_STARTING. */
static void *stack;

static long futex_sig(_Atomic uint32_t *word, int operation, uint32_t value,
		      const struct timespec *timeout)
{
	return SYS4(SYS_futex, word, operation, value, timeout);
}

static bool move_state(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&process->worker_state, &from,
					      to);
}

/* ---- on the sampler thread ---- */

static bool told_to_stop(void)
{
	struct timespec tick = {0, TICK_NS};

	futex_sig(&process->worker_stop, FUTEX_WAIT_PRIVATE, 0, &tick);
	return atomic_load(&process->worker_stop) != 0;
}

static void book_stale(struct thread *thread, void *unused)
{
	uint32_t window = atomic_load(&process->window);
	uint32_t booked = atomic_load_explicit(&thread->booked_window,
					       memory_order_relaxed);

	(void)unused;
	if (thread->state != THREAD_LIVE || window - booked < 2)
		return;
	ledger_book_other_sig(thread);
	atomic_store_explicit(&thread->booked_window, window - 1,
			      memory_order_relaxed);
}

struct rounds {
	uint64_t next_window_ns;
	uint64_t next_modules_ns;
	uint64_t next_tasks_ns;
	uint32_t activity;
};

static void close_window(struct rounds *rounds, uint64_t now_ns)
{
	rounds->next_window_ns =
		now_ns + agent.config.interval_ms * UINT64_C(1000000);
	atomic_fetch_add(&process->window, 1);
	thread_each_sig(book_stale, 0);
}

/* Each piece of work says when to do it next: never more than 0.5 % of the
 * time, however large the process is. */
static uint64_t next_time(uint64_t began_ns, uint64_t at_least_ns)
{
	uint64_t now_ns = clock_monotonic_sig();
	uint64_t rest_ns = (now_ns - began_ns) * 200;

	return now_ns + (rest_ns > at_least_ns ? rest_ns : at_least_ns);
}

static void one_round(struct rounds *rounds)
{
	uint64_t now_ns = clock_monotonic_sig();
	uint32_t activity = atomic_load(&process->activity);

	if (now_ns >= rounds->next_tasks_ns) {
		tasks_scan();
		rounds->next_tasks_ns = next_time(now_ns, TICK_NS / 2);
	}
	if (now_ns >= rounds->next_modules_ns &&
	    (activity != rounds->activity || !rounds->next_modules_ns)) {
		rounds->activity = activity;
		maps_tell();
		rounds->next_modules_ns = next_time(now_ns, MODULES_EVERY_NS);
	}
	if (now_ns >= rounds->next_window_ns)
		close_window(rounds, now_ns);
}

/* The thread's descriptors become its own and empty, so that what the program
 * closes is closed; its folder is its own, so that the program's can be
 * unmounted. It inherits the program's real-time priority: dropped. */
static bool settle_in(void)
{
	static const char name[] = "spanprof";
	struct sched_param normal = {0};

	if (SYS3(SYS_close_range, 0, ~0u, UNSHARE_TABLE) != 0)
		return false;
	SYS1(SYS_chdir, "/");
	SYS5(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
	SYS3(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal);
	return true;
}

static void worker_run(void *unused)
{
	struct rounds rounds = {0, 0, 0, 0};

	(void)unused;
	if (!settle_in()) {
		atomic_store(&process->worker_refused, 1);
		count_sig(RING_NO_SAMPLER_THREAD);
		return;
	}
	rounds.next_window_ns = clock_monotonic_sig() +
				agent.config.interval_ms * UINT64_C(1000000);
	do
		one_round(&rounds);
	while (!told_to_stop() && !tasks_only_us());
	if (tasks_only_us())
		SYS1(SYS_exit, tasks_leader_status());
}

/* ---- on the program's threads ---- */

static bool map_stack(void)
{
	long at;

	if (stack)
		return true;
	at = SYS6(SYS_mmap, 0, STACK_BYTES + GUARD_BYTES,
		  PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0 && at > -4096)
		return false;
	SYS3(SYS_mprotect, at, GUARD_BYTES, PROT_NONE);
	SYS3(SYS_madvise, at, STACK_BYTES + GUARD_BYTES, MADV_DONTDUMP);
	stack = (void *)at;
	return true;
}

/* With every signal blocked, which the thread inherits: none of the program's
 * signals may be delivered to it. */
static long clone_worker(void)
{
	struct arch_clone how = {
		.flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FILES |
			 CLONE_SETTLS | CLONE_PARENT_SETTID |
			 CLONE_CHILD_CLEARTID,
		.stack_top = (char *)stack + GUARD_BYTES + STACK_BYTES,
		.tid = &process->worker_tid,
		.tls = thread_block,
	};
	uint64_t all = UINT64_MAX;
	uint64_t before = 0;
	long tid;

	thread_block[0] = thread_block[2] = (uint64_t)(uintptr_t)thread_block;
	SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, 8);
	tid = arch_clone_thread(&how, worker_run, 0);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, 8);
	return tid;
}

static bool may_start(void)
{
	return atomic_load(&process->worker_holds) == 0 &&
	       !atomic_load(&process->worker_refused) &&
	       !agent.sampler_thread_unwelcome;
}

static void start_sig(void)
{
	long tid = -EAGAIN;

	if (!may_start() || !move_state(WORKER_STOPPED, WORKER_STARTING))
		return;
	/* A hold that came meanwhile waits until we leave STARTING. */
	if (may_start() && map_stack()) {
		atomic_store(&process->worker_stop, 0);
		tid = clone_worker();
	}
	atomic_store(&process->worker_state,
		     tid > 0 ? WORKER_RUNNING : WORKER_STOPPED);
	if (tid <= 0 && may_start()) {
		atomic_store(&process->worker_refused, 1);
		count_sig(RING_NO_SAMPLER_THREAD);
	}
}

/* The kernel clears worker_tid, and wakes its shared futex, a moment before the
 * task is gone; unshare(2) still fails in that moment. Only ESRCH is the
 * end. */
static void wait_until_gone(uint32_t tid)
{
	for (;;) {
		uint32_t seen = atomic_load(&process->worker_tid);

		if (seen == 0)
			break;
		futex_sig(&process->worker_tid, FUTEX_WAIT, seen, 0);
	}
	while (SYS3(SYS_tgkill, process->pid, tid, 0) != -ESRCH)
		SYS0(SYS_sched_yield);
}

static void stop(void)
{
	uint32_t tid = atomic_load(&process->worker_tid);

	atomic_store(&process->worker_stop, 1);
	futex_sig(&process->worker_stop, FUTEX_WAKE_PRIVATE, 1, 0);
	if (tid)
		wait_until_gone(tid);
	atomic_store(&process->worker_state, WORKER_STOPPED);
}

void worker_wanted_sig(void)
{
	uint32_t state = atomic_load_explicit(&process->worker_state,
					      memory_order_relaxed);

	/* It left by itself: see tasks_only_us. */
	if (state == WORKER_RUNNING && atomic_load(&process->worker_tid) == 0)
		move_state(WORKER_RUNNING, WORKER_STOPPED);
	else if (state == WORKER_STOPPED)
		start_sig();
}

static void await_stopped(void)
{
	for (;;) {
		uint32_t state = atomic_load(&process->worker_state);

		if (state == WORKER_STOPPED)
			return;
		if (state == WORKER_RUNNING &&
		    move_state(WORKER_RUNNING, WORKER_STOPPING)) {
			stop();
			return;
		}
		SYS0(SYS_sched_yield);
	}
}

/* A signal handler of the program's that forks in the midst of this would wait
 * for itself. */
void worker_hold_app(void)
{
	uint64_t all = UINT64_MAX;
	uint64_t before = 0;

	SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, 8);
	atomic_fetch_add(&process->worker_holds, 1);
	await_stopped();
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, 8);
}

void worker_release_app(void)
{
	atomic_fetch_sub(&process->worker_holds, 1);
}
