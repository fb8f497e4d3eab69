/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent knows about the process it lives in.
 *
 * Two parts. `agent` is set by the constructor and, but for standing aside,
 * const from then on; forked children inherit it. `process` lives in memory
 * that the kernel wipes in a forked child (MADV_WIPEONFORK, Linux 4.14), so
 * that whatever kind of fork made the child, it begins with process->pid == 0
 * and nothing of its parent's.
 */
#ifndef PRELOAD_PROCESS_H
#define PRELOAD_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/config.h"
#include "sampler/layout.h"

struct agent {
	bool active;     /* false: stand aside, every hook passes through */
	bool forks_wipe; /* the kernel wipes `process` in forked children */
	/* Forked children would be numbered in another pid namespace. */
	bool children_stand_aside;
	/* A seccomp filter of the program's need not expect the sampler
	 * thread's system calls. */
	bool sampler_thread_unwelcome;
	struct ring *ring; /* mapped shared; NULL unless active */
	int signal_number; /* the real-time signal that samples */
	uint64_t period_ns;
	uint64_t tick_ns; /* how often the kernel looks at CPU timers */
	struct config config;
};

/* States of the sampler thread, see sampler/worker.c. */
enum worker_state {
	WORKER_STOPPED,
	WORKER_STARTING,
	WORKER_RUNNING,
	WORKER_STOPPING
};

struct process {
	/* 0: this process has not begun yet. Written by process_begin, read
	 * everywhere. */
	_Atomic uint32_t pid;
	uint32_t slot;       /* in ring->processes */
	uint32_t generation; /* of the slot */
	uint64_t id_seed;
	_Atomic uint64_t id_counter;
	/* CPU time that samples claimed beyond their thread's clock; taken
	 * from the next time that would be booked as unsampled. Written by
	 * every thread, see sampler/ledger.c. */
	_Atomic int64_t debt_ns;
	/* Counts the windows. Written by the sampler thread, read by all. */
	_Atomic uint32_t window;
	/* Grows with each sample, so that an idle process is left in peace.
	 * Written in the handler, read by the sampler thread. */
	_Atomic uint32_t activity;
	/* Threads that pthread_create was asked for, and those of them that
	 * have a record (or failed). Written by the program's threads. */
	_Atomic uint32_t threads_created;
	_Atomic uint32_t threads_begun;

	/* The sampler thread: its state, how many callers want it stopped, the
	 * futex that tells it to stop, its thread id (cleared by the kernel
	 * when it has gone). */
	_Atomic uint32_t worker_state;
	_Atomic uint32_t worker_holds;
	_Atomic uint32_t worker_stop;
	_Atomic uint32_t worker_tid;
	_Atomic uint32_t worker_refused; /* it cannot be made here */
};

extern struct agent agent;
extern struct process *process;

/* Maps the memory of `process` and of everything else that is private to a
 * process. Called once, by the constructor. Returns 0 or a negative errno. */
int process_map(void);

/* Anonymous memory, zeroed, untouched until it is used. `wiped`: forked
 * children see zeros. Never unmapped: it is needed until the very end. NULL
 * when there is none. */
void *process_memory(uint64_t bytes, bool wiped);

/* A number that no other span of this process and, but for a chance of 2^-64,
 * none of any other has. Never 0. */
uint64_t process_unique_id_sig(void);

static inline void count_sig(enum ring_counter counter)
{
	atomic_fetch_add_explicit(&agent.ring->header.counters[counter], 1,
				  memory_order_relaxed);
}

#endif
