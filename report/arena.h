/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is taken piece by piece and given back at once, with a bound:
 * a hostile message can ask for fifty times its own length.
 */
#ifndef REPORT_ARENA_H
#define REPORT_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	size_t total_bytes, limit_bytes;
	bool refused; /* a request went beyond the limit */
};

void arena_init(struct arena *arena, size_t limit_bytes);
void arena_fini(struct arena *arena);

/* Memory aligned to 16, not cleared, or NULL beyond the limit. It lives until
 * arena_fini. */
void *arena_take(struct arena *arena, size_t bytes);

#endif
