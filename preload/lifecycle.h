/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a process and of its threads, as the agent follows it.
 */
#ifndef PRELOAD_LIFECYCLE_H
#define PRELOAD_LIFECYCLE_H

#include "preload/thread.h"

/* Takes a slot in the ring and samples the calling thread, the main one. In
 * the constructor; forked children begin by themselves. Returns 0, or -EUSERS
 * when all slots are taken. */
int process_begin_main_app(void);

/* Books what is left; in the library's destructor. */
void process_end_app(void);

/* Registers the fork handlers and the key whose destructor ends threads.
 * Returns 0 or a negative errno. */
int lifecycle_install(void);

/* Starts to sample the calling thread under this claimed record, which becomes
 * its own. A stack pointer between the bounds is on the thread's stack, and all
 * from there to stack_top is readable. */
void thread_begin_app(struct thread *thread, uint64_t stack_low,
		      uint64_t stack_top);

#endif
