/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind of request cost, over the whole run.
 */
#ifndef EXPORTER_OPERATIONS_H
#define EXPORTER_OPERATIONS_H

#include <stdint.h>

#include "exporter/histogram.h"
#include "exporter/spans.h"

/* Further ones are added up under OPERATIONS_OTHER. */
#define OPERATIONS_MAX 100u
#define OPERATIONS_OTHER "other"
#define OPERATION_NAME_BYTES 96

struct operation {
	/* `METHOD path` with ids folded; printable ASCII, whatever the program
	 * sent. */
	char name[OPERATION_NAME_BYTES];
	uint64_t cpu_ns;
	struct histogram durations; /* ns; its count is that of requests */
};

struct operations {
	uint32_t count;
	struct operation all[OPERATIONS_MAX + 1];
};

/* A span that has ended. */
void operations_add(struct operations *operations,
		    const struct known_span *span);

/* The `wanted` dearest by CPU time, or fewer; returns how many. */
uint32_t operations_dearest(const struct operations *operations,
			    const struct operation **dearest, uint32_t wanted);

#endif
