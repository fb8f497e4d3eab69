/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain consumer of the ring.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/records.h"

#include <stdlib.h>
#include <string.h>

#include "preload/process.h"
#include "tests/lib/unit.h"

static uint8_t *bytes; /* as large as all blocks */
static size_t used;
static const struct record **list;
static size_t count, capacity;

static void add(const struct record *record)
{
	if (count == capacity) {
		capacity = capacity ? 2 * capacity : 4096;
		list = reallocarray(list, capacity, sizeof(*list));
		CHECK(list != NULL);
	}
	list[count++] = record;
}

static void find_records(size_t from)
{
	while (from < used) {
		const struct record *record =
			(const struct record *)(bytes + from);

		CHECK(used - from >= sizeof(*record));
		CHECK(record->bytes >= sizeof(*record));
		CHECK_EQ(record->bytes % 8, 0);
		CHECK(record->bytes <= used - from);
		add(record);
		from += record->bytes;
	}
}

static void take_block(struct ring_block *block)
{
	uint64_t nobody = 0;
	size_t from = used;
	uint32_t got;

	if (!atomic_load(&block->used) ||
	    !atomic_compare_exchange_strong(&block->owner, &nobody,
					    RING_OWNER_EXPORTER))
		return;
	got = atomic_load(&block->used);
	if (got <= sizeof(block->data)) {
		memcpy(bytes + used, block->data, got);
		used += got;
	}
	atomic_store(&block->used, 0);
	atomic_store(&block->owner, 0);
	CHECK(got <= sizeof(block->data));
	find_records(from);
}

/* Records of the same time keep their order in the block. */
static int compare(const void *left, const void *right)
{
	const struct record *a = *(const struct record *const *)left;
	const struct record *b = *(const struct record *const *)right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

size_t records_take(void)
{
	if (!bytes)
		bytes = malloc(sizeof(agent.ring->blocks));
	CHECK(bytes != NULL);
	used = count = 0;
	for (uint32_t i = 0; i < RING_BLOCKS; i++)
		take_block(&agent.ring->blocks[i]);
	if (count)
		qsort(list, count, sizeof(*list), compare);
	return count;
}

const struct record *records_at(size_t i)
{
	CHECK(i < count);
	return list[i];
}

size_t records_count(enum record_kind kind)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += list[i]->kind == kind;
	return found;
}

const void *records_get(enum record_kind kind, size_t i)
{
	for (size_t at = 0; at < count; at++) {
		if (list[at]->kind == kind && i-- == 0)
			return list[at];
	}
	unit_fail(__FILE__, __LINE__, "there is such a record");
}
