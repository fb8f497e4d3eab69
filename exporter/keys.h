/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers by key, where a key is any bytes.
 */
#ifndef EXPORTER_KEYS_H
#define EXPORTER_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of zeros it is empty. */
struct keys {
	struct key *table;
};

bool keys_find(const struct keys *keys, const void *key, size_t key_bytes,
	       uint32_t *number);

/* For a key that isn't there yet. False without memory. */
bool keys_add(struct keys *keys, const void *key, size_t key_bytes,
	      uint32_t number);

void keys_fini(struct keys *keys);

#endif
