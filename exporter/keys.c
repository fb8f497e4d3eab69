/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of numbers.
 * Runs on: the exporter's main thread.
 */
#include "exporter/keys.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#include <uthash.h>

struct key {
	uint32_t number;
	bool refused;
	UT_hash_handle hh;
	uint8_t bytes[];
};

bool keys_find(const struct keys *keys, const void *key, size_t key_bytes,
	       uint32_t *number)
{
	struct key *known;

	HASH_FIND(hh, keys->table, key, key_bytes, known);
	if (known)
		*number = known->number;
	return known != NULL;
}

bool keys_add(struct keys *keys, const void *key, size_t key_bytes,
	      uint32_t number)
{
	struct key *item = calloc(1, sizeof(*item) + key_bytes);

	if (!item)
		return false;
	item->number = number;
	memcpy(item->bytes, key, key_bytes);
	HASH_ADD_KEYPTR(hh, keys->table, item->bytes, key_bytes, item);
	if (!item->refused)
		return true;
	free(item);
	return false;
}

void keys_fini(struct keys *keys)
{
	struct key *item;
	struct key *next;

	HASH_ITER (hh, keys->table, item, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, keys->table, item);
		free(item);
	}
}
