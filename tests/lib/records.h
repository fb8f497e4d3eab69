/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the test's ring, for the tests of those who write into it. Made from
 * sampler/layout.h alone, so that the exporter's intake is no part of what is
 * tested.
 */
#ifndef TESTS_LIB_RECORDS_H
#define TESTS_LIB_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

/* Takes what was published out of all blocks of agent.ring that nobody holds,
 * in the order of time. Fails the test when a block is not full of whole
 * records. Returns how many there are; they live until the next call. */
size_t records_take(void);

/* Of those taken: how many there are of a kind, and the i-th of them. */
size_t records_count(enum record_kind kind);
const void *records_get(enum record_kind kind, size_t i);

/* The i-th of all. */
const struct record *records_at(size_t i);

#endif
