/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forges records.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/forge.h"

#include <string.h>

#include "preload/process.h"
#include "tests/lib/unit.h"

static uint32_t size_of(enum record_kind kind)
{
	switch (kind) {
	case RECORD_SAMPLE:
		return sizeof(struct record_sample);
	case RECORD_UNSAMPLED:
		return sizeof(struct record_unsampled);
	case RECORD_SPAN_BEGIN:
		return sizeof(struct record_span_begin);
	case RECORD_SPAN_END:
		return sizeof(struct record_span_end);
	case RECORD_MODULE:
		return sizeof(struct record_module) + 16;
	case RECORD_MODULES:
		return sizeof(struct record_modules);
	}
	return sizeof(struct record);
}

union forged *forge(enum record_kind kind, uint64_t time_ns)
{
	static union forged record;

	memset(&record, 0, sizeof(record));
	record.head.bytes = size_of(kind);
	record.head.kind = (uint16_t)kind;
	record.head.generation = 1;
	record.head.time_ns = time_ns;
	if (kind == RECORD_MODULE) {
		strcpy(record.module.path, "/lib/x");
		record.module.path_bytes = sizeof("/lib/x");
	}
	return &record;
}

void forge_append(unsigned block, const void *bytes, size_t length)
{
	struct ring_block *to = &agent.ring->blocks[block];
	uint32_t used = atomic_load(&to->used);

	CHECK(length <= sizeof(to->data) - used);
	memcpy(to->data + used, bytes, length);
	atomic_store(&to->used, used + (uint32_t)length);
}

void forge_put(unsigned block, const union forged *record)
{
	forge_append(block, record, record->head.bytes);
}
