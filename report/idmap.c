/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing hash map with open addressing, from 64-bit keys to 32-bit values.
 * Runs on: any thread of the spanprof command; a map has one user at a time.
 */
#include "report/idmap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "report/mem.h"

#define FIRST_PLACES 64

static uint64_t seed;

static void draw_seed(void)
{
	/* Without random bytes the map still works, it is just guessable. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t idmap_seed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, draw_seed);
	return seed;
}

static uint64_t mix(uint64_t key)
{
	key ^= seed;
	key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
	key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

/* The entry of `key`, or the free one where it would go. */
static struct idmap_entry *entry_of(const struct idmap *map, uint64_t key)
{
	size_t place = mix(key) & (map->places - 1);

	while (map->entries[place].value != IDMAP_NONE &&
	       map->entries[place].key != key)
		place = (place + 1) & (map->places - 1);
	return &map->entries[place];
}

static void grow(struct idmap *map)
{
	struct idmap bigger = {.used = map->used};

	idmap_seed();
	bigger.places = map->places ? map->places * 2 : FIRST_PLACES;
	bigger.entries = mem_zeroed(bigger.places, sizeof(*bigger.entries));
	for (size_t i = 0; i < bigger.places; i++)
		bigger.entries[i].value = IDMAP_NONE;
	for (size_t i = 0; i < map->places; i++)
		if (map->entries[i].value != IDMAP_NONE)
			*entry_of(&bigger, map->entries[i].key) =
				map->entries[i];
	free(map->entries);
	*map = bigger;
}

void idmap_fini(struct idmap *map)
{
	free(map->entries);
	*map = (struct idmap){0};
}

uint32_t idmap_get(const struct idmap *map, uint64_t key)
{
	return map->places ? entry_of(map, key)->value : IDMAP_NONE;
}

uint32_t *idmap_at(struct idmap *map, uint64_t key)
{
	struct idmap_entry *entry;

	if ((map->used + 1) * 2 > map->places)
		grow(map);
	entry = entry_of(map, key);
	if (entry->value == IDMAP_NONE) {
		entry->key = key;
		map->used++;
	}
	return &entry->value;
}
