/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks an index of code and looks addresses up in it.
 * Runs on: the exporter's main thread.
 */
#include "exporter/line_index.h"

#include <string.h>

/* Ranges within ranges; more occur only in files that were made for it. */
#define NESTED_MAX 4096u

/* The parts of a checked index, or of one that is being checked. */
struct parts {
	const struct line_range *ranges;
	const struct line_scope *scopes;
	const struct line_row *rows;
	const char *texts;
};

static uint64_t bytes_of(const struct line_index *index)
{
	return sizeof(*index) +
	       (uint64_t)index->range_count * sizeof(struct line_range) +
	       (uint64_t)index->scope_count * sizeof(struct line_scope) +
	       (uint64_t)index->row_count * sizeof(struct line_row) +
	       index->text_bytes;
}

static struct parts parts_of(const struct line_index *index)
{
	struct parts p;

	p.ranges = (const void *)(index + 1);
	p.scopes = (const void *)(p.ranges + index->range_count);
	p.rows = (const void *)(p.scopes + index->scope_count);
	p.texts = (const void *)(p.rows + index->row_count);
	return p;
}

static bool ranges_are_sane(const struct line_index *index,
			    const struct line_range *ranges)
{
	for (uint32_t i = 0; i < index->range_count; i++) {
		const struct line_range *r = &ranges[i];

		if (r->scope >= index->scope_count ||
		    (r->below != LINE_INDEX_NONE && r->below >= i) ||
		    (i && r->start < ranges[i - 1].start))
			return false;
	}
	return true;
}

static bool scopes_are_sane(const struct line_index *index,
			    const struct line_scope *scopes)
{
	for (uint32_t i = 0; i < index->scope_count; i++) {
		const struct line_scope *s = &scopes[i];

		if ((s->parent != LINE_INDEX_NONE && s->parent >= i) ||
		    s->name >= index->text_bytes ||
		    s->call_file >= index->text_bytes ||
		    s->declared_file >= index->text_bytes)
			return false;
	}
	return true;
}

static bool rows_are_sane(const struct line_index *index,
			  const struct line_row *rows)
{
	for (uint32_t i = 0; i < index->row_count; i++)
		if (rows[i].file >= index->text_bytes ||
		    (i && rows[i].start < rows[i - 1].start))
			return false;
	return true;
}

bool line_index_check(const void *bytes, size_t len_bytes)
{
	const struct line_index *index = bytes;
	struct parts p;

	if (len_bytes < sizeof(*index) || index->magic != LINE_INDEX_MAGIC ||
	    bytes_of(index) != len_bytes || index->text_bytes == 0)
		return false;
	p = parts_of(index);
	return p.texts[0] == '\0' && p.texts[index->text_bytes - 1] == '\0' &&
	       ranges_are_sane(index, p.ranges) &&
	       scopes_are_sane(index, p.scopes) && rows_are_sane(index, p.rows);
}

/* How many of `count` elements, which begin with their start, begin at or
 * below `at`. */
static inline uint32_t count_below(const void *elements, size_t element_bytes,
				   uint32_t count, uint32_t at)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t start;

		memcpy(&start, (const char *)elements + middle * element_bytes,
		       sizeof(start));
		if (at < start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static uint32_t innermost_scope(const struct line_index *index,
				const struct parts *p, uint32_t at)
{
	uint32_t i = count_below(p->ranges, sizeof(*p->ranges),
				 index->range_count, at) -
		     1;

	for (uint32_t n = 0; n < NESTED_MAX && i != LINE_INDEX_NONE; n++) {
		if (at - p->ranges[i].start < p->ranges[i].len_bytes)
			return p->ranges[i].scope;
		i = p->ranges[i].below;
	}
	return LINE_INDEX_NONE;
}

static const struct line_row *find_row(const struct line_index *index,
				       const struct parts *p, uint32_t at)
{
	uint32_t count =
		count_below(p->rows, sizeof(*p->rows), index->row_count, at);
	const struct line_row *row = count ? &p->rows[count - 1] : NULL;

	return row && row->file ? row : NULL;
}

static void fill(struct line_frame *frame, const struct parts *p,
		 const struct line_scope *scope, const struct line_row *at)
{
	frame->name = p->texts + scope->name;
	frame->file = p->texts + at->file;
	frame->line = at->line;
	frame->start_line =
		scope->declared_file == at->file ? scope->declared_line : 0;
}

uint32_t line_index_find(const struct line_index *index, uint64_t vaddr,
			 struct line_frame *frames, uint32_t capacity)
{
	static const struct line_scope nameless;
	const struct parts p = parts_of(index);
	const struct line_row *row;
	struct line_row at = {0};
	uint32_t scope, count = 0;

	if (vaddr < index->base || vaddr - index->base >= UINT32_MAX)
		return 0;
	scope = innermost_scope(index, &p, (uint32_t)(vaddr - index->base));
	row = find_row(index, &p, (uint32_t)(vaddr - index->base));
	if (row)
		at = *row;
	else if (scope == LINE_INDEX_NONE)
		return 0;
	if (scope == LINE_INDEX_NONE)
		fill(&frames[count++], &p, &nameless, &at);
	while (scope != LINE_INDEX_NONE) {
		const struct line_scope *s = &p.scopes[scope];

		/* The outermost takes the last place, whatever was there. */
		fill(&frames[count < capacity ? count++ : count - 1], &p, s,
		     &at);
		at = (struct line_row){0, s->call_file, s->call_line};
		scope = s->parent;
	}
	return count;
}
