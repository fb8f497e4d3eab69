/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread records: what the agent knows of each thread that it samples.
 *
 * A thread finds its record through a thread-local pointer, the signal handler
 * through the cookie of the timer that fired (never through %fs, which a thread
 * made by raw clone may share with another). The records lie in one pool that
 * is never unmapped, so a late signal finds memory, and are wiped by fork.
 */
#ifndef PRELOAD_THREAD_H
#define PRELOAD_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/span.h"

#define THREAD_POOL_SIZE 65536u

enum thread_state {
	THREAD_FREE,
	THREAD_CLAIMED, /* being set up or torn down; not sampled */
	THREAD_LIVE
};

struct thread {
	_Atomic uint32_t state; /* enum thread_state */
	/* Written when the thread begins, before its timer exists. */
	_Atomic uint32_t tid;
	int32_t timer; /* kernel's timer id, -1 when there is none */
	/* The program believes that it blocks the signal that samples, see
	 * hooks/signal_mask.c. Inherited by threads and children. */
	bool blocks_signal;
	bool found;         /* by the sampler thread: no end will be told */
	uint64_t stack_low; /* bounds of its stack; 0 when unknown */
	uint64_t stack_top;
	/* A stack pointer whose bounds are wanted. Written by the handler of a
	 * found thread, answered by the sampler thread. */
	_Atomic uint64_t lost_stack;

	/* The span whose work the thread does, 0 for none. Written by this
	 * thread and by whoever ends the span; read by the handler. */
	_Atomic uint64_t span;
	int64_t span_cpu_ns; /* thread clock when it became current */

	/* The ledger (sampler/ledger.c). accounted_ns is the CPU time that
	 * samples and bookings stand for: written by the handler and by who
	 * books. The others belong to the thread itself. */
	_Atomic int64_t accounted_ns;
	_Atomic uint32_t booked_window;
	int64_t switch_cpu_ns;       /* thread clock at the last switch */
	int64_t switch_accounted_ns; /* accounted_ns then */
	int64_t owed_ns;             /* most unsampled CPU of one span... */
	struct span_context owed;    /* ...and that span */
	/* CPU time that others have booked for this thread, under no span.
	 * Written by them; and what it was when owed_ns was noted. */
	_Atomic int64_t taken_ns;
	int64_t owed_taken_ns;

	/* Requests that began on this thread and are open. Written by this
	 * thread and by whoever ends one. */
	_Atomic uint32_t open_requests;
	int span_fd; /* the connection of the current span */

	uint32_t block_hint; /* where the ring had room last */

	/* The thread's own start routine (preload/threads.c). */
	union {
		void *(*start)(void *);
		int (*start_c11)(void *);
	};
	void *argument;
};

/* Maps the pool. Returns 0 or -ENOMEM. Called by the constructor. */
int thread_pool_map(void);

/* A zeroed record in state THREAD_CLAIMED, or NULL when all are in use. */
struct thread *thread_claim_sig(void);

/* Gives a record back. Its timer is gone and no handler uses it. */
void thread_release_sig(struct thread *thread);

/* The record at a timer's cookie, or NULL when the cookie is not one of ours
 * or its thread is not live. */
struct thread *thread_from_cookie_sig(const void *cookie);

/* Whether the value is a cookie of ours at all: its thread may have ended. */
bool thread_is_cookie_sig(const void *cookie);

/* Calls visit for each record that is not free. */
void thread_each_sig(void (*visit)(struct thread *, void *), void *context);

/* The calling thread's record, NULL when it has none. */
struct thread *thread_self_app(void);
void thread_set_self_app(struct thread *thread);

#endif
