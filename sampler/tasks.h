/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of the process as the kernel lists them. On the sampler thread.
 */
#ifndef SAMPLER_TASKS_H
#define SAMPLER_TASKS_H

#include <stdbool.h>

/* Gives a record and a timer to each thread that has none (made by raw clone,
 * by libc for itself, or before the agent was there) and takes them back from
 * those that have gone. */
void tasks_scan(void);

/* Whether nobody but the sampler thread is left, as the last scan saw it. The
 * process ends only once this thread ends, too. */
bool tasks_only_us(void);

/* The status with which the leader ended: the last thread's exit status is the
 * process's. */
int tasks_leader_status(void);

#endif
