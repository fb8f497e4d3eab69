/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes for tests what the sampler makes for the exporter, in the test's own
 * process: a sample with the registers and the stack of the calling thread, and
 * the records of its modules. Written from scratch on libc alone, so that the
 * sampler's own code is no part of what is tested.
 */
#ifndef TESTS_LIB_SNAPSHOT_H
#define TESTS_LIB_SNAPSHOT_H

#include <stdint.h>
#include <ucontext.h>

#include "exporter/address_map.h"
#include "sampler/layout.h"

union snapshot {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + SAMPLE_STACK_MAX_BYTES];
};

/* Looks up where the calling thread's stack ends; allocates. */
void snapshot_prepare(void);

/* Registers and used stack at a point that a signal interrupted. The copy
 * begins `below_bytes` under the stack pointer. Fit for handlers, once the
 * thread has called snapshot_prepare. */
void snapshot_fill(union snapshot *s, const ucontext_t *context,
		   uint64_t below_bytes);

/* The same at a point inside of this function. */
void snapshot_take(union snapshot *s);

/* Calls `take` with a record of each module of this process, which lives as
 * long as the call. Returns how many there were. */
uint32_t snapshot_modules(uint32_t list,
			  void (*take)(const struct record_module *, void *),
			  void *arg);

/* Gives a map the modules of this process. What address_map_end says. */
int snapshot_map(struct address_map *map, uint32_t list);

#endif
