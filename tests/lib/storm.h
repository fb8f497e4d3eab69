/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal storm: interrupts a thread some ten thousand times a second, at
 * whatever it does, and runs a function there.
 */
#ifndef TESTS_LIB_STORM_H
#define TESTS_LIB_STORM_H

#include <stdint.h>
#include <time.h>

struct storm {
	timer_t timer;
};

/* Over the calling thread. `strike` runs in the signal handler; it is the same
 * for all storms at a time. Returns 0 or a negative errno. */
int storm_begin(struct storm *storm, void (*strike)(void));
void storm_end(struct storm *storm);

/* How often anything was struck since the program began. */
uint64_t storm_strikes(void);

#endif
