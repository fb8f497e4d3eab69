/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How durations are spread, in little memory: eight buckets to each doubling.
 */
#ifndef EXPORTER_HISTOGRAM_H
#define EXPORTER_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 496u

/* Empty when it is zeroed. */
struct histogram {
	uint64_t count;
	uint64_t least;
	uint64_t most;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The value below or at which so many percent are (nearest rank), at most 1/16
 * beside it; 0 of nothing. */
uint64_t histogram_percentile(const struct histogram *histogram,
			      unsigned percent);

#endif
