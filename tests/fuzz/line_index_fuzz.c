/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks addresses up in indexes that a hostile process handed over, as far as
 * they are not refused.
 */
#include "exporter/line_index.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES 8u

static void look_up(const struct line_index *index, uint64_t vaddr,
		    uint32_t capacity)
{
	struct line_frame frames[FRAMES];
	uint32_t count = line_index_find(index, vaddr, frames, capacity);
	size_t bytes = 0;

	if (count > capacity)
		abort();
	for (uint32_t i = 0; i < count; i++)
		bytes += strlen(frames[i].name) + strlen(frames[i].file);
	if (bytes > (uint64_t)count * 2 * index->text_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned, and as large as it is. */
	struct line_index *index = malloc(size ? size : 1);

	if (!index)
		return 0;
	memcpy(index, data, size);
	if (line_index_check(index, size))
		for (uint32_t i = 0; i < 64; i++) {
			look_up(index, index->base + i, FRAMES);
			look_up(index, index->base + (i << 26), 1);
		}
	free(index);
	return 0;
}
