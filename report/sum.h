/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of numbers from files: they stop at the largest value, never wrap. */
#ifndef REPORT_SUM_H
#define REPORT_SUM_H

#include <stdint.h>

static inline uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline void sum_add(uint64_t *total, uint64_t more)
{
	*total = sum_of(*total, more);
}

/* a - b, or 0. */
static inline uint64_t sum_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Orders for qsort: the larger number first. */
static inline int sum_compare_down(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

#endif
