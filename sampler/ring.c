/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The producers' side of the ring.
 * Runs on: anywhere, signal handlers and the sampler thread included.
 */
#include "sampler/ring.h"

#include <stdbool.h>
#include <time.h>

#include "preload/process.h"
#include "sampler/arch.h"

#define ROUND_UP_8(n) (((n) + 7) & ~(size_t)7)

static uint64_t clock_read_sig(clockid_t clock)
{
	struct timespec now = {0, 0};

	SYS2(SYS_clock_gettime, clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_sig(void)
{
	return clock_read_sig(CLOCK_MONOTONIC);
}

uint64_t clock_boot_sig(void)
{
	return clock_read_sig(CLOCK_BOOTTIME);
}

static uint64_t owner_token_sig(uint32_t tid)
{
	return (uint64_t)(process->slot + 1) << 48 |
	       (uint64_t)(process->generation & 0xffff) << 32 | tid;
}

static bool has_room(const struct ring_block *block, size_t bytes)
{
	uint32_t used =
		atomic_load_explicit(&block->used, memory_order_relaxed);

	return used <= sizeof(block->data) &&
	       bytes <= sizeof(block->data) - used;
}

static bool take_sig(struct ring_block *block, uint64_t token, size_t bytes)
{
	uint64_t nobody = 0;

	if (atomic_load_explicit(&block->owner, memory_order_relaxed) != 0 ||
	    !has_room(block, bytes))
		return false;
	if (!atomic_compare_exchange_strong_explicit(
		    &block->owner, &nobody, token, memory_order_acquire,
		    memory_order_relaxed))
		return false;
	if (has_room(block, bytes))
		return true;
	atomic_store_explicit(&block->owner, 0, memory_order_release);
	return false;
}

void *ring_open_sig(struct ring_grip *grip, uint32_t *hint, uint32_t tid,
		    size_t bytes)
{
	struct ring *ring = agent.ring;
	uint64_t token = owner_token_sig(tid);

	bytes = ROUND_UP_8(bytes);
	for (uint32_t i = 0; i < RING_BLOCKS; i++) {
		uint32_t index = (*hint + i) % RING_BLOCKS;
		struct ring_block *block = &ring->blocks[index];
		struct record *record;

		if (!take_sig(block, token, bytes))
			continue;
		*hint = index;
		grip->block = block;
		grip->used = atomic_load_explicit(&block->used,
						  memory_order_relaxed);
		record = (struct record *)(block->data + grip->used);
		record->process = (uint16_t)process->slot;
		record->generation = process->generation;
		record->tid = tid;
		record->time_ns = clock_monotonic_sig();
		return record;
	}
	count_sig(RING_LOST_NO_BLOCK);
	return 0;
}

void ring_close_sig(const struct ring_grip *grip, enum record_kind kind,
		    size_t bytes)
{
	struct record *record =
		(struct record *)(grip->block->data + grip->used);

	record->bytes = (uint32_t)ROUND_UP_8(bytes);
	record->kind = (uint16_t)kind;
	atomic_store_explicit(&grip->block->used, grip->used + record->bytes,
			      memory_order_release);
	atomic_store_explicit(&grip->block->owner, 0, memory_order_release);
}
