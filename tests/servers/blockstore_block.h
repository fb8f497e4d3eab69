/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: rows of a symbol and a value, under the name of who uploaded them. A
 * block keeps each symbol once, in a table, and its rows refer to it by number.
 * A merged block holds the rows of several uploads.
 */
#ifndef TESTS_SERVERS_BLOCKSTORE_BLOCK_H
#define TESTS_SERVERS_BLOCKSTORE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
	char *name;
	uint32_t bytes;
};

/* `index` is a hash table of numbers + 1, a power of two in size; a table that
 * was made without one has none. */
struct symbols {
	struct symbol *all;
	uint32_t count;
	uint32_t room;
	uint32_t *index;
	uint32_t index_size;
};

#define SYMBOL_MISSING UINT32_MAX

/* Adds a copy of a symbol that isn't in the table. Returns its number, or
 * SYMBOL_MISSING without memory. */
uint32_t symbols_add(struct symbols *s, const char *name, uint32_t bytes);

/* The number of a symbol, from the index, which is made when there is none;
 * a symbol that isn't there is added. SYMBOL_MISSING without memory. */
uint32_t symbols_intern(struct symbols *s, const char *name, uint32_t bytes);

struct row {
	uint32_t upload; /* number in block.uploads */
	uint32_t symbol; /* number in block.symbols */
	uint64_t value;
};

struct block {
	char **uploads; /* the ids under which rows came, oldest first */
	uint32_t upload_count;
	struct symbols symbols;
	struct row *rows; /* in the order of their uploads */
	size_t row_count;
};

/* An empty block with room for that many uploads and rows, or NULL. */
struct block *block_create(uint32_t uploads, size_t rows);

/* Reads lines of "SYMBOL VALUE", the text of an upload. Returns NULL when a
 * line is none, or without memory. */
struct block *block_parse(const char *id, char *text);

/* Adds an upload's id. Returns its number, or -1 without memory. */
int64_t block_add_upload(struct block *b, const char *id);

/* The number of an upload, or -1 when the block doesn't hold it. */
int64_t block_find_upload(const struct block *b, const char *id);

/* The rows of one upload as the text that was uploaded, in memory of the
 * caller's; NULL without memory. */
char *block_print(const struct block *b, uint32_t upload, size_t *bytes);

void block_destroy(struct block *b);

#endif
