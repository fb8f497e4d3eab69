/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts what was read of a unit into one block.
 * Runs on: the process that reads DWARF.
 */
#include "exporter/dwarf_index.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/array.h"

#define TEXTS_MAX_BYTES (32u << 20)

void *dwarf_array_add(struct dwarf_array *array, size_t element_bytes)
{
	void *at = array_room(array->at, &array->capacity, array->count + 1,
			      element_bytes);
	char *element;

	if (!at)
		return NULL;
	array->at = at;
	element = (char *)array->at + array->count++ * element_bytes;
	return memset(element, 0, element_bytes);
}

uint32_t dwarf_build_text(struct dwarf_build *build, const char *text)
{
	if (!text || build->texts.bytes > TEXTS_MAX_BYTES)
		return 0;
	return strings_intern(&build->texts, text);
}

uint32_t dwarf_build_path(struct dwarf_build *build, const char *path)
{
	char whole[PATH_MAX];

	if (!path || path[0] == '/' || !build->folder)
		return dwarf_build_text(build, path);
	snprintf(whole, sizeof(whole), "%s/%s", build->folder, path);
	return dwarf_build_text(build, whole);
}

uint32_t dwarf_build_file(struct dwarf_build *build, uint64_t number)
{
	uint32_t *text;

	if (number >= build->file_count)
		return 0;
	text = &build->file_texts[number];
	if (!*text)
		*text = dwarf_build_path(
			build, dwarf_filesrc(build->files, number, NULL, NULL));
	return *text;
}

static int find_hull(struct dwarf_build *build)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	build->low = UINT64_MAX;
	while ((at = dwarf_ranges(&build->unit, at, &base, &start, &end)) > 0) {
		if (!dwarf_range_is_real(start, end))
			continue;
		if (start < build->low)
			build->low = start;
		if (end > build->high)
			build->high = end;
	}
	return build->low < build->high ? 0 : -ENODATA;
}

static int begin(struct dwarf_build *build, struct dwarf_file *file,
		 uint64_t unit)
{
	int error = dwarf_file_unit(file, unit, &build->unit);
	Dwarf_Attribute folder;

	if (!error)
		error = find_hull(build);
	if (!error)
		error = strings_init(&build->texts);
	if (error)
		return error;
	build->folder = dwarf_formstring(
		dwarf_attr(&build->unit, DW_AT_comp_dir, &folder));
	if (dwarf_getsrcfiles(&build->unit, &build->files,
			      &build->file_count) != 0)
		build->file_count = 0;
	build->file_texts =
		calloc(build->file_count + 1, sizeof(*build->file_texts));
	return build->file_texts ? 0 : -ENOMEM;
}

static void end(struct dwarf_build *build)
{
	free(build->file_texts);
	free(build->ranges.at);
	free(build->scopes.at);
	free(build->rows.at);
	if (build->texts.count)
		strings_fini(&build->texts);
}

static int by_place(const void *left, const void *right)
{
	const struct dwarf_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->scope < b->scope ? -1 : a->scope > b->scope;
}

/* Where a text begins in the block, by number. NULL without memory. */
static uint32_t *text_offsets(const struct strings *texts)
{
	uint32_t *offsets = reallocarray(NULL, texts->count, sizeof(*offsets));
	uint32_t at = 0;

	for (uint32_t i = 0; offsets && i < texts->count; i++) {
		offsets[i] = at;
		at += (uint32_t)strlen(texts->texts[i]) + 1;
	}
	return offsets;
}

static uint32_t range_below(const struct line_range *ranges, uint32_t index)
{
	uint32_t at = index - 1; /* NONE for the first one */

	while (at != LINE_INDEX_NONE &&
	       ranges[index].start - ranges[at].start >= ranges[at].len_bytes)
		at = ranges[at].below;
	return at;
}

static void put_ranges(const struct dwarf_build *build,
		       const struct line_index *head, struct line_range *to)
{
	const struct dwarf_range *from = build->ranges.at;

	for (uint32_t i = 0; i < head->range_count; i++) {
		to[i].start = (uint32_t)(from[i].start - head->base);
		to[i].len_bytes = (uint32_t)(from[i].end - from[i].start);
		to[i].scope = from[i].scope;
		to[i].below = range_below(to, i);
	}
}

