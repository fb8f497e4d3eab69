/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded memory that is given back at once.
 * Runs on: any thread of the spanprof command; an arena has one user at a time.
 */
#include "report/arena.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)1 << 20)

struct arena_chunk {
	struct arena_chunk *older;
	size_t used, room;
	_Alignas(16) unsigned char data[];
};

static struct arena_chunk *add_chunk(struct arena *arena, size_t bytes)
{
	size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct arena_chunk *chunk;

	if (room > arena->limit_bytes - arena->total_bytes)
		return NULL;
	chunk = malloc(sizeof(*chunk) + room);
	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){.older = arena->chunks, .room = room};
	arena->total_bytes += room;
	arena->chunks = chunk;
	return chunk;
}

void arena_init(struct arena *arena, size_t limit_bytes)
{
	*arena = (struct arena){.limit_bytes = limit_bytes};
}

void arena_fini(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *older = arena->chunks->older;

		free(arena->chunks);
		arena->chunks = older;
	}
}

void *arena_take(struct arena *arena, size_t bytes)
{
	struct arena_chunk *chunk = arena->chunks;
	void *memory;

	if (bytes > arena->limit_bytes) {
		arena->refused = true;
		return NULL;
	}
	bytes = (bytes + 15) & ~(size_t)15;
	if (!chunk || chunk->room - chunk->used < bytes)
		chunk = add_chunk(arena, bytes);
	if (!chunk) {
		arena->refused = true;
		return NULL;
	}
	memory = chunk->data + chunk->used;
	chunk->used += bytes;
	return memory;
}
