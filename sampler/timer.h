/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU timers: one a thread, on that thread's own CPU clock.
 */
#ifndef SAMPLER_TIMER_H
#define SAMPLER_TIMER_H

#include <stdint.h>

#include "preload/thread.h"

/* Notes the length of the kernel's tick in `agent`. Called by the
 * constructor. */
void timer_measure_tick(void);

/* Starts the thread's timer: the first expiry at a random part of a period, so
 * that short threads are seen as often as they deserve. thread->tid is set.
 * Returns 0 or a negative errno (EAGAIN: RLIMIT_SIGPENDING is used up). */
int timer_arm_sig(struct thread *thread);

/* Deletes the timer, if there is one. A signal that is on its way may still
 * arrive. */
void timer_disarm_sig(struct thread *thread);

/* CPU time of a thread of this process, in ns; -1 when it has gone. */
int64_t thread_cpu_sig(uint32_t tid);

#endif
