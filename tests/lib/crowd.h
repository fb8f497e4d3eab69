/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and child processes of unit tests. What they run must not use CHECK,
 * which belongs to the main thread: they return what was found, or exit with
 * it.
 */
#ifndef TESTS_LIB_CROWD_H
#define TESTS_LIB_CROWD_H

#include <sys/types.h>

#define CROWD_MAX 16u

/* Runs `run` on so many threads, which start together, and waits for them.
 * Each gets its number. Returns the sum of what they return. */
long crowd_run(unsigned threads, long (*run)(unsigned number, void *context),
	       void *context);

/* Forks; the child runs and exits with what `run` returns (0 to 255). */
pid_t crowd_fork(int (*run)(void *context), void *context);

/* Waits for a child. Returns its exit status, or 256 + the signal that ended
 * it. */
int crowd_wait(pid_t child);

#endif
