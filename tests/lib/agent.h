/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets up the program's side for a unit test: `agent` and `process` as
 * preload/init.c does, with a ring of the test's own and without an exporter.
 */
#ifndef TESTS_LIB_AGENT_H
#define TESTS_LIB_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/process.h"
#include "preload/thread.h"

/* What agent_begin puts into `process`. */
#define AGENT_SLOT 3u
#define AGENT_GENERATION 5u

/* Begins afresh: ring, tables and process are new and empty, 100 samples a
 * second are due, no thread has a record, and no sampler thread is made. */
void agent_begin(void);

/* The same, but the process begins as in a program: it claims its slot, the
 * calling thread has a timer, fork and the end of threads are followed. */
void agent_begin_alive(void);

/* Lets the sampler thread be made; ends it and keeps it from coming back. */
void agent_let_worker(void);
void agent_end_worker(void);

/* After fork, in the child of a process that isn't alive: it becomes a process
 * of the ring under another slot. */
void agent_begin_child(uint32_t slot);

/* Gives the calling thread a record, live and without a timer. */
struct thread *agent_enter(void);

/* Takes it back. */
void agent_leave(void);

/* Gives the calling thread a record and a timer, as preload/threads.c does.
 * Only in a process that is alive: the record goes when the thread ends. */
struct thread *agent_enter_alive(void);

/* What producers counted in the test's ring. */
uint64_t agent_count(enum ring_counter counter);

/* CPU time of the calling thread. */
int64_t agent_cpu_ns(void);

/* Burns so much of it. */
void agent_burn_ns(int64_t ns);

/*
 * Whether the calling thread, and those that it makes, run before all others,
 * as far as the user may ask for that. Not for more than a second. Kernels
 * notice the expiry of CPU timers at ticks alone, and on a crowded processor
 * ticks may miss a thread for a second and more.
 */
void agent_run_first(bool first);

#endif
