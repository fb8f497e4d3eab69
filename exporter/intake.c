/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the ring.
 * Runs on: the exporter's main thread.
 */
#include "exporter/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Grows an array so that `wanted` elements fit. */
static bool reserve(void *array, size_t *capacity, size_t wanted, size_t size)
{
	void **pointer = array;
	size_t more = *capacity ? *capacity : 4096;
	void *grown;

	if (wanted <= *capacity)
		return true;
	while (more < wanted)
		more *= 2;
	grown = reallocarray(*pointer, more, size);
	if (!grown)
		return false;
	*pointer = grown;
	*capacity = more;
	return true;
}

/* Where a block is in use by someone who will never give it back, it is taken
 * from him: on the second pass that sees the same owner, and if he is dead. */
static bool take_block(struct intake *intake, uint32_t index)
{
	struct ring_block *block = &intake->ring->blocks[index];
	uint64_t owner = 0;

	if (atomic_compare_exchange_strong(&block->owner, &owner,
					   RING_OWNER_EXPORTER))
		return true;
	if (owner != RING_OWNER_EXPORTER &&
	    (owner != intake->stuck[index] ||
	     !intake->is_dead(intake->context, owner))) {
		intake->stuck[index] = owner;
		return false;
	}
	return atomic_compare_exchange_strong(&block->owner, &owner,
					      RING_OWNER_EXPORTER);
}

/* The size that a record of this kind has at least; 0 for an unknown kind. */
static size_t least_size(uint16_t kind)
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
		return sizeof(struct record_module);
	case RECORD_MODULES:
		return sizeof(struct record_modules);
	default:
		return 0;
	}
}

static bool sample_fits(const struct record_sample *sample)
{
	return sample->stack_bytes <= SAMPLE_STACK_MAX_BYTES &&
	       sample->stack_bytes <= sample->head.bytes - sizeof(*sample);
}

static bool module_fits(const struct record_module *module)
{
	return module->path_bytes > 0 &&
	       module->path_bytes <= module->head.bytes - sizeof(*module) &&
	       module->path[module->path_bytes - 1] == '\0' &&
	       module->build_id_bytes <= MODULE_BUILD_ID_BYTES &&
	       module->segment_count <= MODULE_SEGMENTS;
}

/* The copy is ours: texts are ended here, so that nobody has to check. */
static bool is_whole(struct record *record)
{
	size_t least = least_size(record->kind);

	if (least == 0 || record->bytes < least ||
	    record->process >= RING_PROCESSES)
		return false;
	if (record->kind == RECORD_SAMPLE)
		return sample_fits((const struct record_sample *)record);
	if (record->kind == RECORD_MODULE)
		return module_fits((const struct record_module *)record);
	if (record->kind == RECORD_SPAN_BEGIN) {
		struct record_span_begin *begin =
			(struct record_span_begin *)record;

		begin->method[SPAN_METHOD_BYTES - 1] = '\0';
		begin->path[SPAN_PATH_BYTES - 1] = '\0';
	}
	return true;
}

static int add_record(struct intake *intake, size_t at)
{
	if (!reserve(&intake->records, &intake->record_capacity,
		     intake->record_count + 1, sizeof(*intake->records)))
		return -ENOMEM;
	intake->records[intake->record_count++] = at;
	return 0;
}

/* Records lie one behind the other. A size that makes no sense hides the rest
 * of its block. */
static int find_records(struct intake *intake, size_t at)
{
	while (intake->used - at >= sizeof(struct record)) {
		struct record *record = (struct record *)(intake->bytes + at);
		size_t bytes = record->bytes;

		if (bytes < sizeof(*record) || bytes % 8 != 0 ||
		    bytes > intake->used - at) {
			intake->malformed++;
			return 0;
		}
		if (!is_whole(record))
			intake->malformed++;
		else if (add_record(intake, at) != 0)
			return -ENOMEM;
		at += bytes;
	}
	return 0;
}

/* Empties a block. When there is no memory for its copy, it keeps what it
 * holds for the next pass. */
static int empty_block(struct intake *intake, struct ring_block *block)
{
	uint32_t used = atomic_load(&block->used);
	size_t at = intake->used;

	if (used > sizeof(block->data))
		used = sizeof(block->data);
	used &= ~7u;
	if (!reserve(&intake->bytes, &intake->capacity, at + used, 1))
		return -ENOMEM;
	if (used)
		memcpy(intake->bytes + at, block->data, used);
	intake->used += used;
	atomic_store(&block->used, 0);
	return find_records(intake, at);
}

static int empty_blocks(struct intake *intake)
{
	int error = 0;

	intake->used = 0;
	intake->record_count = 0;
	for (uint32_t i = 0; i < RING_BLOCKS && !error; i++) {
		struct ring_block *block = &intake->ring->blocks[i];

		/* A look before the take, so that empty ones stay in peace. */
		if (atomic_load_explicit(&block->used, memory_order_relaxed) ==
			    0 &&
		    atomic_load_explicit(&block->owner, memory_order_relaxed) ==
			    0)
			continue;
		if (!take_block(intake, i))
			continue;
		error = empty_block(intake, block);
		intake->stuck[i] = 0;
		atomic_store(&block->owner, 0);
	}
	return error;
}

static const struct record *record_at(const uint8_t *bytes, size_t at)
{
	return (const struct record *)(bytes + at);
}

static int rank(uint16_t kind)
{
	if (kind == RECORD_SAMPLE || kind == RECORD_UNSAMPLED)
		return 1;
	return kind == RECORD_SPAN_END ? 2 : 0;
}

static int compare(const void *left, const void *right, void *bytes)
{
	const struct record *a = record_at(bytes, *(const size_t *)left);
	const struct record *b = record_at(bytes, *(const size_t *)right);

	if (rank(a->kind) != rank(b->kind))
		return rank(a->kind) - rank(b->kind);
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

long intake_pass(struct intake *intake)
{
	int error = empty_blocks(intake);

	if (intake->record_count)
		qsort_r(intake->records, intake->record_count,
			sizeof(*intake->records), compare, intake->bytes);
	for (size_t i = 0; i < intake->record_count; i++)
		intake->take(intake->context,
			     record_at(intake->bytes, intake->records[i]));
	return error ? error : (long)intake->record_count;
}

void intake_fini(struct intake *intake)
{
	free(intake->bytes);
	free(intake->records);
	intake->bytes = NULL;
	intake->records = NULL;
}
