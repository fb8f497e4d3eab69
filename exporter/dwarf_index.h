/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the index (line_index.h) of one compile unit: one walk over its DIEs
 * and one over its line table, instead of one an address.
 */
#ifndef EXPORTER_DWARF_INDEX_H
#define EXPORTER_DWARF_INDEX_H

#include "exporter/dwarf_file.h"
#include "exporter/line_index.h"
#include "exporter/strings.h"

/* A unit with more DIEs gets no functions, but lines; one with more rows gets
 * none. Compilers' largest units have some hundred thousand of each. */
#define DWARF_DIES_MAX (4u << 20)
#define DWARF_ROWS_MAX (4u << 20)

/*
 * On success *bytes, a whole line_index of *len_bytes, is the caller's to free.
 * -EINVAL when there is no such unit, -ENODATA when nothing is known of its
 * code, -EFBIG beyond a bound, -ENOMEM.
 */
int dwarf_index_make(struct dwarf_file *file, uint64_t unit, void **bytes,
		     size_t *len_bytes);

/* ---- between the parts that make it ---- */

struct dwarf_range {
	uint64_t start;
	uint64_t end;
	uint32_t scope;
};

struct dwarf_row {
	uint64_t start;
	uint32_t file; /* text, as in dwarf_build */
	uint32_t line;
};

/* An array that grows. */
struct dwarf_array {
	void *at;
	size_t count;
	size_t capacity;
};

struct dwarf_build {
	Dwarf_Die unit;
	Dwarf_Files *files; /* the unit's */
	size_t file_count;
	const char *folder; /* that relative paths count from, or NULL */
	uint64_t low, high; /* around all of the unit's code */
	struct strings texts;
	/* The text of each of `files` + 1; 0: not looked at yet. */
	uint32_t *file_texts;
	struct dwarf_array ranges; /* struct dwarf_range */
	struct dwarf_array scopes; /* struct line_scope, texts by number */
	struct dwarf_array rows;   /* struct dwarf_row */
};

/* A new element of an array, of zeros, or NULL without memory. */
void *dwarf_array_add(struct dwarf_array *array, size_t element_bytes);

/* Texts by number: a name, the path of a source file, and that of one of
 * `files`. 0 for NULL, and without memory. */
uint32_t dwarf_build_text(struct dwarf_build *build, const char *text);
uint32_t dwarf_build_path(struct dwarf_build *build, const char *path);
uint32_t dwarf_build_file(struct dwarf_build *build, uint64_t number);

/* Fill the scopes and their ranges, and the rows. */
int dwarf_scopes_read(struct dwarf_build *build);
int dwarf_rows_read(struct dwarf_build *build);

#endif
