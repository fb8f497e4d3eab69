/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes records out of the ring. What it hands on is a private copy whose sizes
 * have been checked; the values in it are still anybody's.
 *
 * The ring keeps what was taken until the window that holds it is out: a
 * successor takes it again if we are killed before that.
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
	uint32_t taken[RING_BLOCKS]; /* bytes of each block */
	uint32_t kept;               /* blocks with such bytes */
};

/* More blocks than this are never kept from the producers. */
#define INTAKE_KEPT_MAX (RING_BLOCKS / 2)

/*
 * Takes a dead exporter's place, if there was one: what it delivered is passed
 * over, what it only took is taken again. A record may be what killed it: the
 * third exporter that comes before a window is out drops what was kept.
 */
void intake_begin(struct intake *intake);

/*
 * One pass over all blocks. Records come in an order that lets each be
 * understood: modules and begins of spans first, then samples, then ends; each
 * by time. Returns the number of records, or -ENOMEM: what did not fit
 * stays in the ring.
 */
long intake_pass(struct intake *intake);

/* Between two passes: notes what the window holds that is about to go out;
 * then, that it is out. An exporter that dies between the two has not delivered
 * anything. */
void intake_mark(struct intake *intake);
void intake_window_out(struct intake *intake);

void intake_fini(struct intake *intake);

#endif
