/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes between any two instructions of a function, as a signal handler or
 * another thread may, but at each place in turn and not by luck.
 *
 *	for (unsigned n = 0; steps_interrupt(n, run, between);
 *	     n += STEPS_STRIDE)
 *		...check what came of it, and begin afresh...
 */
#ifndef TESTS_LIB_STEPS_H
#define TESTS_LIB_STEPS_H

#include <stdbool.h>

/* A sanitizer makes several instructions of one, and a step takes some ten
 * microseconds on a virtual machine. */
#ifdef __SANITIZE_ADDRESS__
#define STEPS_STRIDE 7u
#else
#define STEPS_STRIDE 1u
#endif

/* Calls run(), and between() once in it: after its n-th instruction. A string
 * instruction counts once for each of its rounds. Returns false when run() was
 * over before. Not for use in several threads. */
bool steps_interrupt(unsigned n, void (*run)(void), void (*between)(void));

/* Calls run() and returns how many instructions that took; some more or less
 * the next time. */
unsigned steps_count(void (*run)(void));

#endif
