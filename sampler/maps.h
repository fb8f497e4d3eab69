/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules mapped into the process. On the sampler thread.
 */
#ifndef SAMPLER_MAPS_H
#define SAMPLER_MAPS_H

#include <stdint.h>

/* Reads /proc/thread-self/maps and, when it differs from what was told last,
 * writes the list of modules into the ring (RECORD_MODULE, RECORD_MODULES). */
void maps_tell(void);

/* The bounds of the mapping that holds the address; zeros when none does. */
void maps_find(uint64_t address, uint64_t *start, uint64_t *end);

#endif
