/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow.
 */
#ifndef EXPORTER_ARRAY_H
#define EXPORTER_ARRAY_H

#include <stddef.h>

/*
 * Room for at least `wanted` elements. `*capacity` is the room there is now and
 * is updated; it doubles. Returns the array, perhaps moved, for the caller to
 * free; without memory NULL, and the old one stays. New room isn't cleared.
 */
void *array_room(void *array, size_t *capacity, size_t wanted,
		 size_t element_bytes);

#endif
