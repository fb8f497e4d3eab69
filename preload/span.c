/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans.
 * Runs on: the program's threads; *_sig anywhere. No lock, no allocation.
 */
#include "preload/span.h"

#include <errno.h>

#include "preload/process.h"
#include "sampler/arch.h"

/* How many entries are tried before the table counts as full. */
#define SPAN_PROBES 256u
#define ACTIVE 1u

/* state: generation << 2 | claimed << 1 | active */
#define CLAIMED 2u

static struct span *table;
/* Where the next search begins: behind all that the last one tried, so that a
 * crowd of long-lived spans stands in the way of few. Written by every opener;
 * a hint. */
static _Atomic uint32_t cursor;

int span_table_map(void)
{
	table = process_memory(sizeof(struct span) * SPAN_TABLE_SIZE, true);
	return table ? 0 : -ENOMEM;
}

static uint32_t index_of(span_handle handle)
{
	return (uint32_t)handle - 1;
}

static uint64_t generation_of(span_handle handle)
{
	return handle >> 32;
}

static uint64_t active_state(span_handle handle)
{
	return generation_of(handle) << 2 | CLAIMED | ACTIVE;
}

/* Generations count up to 2^32 - 1 and never return to 0, so that a handle is
 * never 0 and an entry reads as never used after fork. */
static uint64_t next_generation(uint64_t state)
{
	uint64_t generation = ((state >> 2) + 1) & UINT32_MAX;

	return generation ? generation : 1;
}

static span_handle claim(uint32_t index)
{
	uint64_t old =
		atomic_load_explicit(&table[index].state, memory_order_relaxed);
	uint64_t generation = next_generation(old);

	if (old & CLAIMED)
		return 0;
	/* Acquire: the last owner's reads come before our writes. */
	if (!atomic_compare_exchange_strong_explicit(
		    &table[index].state, &old,
		    generation << 2 | CLAIMED | ACTIVE, memory_order_acquire,
		    memory_order_relaxed))
		return 0;
	return generation << 32 | (index + 1);
}

span_handle span_open_app(void)
{
	uint32_t at =
		atomic_fetch_add_explicit(&cursor, 1, memory_order_relaxed);
	span_handle handle = 0;
	uint32_t tried = 0;
	struct span *span;

	while (!handle && tried < SPAN_PROBES)
		handle = claim((at + tried++) % SPAN_TABLE_SIZE);
	if (tried > 1)
		atomic_fetch_add_explicit(&cursor, tried - 1,
					  memory_order_relaxed);
	if (!handle)
		return 0;
	span = &table[index_of(handle)];
	zero_bytes_sig((char *)span + sizeof(span->state),
		       sizeof(*span) - sizeof(span->state));
	return handle;
}

bool span_close_app(span_handle handle, struct span *last)
{
	uint64_t active = active_state(handle);
	struct span *span;

	if (!handle)
		return false;
	span = &table[index_of(handle)];
	/* Still claimed, no longer active: nobody reads it as open, nobody
	 * takes it before its contents were copied. */
	if (!atomic_compare_exchange_strong_explicit(
		    &span->state, &active, active & ~(uint64_t)ACTIVE,
		    memory_order_acq_rel, memory_order_relaxed))
		return false;
	copy_bytes_sig(last, span, sizeof(*last));
	atomic_store_explicit(&span->state, generation_of(handle) << 2,
			      memory_order_release);
	return true;
}

struct span *span_get_sig(span_handle handle)
{
	struct span *span;

	if (!handle)
		return 0;
	span = &table[index_of(handle)];
	if (atomic_load_explicit(&span->state, memory_order_acquire) !=
	    active_state(handle))
		return 0;
	return span;
}

bool span_context_sig(span_handle handle, struct span_context *context)
{
	struct span_context copy;
	struct span *span = span_get_sig(handle);

	if (!span)
		return false;
	copy_bytes_sig(&copy, &span->context, sizeof(copy));
	/* The copy comes before the second look. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&span->state, memory_order_relaxed) !=
	    active_state(handle))
		return false;
	copy_bytes_sig(context, &copy, sizeof(copy));
	return true;
}