static void put_scopes(const struct dwarf_build *build, const uint32_t *offsets,
		       struct line_scope *to)
{
	const struct line_scope *from = build->scopes.at;

	for (size_t i = 0; i < build->scopes.count; i++) {
		to[i] = from[i];
		to[i].name = offsets[from[i].name];
		to[i].call_file = offsets[from[i].call_file];
		to[i].declared_file = offsets[from[i].declared_file];
	}
}

static void put_rows(const struct dwarf_build *build,
		     const struct line_index *head, const uint32_t *offsets,
		     struct line_row *to)
{
	const struct dwarf_row *from = build->rows.at;

	for (uint32_t i = 0; i < head->row_count; i++)
		to[i] = (struct line_row){
			(uint32_t)(from[i].start - head->base),
			offsets[from[i].file], from[i].line};
}

static void put_texts(const struct strings *texts, char *to)
{
	for (uint32_t i = 0; i < texts->count; i++) {
		size_t bytes = strlen(texts->texts[i]) + 1;

		memcpy(to, texts->texts[i], bytes);
		to += bytes;
	}
}

static size_t head_of(const struct dwarf_build *build, struct line_index *head)
{
	*head = (struct line_index){
		.magic = LINE_INDEX_MAGIC,
		.base = build->low,
		.range_count = (uint32_t)build->ranges.count,
		.scope_count = (uint32_t)build->scopes.count,
		.row_count = (uint32_t)build->rows.count,
		.text_bytes =
			(uint32_t)(build->texts.bytes + build->texts.count),
	};
	return sizeof(*head) + build->ranges.count * sizeof(struct line_range) +
	       build->scopes.count * sizeof(struct line_scope) +
	       build->rows.count * sizeof(struct line_row) + head->text_bytes;
}

static int put(const struct dwarf_build *build, void **bytes, size_t *len_bytes)
{
	struct line_index head;
	size_t len = head_of(build, &head);
	uint32_t *offsets;
	char *to;

	if (len > LINE_INDEX_BYTES_MAX)
		return -EFBIG;
	offsets = text_offsets(&build->texts);
	*bytes = to = malloc(len);
	if (!offsets || !to) {
		free(offsets);
		free(to);
		return -ENOMEM;
	}
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	put_ranges(build, &head, (void *)to);
	to += head.range_count * sizeof(struct line_range);
	put_scopes(build, offsets, (void *)to);
	to += head.scope_count * sizeof(struct line_scope);
	put_rows(build, &head, offsets, (void *)to);
	to += head.row_count * sizeof(struct line_row);
	put_texts(&build->texts, to);
	free(offsets);
	*len_bytes = len;
	return 0;
}

/* Starts count from the unit's lowest address, in 32 bits. */
static void drop_distant(struct dwarf_build *build)
{
	struct dwarf_range *ranges = build->ranges.at;
	size_t kept = 0;

	for (size_t i = 0; i < build->ranges.count; i++)
		if (ranges[i].start >= build->low &&
		    ranges[i].end <= build->high)
			ranges[kept++] = ranges[i];
	build->ranges.count = kept;
}

static int read_unit(struct dwarf_build *build)
{
	int error;

	if (build->high - build->low >= UINT32_MAX)
		return -EFBIG;
	error = dwarf_scopes_read(build);
	if (error && error != -EFBIG)
		return error;
	error = dwarf_rows_read(build);
	if (error)
		return error;
	drop_distant(build);
	if (build->ranges.count)
		qsort(build->ranges.at, build->ranges.count,
		      sizeof(struct dwarf_range), by_place);
	return build->ranges.count || build->rows.count ? 0 : -ENODATA;
}

int dwarf_index_make(struct dwarf_file *file, uint64_t unit, void **bytes,
		     size_t *len_bytes)
{
	struct dwarf_build build = {.files = NULL};
	int error = begin(&build, file, unit);

	if (!error)
		error = read_unit(&build);
	if (!error)
		error = put(&build, bytes, len_bytes);
	end(&build);
	return error;
}
