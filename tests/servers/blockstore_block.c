/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, reads and prints the blocks of the block store.
 * Runs on: the connection threads of the block store.
 */
#include "tests/servers/blockstore_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t symbols_add(struct symbols *s, const char *name, uint32_t bytes)
{
	if (s->count == s->room) {
		uint32_t room = s->room ? 2 * s->room : 64;
		struct symbol *grown = realloc(s->all, room * sizeof(*grown));

		if (!grown)
			return SYMBOL_MISSING;
		s->all = grown;
		s->room = room;
	}
	s->all[s->count].name = strndup(name, bytes);
	if (!s->all[s->count].name)
		return SYMBOL_MISSING;
	s->all[s->count].bytes = bytes;
	return s->count++;
}

/* FNV-1a. */
static uint32_t hash(const char *name, uint32_t bytes)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < bytes; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

/* The place in the index where the symbol is, or where it would be. */
static uint32_t *index_slot(const struct symbols *s, const char *name,
			    uint32_t bytes)
{
	uint32_t at = hash(name, bytes);

	for (;; at++) {
		uint32_t *slot = &s->index[at & (s->index_size - 1)];
		const struct symbol *there = s->all + *slot - 1;

		if (*slot == 0 || (there->bytes == bytes &&
				   memcmp(there->name, name, bytes) == 0))
			return slot;
	}
}

/* Keeps the index at most half full. */
static bool index_make_room(struct symbols *s)
{
	uint32_t size = s->index_size ? 2 * s->index_size : 128;

	if (s->index && s->count < s->index_size / 2)
		return true;
	while (size / 2 <= s->count)
		size *= 2;
	free(s->index);
	s->index = calloc(size, sizeof(*s->index));
	s->index_size = size;
	if (!s->index)
		return false;
	for (uint32_t i = 0; i < s->count; i++)
		*index_slot(s, s->all[i].name, s->all[i].bytes) = i + 1;
	return true;
}

uint32_t symbols_intern(struct symbols *s, const char *name, uint32_t bytes)
{
	uint32_t *slot, number;

	if (!index_make_room(s))
		return SYMBOL_MISSING;
	slot = index_slot(s, name, bytes);
	if (*slot)
		return *slot - 1;
	number = symbols_add(s, name, bytes);
	if (number != SYMBOL_MISSING)
		*slot = number + 1;
	return number;
}

struct block *block_create(uint32_t uploads, size_t rows)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->uploads = calloc(uploads, sizeof(*b->uploads));
	b->rows = calloc(rows ? rows : 1, sizeof(*b->rows));
	if (b->uploads && b->rows)
		return b;
	block_destroy(b);
	return NULL;
}

int64_t block_add_upload(struct block *b, const char *id)
{
	b->uploads[b->upload_count] = strdup(id);
	if (!b->uploads[b->upload_count])
		return -1;
	return b->upload_count++;
}

int64_t block_find_upload(const struct block *b, const char *id)
{
	for (uint32_t i = 0; i < b->upload_count; i++)
		if (strcmp(b->uploads[i], id) == 0)
			return i;
	return -1;
}

static bool parse_line(struct block *b, const char *line)
{
	const char *space = strrchr(line, ' ');
	struct row *row = &b->rows[b->row_count];
	char *end;

	if (!space || space == line)
		return false;
	row->upload = 0;
	row->value = strtoull(space + 1, &end, 10);
	row->symbol =
		symbols_intern(&b->symbols, line, (uint32_t)(space - line));
	b->row_count++;
	return *end == '\0' && end > space + 1 && row->symbol != SYMBOL_MISSING;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		lines++;
	return lines + 1;
}

struct block *block_parse(const char *id, char *text)
{
	struct block *b = block_create(1, count_lines(text));
	char *rest, *line;
	bool good = b && block_add_upload(b, id) == 0;

	for (line = strtok_r(text, "\n", &rest); line && good;
	     line = strtok_r(NULL, "\n", &rest))
		good = parse_line(b, line);
	if (good)
		return b;
	block_destroy(b);
	return NULL;
}

char *block_print(const struct block *b, uint32_t upload, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < b->row_count; i++)
		if (b->rows[i].upload == upload)
			fprintf(out, "%s %llu\n",
				b->symbols.all[b->rows[i].symbol].name,
				(unsigned long long)b->rows[i].value);
	fclose(out);
	return text;
}

void block_destroy(struct block *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->upload_count; i++)
		free(b->uploads[i]);
	for (uint32_t i = 0; i < b->symbols.count; i++)
		free(b->symbols.all[i].name);
	free(b->symbols.all);
	free(b->symbols.index);
	free(b->uploads);
	free(b->rows);
	free(b);
}
