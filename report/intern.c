/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps byte strings once and numbers them.
 * Runs on: any thread of the spanprof command; a table has one user at a time.
 */
#include "report/intern.h"

#include <stdlib.h>
#include <string.h>

#include "report/idmap.h"
#include "report/mem.h"

#define CHUNK_BYTES ((size_t)1 << 20)

struct entry {
	const void *data;
	size_t bytes;
	uint32_t next; /* older entry with the same hash, or IDMAP_NONE */
};

struct chunk {
	struct chunk *older;
	size_t used, room;
	uint64_t data[];
};

struct intern {
	struct idmap by_hash;
	struct entry *entries;
	size_t count, capacity;
	struct chunk *chunks;
};

static struct chunk *add_chunk(struct intern *table, size_t bytes)
{
	size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct chunk *chunk = mem_zeroed(1, sizeof(*chunk) + room);

	chunk->room = room;
	chunk->older = table->chunks;
	table->chunks = chunk;
	return chunk;
}

static void *keep(struct intern *table, const void *data, size_t bytes)
{
	size_t padded = (bytes + 8) & ~(size_t)7; /* the NUL too */
	struct chunk *chunk = table->chunks;
	char *place;

	if (!chunk || chunk->room - chunk->used < padded)
		chunk = add_chunk(table, padded);
	place = (char *)chunk->data + chunk->used;
	chunk->used += padded;
	memcpy(place, data, bytes);
	return place;
}

static uint32_t find(const struct intern *table, uint32_t first,
		     const void *data, size_t bytes)
{
	while (first != IDMAP_NONE) {
		const struct entry *entry = &table->entries[first];

		if (entry->bytes == bytes &&
		    memcmp(entry->data, data, bytes) == 0)
			break;
		first = entry->next;
	}
	return first;
}

uint64_t intern_hash(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t hash = idmap_seed() ^ bytes, word;

	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * UINT64_C(0xa0761d6478bd642f);
		hash ^= hash >> 29;
	}
	word = 0;
	if (bytes)
		memcpy(&word, at, bytes);
	return (hash ^ word) * UINT64_C(0xe7037ed1a0b428db);
}

uint32_t intern_put(struct intern *table, const void *data, size_t bytes)
{
	uint32_t *newest = idmap_at(&table->by_hash, intern_hash(data, bytes));
	uint32_t number = find(table, *newest, data, bytes);

	if (number != IDMAP_NONE)
		return number;
	table->entries = mem_room(table->entries, &table->capacity,
				  table->count + 1, sizeof(*table->entries));
	number = (uint32_t)table->count++;
	table->entries[number] =
		(struct entry){keep(table, data, bytes), bytes, *newest};
	*newest = number;
	return number;
}

const void *intern_get(const struct intern *table, uint32_t number,
		       size_t *bytes)
{
	if (bytes)
		*bytes = table->entries[number].bytes;
	return table->entries[number].data;
}

uint32_t intern_count(const struct intern *table)
{
	return (uint32_t)table->count;
}

struct intern *intern_create(void)
{
	struct intern *table = mem_zeroed(1, sizeof(*table));

	intern_put(table, "", 0);
	return table;
}

void intern_destroy(struct intern *table)
{
	if (!table)
		return;
	while (table->chunks) {
		struct chunk *older = table->chunks->older;

		free(table->chunks);
		table->chunks = older;
	}
	idmap_fini(&table->by_hash);
	free(table->entries);
	free(table);
}
