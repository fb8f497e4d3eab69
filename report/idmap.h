/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from 64-bit keys to 32-bit values that only grows. The hash is
 * seeded once a process, because keys come from files of strangers.
 */
#ifndef REPORT_IDMAP_H
#define REPORT_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_entry {
	uint64_t key;
	uint32_t value; /* IDMAP_NONE: the place is free */
};

struct idmap {
	struct idmap_entry *entries;
	size_t places; /* a power of two, or 0 */
	size_t used;
};

/* A zeroed struct is an empty map; idmap_fini frees what it holds. */
void idmap_fini(struct idmap *map);

/* The value of `key`, or IDMAP_NONE. */
uint32_t idmap_get(const struct idmap *map, uint64_t key);

/*
 * The place of the value of `key`, added as IDMAP_NONE when it is new; then the
 * caller must store another value at once. Valid until the next call.
 */
uint32_t *idmap_at(struct idmap *map, uint64_t key);

/* A seed for hashes, the same during the life of the process. */
uint64_t idmap_seed(void);

#endif
