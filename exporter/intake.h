/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes records out of the ring. What it hands on is a private copy whose sizes
 * have been checked; the values in it are still anybody's.
 */
#ifndef EXPORTER_INTAKE_H
#define EXPORTER_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

struct intake {
	struct ring *ring;
	/* Tells whether the thread behind an owner token is gone for good. */
	bool (*is_dead)(void *context, uint64_t owner);
	/* Takes one record; it lives during the call. */
	void (*take)(void *context, const struct record *record);
	void *context;
	uint64_t malformed; /* records refused */

	/* Private. */
	uint8_t *bytes;
	size_t used, capacity;
	size_t *records; /* offsets in bytes */
	size_t record_count, record_capacity;
	uint64_t stuck[RING_BLOCKS]; /* owners seen in the last pass */
};

/*
 * One pass over all blocks. Records come in an order that lets each be
 * understood: modules and begins of spans first, then samples, then ends; each
 * by time. Returns the number of records, or -ENOMEM: what did not fit
 * stays in the ring.
 */
long intake_pass(struct intake *intake);

void intake_fini(struct intake *intake);

#endif
