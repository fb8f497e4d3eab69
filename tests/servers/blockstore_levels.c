/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a tenant's blocks in levels and compacts them.
 * Runs on: the connection threads of the block store.
 *
 * Merging gives each symbol of the merged blocks one number. Level 0 finds it
 * by the table's index. Level 1 is the older code: it goes through the merged
 * table once a symbol, which nobody noticed while tenants had a few hundred.
 * That is the fault which the demo's profile is to show.
 */
#include "tests/servers/blockstore_levels.h"

#include <stdlib.h>

/* What a reader of a profile should find as a function of its own, under its
 * own name: "used" keeps gcc from making a copy with another signature of it.
 */
#define STORY __attribute__((noinline, used))

const uint32_t levels_usual[LEVELS] = {4, 3, UINT32_MAX};
const uint32_t levels_least[LEVELS] = {2, 2, UINT32_MAX};

static bool same_symbol(const struct symbol *a, const struct symbol *b)
{
	uint32_t i = 0;

	while (i < a->bytes && i < b->bytes && a->name[i] == b->name[i])
		i++;
	return i == a->bytes && i == b->bytes;
}

STORY static uint32_t find_symbol_linear(const struct symbols *symbols,
					 const struct symbol *wanted)
{
	for (uint32_t i = 0; i < symbols->count; i++)
		if (same_symbol(&symbols->all[i], wanted))
			return i;
	return SYMBOL_MISSING;
}

/* Level 1: tells for each symbol of a block which number it has in the merged
 * table. */
STORY static bool rewrite_symbols(struct symbols *merged,
				  const struct symbols *from, uint32_t *numbers)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct symbol *s = &from->all[i];

		numbers[i] = find_symbol_linear(merged, s);
		if (numbers[i] == SYMBOL_MISSING)
			numbers[i] = symbols_add(merged, s->name, s->bytes);
		if (numbers[i] == SYMBOL_MISSING)
			return false;
	}
	return true;
}

/* Level 0: the same. */
STORY static bool intern_symbols(struct symbols *merged,
				 const struct symbols *from, uint32_t *numbers)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct symbol *s = &from->all[i];

		numbers[i] = symbols_intern(merged, s->name, s->bytes);
		if (numbers[i] == SYMBOL_MISSING)
			return false;
	}
	return true;
}

typedef bool number_symbols(struct symbols *merged, const struct symbols *from,
			    uint32_t *numbers);

/* Whether a newer block of the level replaces that upload. */
static bool replaced(const struct level *level, uint32_t block, const char *id)
{
	for (uint32_t i = block + 1; i < level->count; i++)
		if (block_find_upload(level->blocks[i], id) >= 0)
			return true;
	return false;
}

/* Copies the uploads of one block that nothing replaces to the merged one. */
STORY static bool append_rows(struct block *merged, const struct level *level,
			      uint32_t block, const uint32_t *numbers)
{
	const struct block *from = level->blocks[block];
	const struct row *row = from->rows;
	const struct row *end = from->rows + from->row_count;

	for (uint32_t u = 0; u < from->upload_count; u++) {
		bool keep = !replaced(level, block, from->uploads[u]);
		int64_t upload = 0;

		if (keep)
			upload = block_add_upload(merged, from->uploads[u]);
		if (upload < 0)
			return false;
		for (; row < end && row->upload == u; row++)
			if (keep)
				merged->rows[merged->row_count++] =
					(struct row){(uint32_t)upload,
						     numbers[row->symbol],
						     row->value};
	}
	return true;
}

/* An empty block with room for all of a level; `symbols` becomes the largest
 * number of symbols that one of its blocks has. */
static struct block *create_for(const struct level *level, uint32_t *symbols)
{
	uint32_t uploads = 0;
	size_t rows = 0;

	*symbols = 0;
	for (uint32_t i = 0; i < level->count; i++) {
		const struct block *b = level->blocks[i];

		uploads += b->upload_count;
		rows += b->row_count;
		if (b->symbols.count > *symbols)
			*symbols = b->symbols.count;
	}
	return block_create(uploads, rows);
}

/* All blocks of a level as one, or NULL without memory. */
static struct block *merge(const struct level *level, number_symbols *number)
{
	uint32_t symbols;
	struct block *merged = create_for(level, &symbols);
	uint32_t *numbers = calloc(symbols + 1, sizeof(*numbers));
	bool good = merged && numbers;

	for (uint32_t i = 0; i < level->count && good; i++)
		good = number(&merged->symbols, &level->blocks[i]->symbols,
			      numbers) &&
		       append_rows(merged, level, i, numbers);
	free(numbers);
	if (good)
		return merged;
	block_destroy(merged);
	return NULL;
}

/* Puts the merged block of a level in the next one. */
static bool promote(struct level *level, struct level *next,
		    struct block *merged)
{
	if (!merged || next->count == LEVEL_BLOCKS) {
		block_destroy(merged);
		return false;
	}
	for (uint32_t i = 0; i < level->count; i++)
		block_destroy(level->blocks[i]);
	level->count = 0;
	next->blocks[next->count++] = merged;
	return true;
}

STORY static bool compact_level_0(struct levels *l)
{
	struct block *merged = merge(&l->level[0], intern_symbols);

	return promote(&l->level[0], &l->level[1], merged);
}

STORY static bool compact_level_1(struct levels *l)
{
	struct block *merged = merge(&l->level[1], rewrite_symbols);

	return promote(&l->level[1], &l->level[2], merged);
}

unsigned levels_compact(struct levels *l, const uint32_t *full)
{
	unsigned merged = 0;

	if (l->level[0].count >= full[0])
		merged += compact_level_0(l);
	if (l->level[1].count >= full[1])
		merged += compact_level_1(l);
	return merged;
}

bool levels_store(struct levels *l, struct block *b)
{
	struct level *level = &l->level[0];

	if (level->count == LEVEL_BLOCKS)
		return false;
	level->blocks[level->count++] = b;
	return true;
}

char *levels_load(const struct levels *l, const char *id, size_t *bytes)
{
	for (uint32_t n = 0; n < LEVELS; n++)
		for (uint32_t i = l->level[n].count; i-- > 0;) {
			const struct block *b = l->level[n].blocks[i];
			int64_t upload = block_find_upload(b, id);

			if (upload >= 0)
				return block_print(b, (uint32_t)upload, bytes);
		}
	return NULL;
}
