/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts by logarithmic buckets.
 * Runs on: the exporter's main thread.
 */
#include "exporter/histogram.h"

/* Values below 8 have buckets of their own. From there on a bucket is one of
 * the eight parts between two powers of two. */
static unsigned bucket_of(uint64_t value)
{
	unsigned power;

	if (value < 8)
		return (unsigned)value;
	power = 63 - (unsigned)__builtin_clzll(value);
	return (power - 2) * 8 + (unsigned)(value >> (power - 3) & 7);
}

/* The middle of what falls into a bucket. */
static uint64_t value_of(unsigned bucket)
{
	unsigned power = bucket / 8 + 2;
	uint64_t part;

	if (bucket < 8)
		return bucket;
	part = UINT64_C(1) << (power - 3);
	return (8 + bucket % 8) * part + part / 2;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	if (!histogram->count++ || value < histogram->least)
		histogram->least = value;
	if (value > histogram->most)
		histogram->most = value;
	histogram->buckets[bucket_of(value)]++;
}

uint64_t histogram_percentile(const struct histogram *histogram,
			      unsigned percent)
{
	uint64_t rank = (histogram->count * percent + 99) / 100;
	uint64_t passed = 0;
	uint64_t value;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		passed += histogram->buckets[i];
		if (passed < rank || passed == 0)
			continue;
		value = value_of(i);
		if (value < histogram->least)
			return histogram->least;
		return value < histogram->most ? value : histogram->most;
	}
	return 0;
}
