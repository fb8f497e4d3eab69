/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing records into the shared ring (sampler/layout.h), from anywhere.
 */
#ifndef SAMPLER_RING_H
#define SAMPLER_RING_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* A block that is held while one record is written. */
struct ring_grip {
	struct ring_block *block;
	uint32_t used; /* before this record */
};

/*
 * Takes a block with room for a record of up to `bytes` and returns the place,
 * with the head's process, generation, tid and time filled in. `*hint` is the
 * caller's memory of where it wrote last; start with anything. Returns NULL,
 * and counts the loss, when every block is in use or full. Never waits.
 */
void *ring_open_sig(struct ring_grip *grip, uint32_t *hint, uint32_t tid,
		    size_t bytes);

/* Publishes the record, whose final size is `bytes` (at most what was asked
 * for; it is rounded up to 8), and gives the block back. */
void ring_close_sig(const struct ring_grip *grip, enum record_kind kind,
		    size_t bytes);

/* CLOCK_MONOTONIC and CLOCK_BOOTTIME in nanoseconds, by system call. */
uint64_t clock_monotonic_sig(void);
uint64_t clock_boot_sig(void);

#endif
