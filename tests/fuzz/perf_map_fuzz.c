/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads damaged perf maps in pieces: whatever the pieces, the names are the
 * same.
 */
#include "exporter/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_in_pieces(struct perf_map *map, const char *bytes, size_t size,
			   size_t piece)
{
	size_t from = 0, to = 0;

	while (to < size) {
		to = size - to < piece ? size : to + piece;
		from += perf_map_take(map, bytes + from, to - from);
	}
}

static void copy_name(struct perf_map *map, uint64_t address, char *to)
{
	const char *name = perf_map_find(map, address);

	strcpy(to, name ? name : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char first[PERF_MAP_NAME_BYTES + 1], second[sizeof(first)];
	struct perf_map *whole = perf_map_create(0);
	struct perf_map *pieces = perf_map_create(0);

	if (!whole || !pieces)
		abort();
	take_in_pieces(whole, (const char *)data, size, size);
	take_in_pieces(pieces, (const char *)data, size, 7);
	for (uint64_t i = 0; i < 64; i++) {
		copy_name(whole, i * 0x10, first);
		copy_name(pieces, i * 0x10, second);
		if (strcmp(first, second) != 0)
			abort();
	}
	perf_map_destroy(whole);
	perf_map_destroy(pieces);
	return 0;
}
