/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels in which a tenant's blocks are kept, and their compaction. Uploads
 * come in as blocks of level 0; full levels are merged into one block of the
 * next. Newer uploads replace older ones of the same id.
 */
#ifndef TESTS_SERVERS_BLOCKSTORE_LEVELS_H
#define TESTS_SERVERS_BLOCKSTORE_LEVELS_H

#include "tests/servers/blockstore_block.h"

#define LEVELS 3
#define LEVEL_BLOCKS 4096

struct level {
	struct block *blocks[LEVEL_BLOCKS]; /* oldest first */
	uint32_t count;
};

/* All zeros is an empty one. The caller sees to it that one thread at a time
 * uses it. */
struct levels {
	struct level level[LEVELS];
};

/* Takes a block into level 0, which owns it then. Returns false when the level
 * has no room left. */
bool levels_store(struct levels *l, struct block *b);

/* The text of an upload, from the newest block that holds it, in memory of the
 * caller's; NULL when there is none. */
char *levels_load(const struct levels *l, const char *id, size_t *bytes);

/* How many blocks make a level full, in normal life and when everything that
 * can be merged is to be. */
extern const uint32_t levels_usual[LEVELS];
extern const uint32_t levels_least[LEVELS];

/* Merges the levels that hold at least so many blocks. Returns the number of
 * levels that were merged. A level whose merging lacks memory stays. */
unsigned levels_compact(struct levels *l, const uint32_t *full);

#endif
