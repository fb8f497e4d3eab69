/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the ring.
 * Runs on: the exporter's main thread.
 */
#include "exporter/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/array.h"

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
	size_t *records =
		array_room(intake->records, &intake->record_capacity,
			   intake->record_count + 1, sizeof(*records));

	if (!records)
		return -ENOMEM;
	intake->records = records;
	records[intake->record_count++] = at;
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

/* Whole words of the block that are in use, whatever `used` claims. */
static uint32_t level_of(const struct ring_block *block)
{
	uint32_t used = atomic_load(&block->used);

	if (used > sizeof(block->data))
		used = sizeof(block->data);
	return used & ~7u;
}

static struct ring_mark *mark_of(struct intake *intake, uint64_t windows)
{
	return &intake->ring->header.marks[windows & 1];
}

static struct ring_mark *current_mark(struct intake *intake)
{
	struct ring_header *header = &intake->ring->header;

	return mark_of(intake, atomic_load(&header->windows_out));
}

/* The whole block is the producers' again. A successor that finds the level
 * below the mark knows that we died in here. */
static void give_back(struct intake *intake, uint32_t index)
{
	atomic_store(&intake->ring->blocks[index].used, 0);
	atomic_store(&current_mark(intake)->delivered[index], 0);
	intake->kept -= intake->taken[index] != 0;
	intake->taken[index] = 0;
}

static void set_taken(struct intake *intake, uint32_t index, uint32_t bytes)
{
	intake->kept += !intake->taken[index] && bytes;
	intake->kept -= intake->taken[index] && !bytes;
	intake->taken[index] = bytes;
}

static bool append(struct intake *intake, const uint8_t *data, size_t len_bytes)
{
	uint8_t *bytes = array_room(intake->bytes, &intake->capacity,
				    intake->used + len_bytes, 1);

	if (!bytes)
		return false;
	intake->bytes = bytes;
	memcpy(bytes + intake->used, data, len_bytes);
	intake->used += len_bytes;
	return true;
}

/* Copies what is new in a block. When there is no memory for it, it waits for
 * the next pass. */
static int copy_block(struct intake *intake, uint32_t index)
{
	const struct ring_block *block = &intake->ring->blocks[index];
	uint32_t level = level_of(block);
	uint32_t from = intake->taken[index];
	size_t at = intake->used;

	/* Only who lies lowers it. */
	if (from > level)
		from = level;
	if (level > from && !append(intake, block->data + from, level - from))
		return -ENOMEM;
	set_taken(intake, index, level);
	if (!level || intake->kept > INTAKE_KEPT_MAX)
		give_back(intake, index);
	return find_records(intake, at);
}

/* A look before the take, so that those without anything new stay in peace. */
static bool has_something(const struct intake *intake, uint32_t index)
{
	struct ring_block *block = &intake->ring->blocks[index];

	return atomic_load_explicit(&block->used, memory_order_relaxed) !=
		       intake->taken[index] ||
	       atomic_load_explicit(&block->owner, memory_order_relaxed) != 0;
}

static void free_block(struct intake *intake, uint32_t index)
{
	intake->stuck[index] = 0;
	atomic_store(&intake->ring->blocks[index].owner, 0);
}

static int copy_blocks(struct intake *intake)
{
	int error = 0;

	intake->used = 0;
	intake->record_count = 0;
	for (uint32_t i = 0; i < RING_BLOCKS && !error; i++) {
		if (!has_something(intake, i) || !take_block(intake, i))
			continue;
		error = copy_block(intake, i);
		free_block(intake, i);
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
	int error = copy_blocks(intake);

	if (intake->record_count)
		qsort_r(intake->records, intake->record_count,
			sizeof(*intake->records), compare, intake->bytes);
	for (size_t i = 0; i < intake->record_count; i++)
		intake->take(intake->context,
			     record_at(intake->bytes, intake->records[i]));
	return error ? error : (long)intake->record_count;
}

/* Nothing in the marks is believed: they say at most that there is less. */
static uint32_t delivered_bytes(const struct ring_mark *mark,
				const struct ring_block *block, uint32_t index)
{
	uint32_t bytes = atomic_load(&mark->delivered[index]);

	return bytes % 8 == 0 && bytes <= level_of(block) ? bytes : 0;
}

/* One start for the first exporter, one for the attempt of the next. */
#define STARTS_MAX 2u

void intake_begin(struct intake *intake)
{
	struct ring_header *header = &intake->ring->header;
	struct ring_mark *mark = current_mark(intake);
	bool drop = atomic_fetch_add(&header->exporter_starts, 1) >= STARTS_MAX;

	for (uint32_t i = 0; i < RING_BLOCKS; i++) {
		const struct ring_block *block = &intake->ring->blocks[i];

		set_taken(intake, i,
			  drop ? level_of(block)
			       : delivered_bytes(mark, block, i));
		atomic_store(&mark->delivered[i], intake->taken[i]);
	}
}

void intake_mark(struct intake *intake)
{
	uint64_t windows = atomic_load(&intake->ring->header.windows_out);
	struct ring_mark *next = mark_of(intake, windows + 1);

	for (uint32_t i = 0; i < RING_BLOCKS; i++)
		atomic_store(&next->delivered[i], intake->taken[i]);
}

/* Where something has come since the last pass, the block is kept for another
 * window. */
static void give_back_delivered(struct intake *intake, uint32_t index)
{
	if (!intake->taken[index] || !take_block(intake, index))
		return;
	if (level_of(&intake->ring->blocks[index]) == intake->taken[index])
		give_back(intake, index);
	free_block(intake, index);
}

void intake_window_out(struct intake *intake)
{
	struct ring_header *header = &intake->ring->header;

	atomic_fetch_add(&header->windows_out, 1);
	atomic_store(&header->exporter_starts, 1);
	for (uint32_t i = 0; i < RING_BLOCKS; i++)
		give_back_delivered(intake, i);
}

void intake_fini(struct intake *intake)
{
	free(intake->bytes);
	free(intake->records);
	intake->bytes = NULL;
	intake->records = NULL;
}
