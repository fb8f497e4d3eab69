/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that use up a known CPU time under a known name: burn_00 to
 * burn_63 for requests, housekeeping() for what a worker does between them.
 */
#ifndef TESTS_SERVERS_BURN_FUNCTIONS_H
#define TESTS_SERVERS_BURN_FUNCTIONS_H

#include <stdint.h>

#define BURN_FUNCTIONS 64

/* CPU time of the calling thread so far, in ns. */
uint64_t thread_cpu_ns(void);

/* The number in "burn_NN", or -1 for any other name. */
int burn_find(const char *name);

/*
 * Calls burn_NN, which computes until the calling thread has used at least
 * `cpu_ns` of CPU time in it. Returns what the thread used in it, in ns.
 */
uint64_t burn_run(int number, uint64_t cpu_ns);

/* The same in a function named housekeeping. */
uint64_t housekeeping(uint64_t cpu_ns);

#endif
