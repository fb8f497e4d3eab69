/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grows arrays.
 * Runs on: the exporter's main thread; the process that reads DWARF.
 */
#include "exporter/array.h"

#include <stdint.h>
#include <stdlib.h>

#define CAPACITY_FIRST 64u

void *array_room(void *array, size_t *capacity, size_t wanted,
		 size_t element_bytes)
{
	size_t more = *capacity ? *capacity : CAPACITY_FIRST;
	void *moved;

	if (wanted <= *capacity)
		return array;
	if (wanted > SIZE_MAX / 2)
		return NULL;
	while (more < wanted)
		more *= 2;
	moved = reallocarray(array, more, element_bytes);
	if (moved)
		*capacity = more;
	return moved;
}
