/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of text that fit into a number of columns. Cells may come from files:
 * they are cleaned (text.h).
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How much a table may take up and how it may look. */
struct screen {
	size_t width; /* columns; 0: no bound */
	bool colour;
};

enum table_cut {
	TABLE_NEVER,  /* numbers */
	TABLE_END,    /* ids and times: the first digits will do */
	TABLE_MIDDLE, /* names: begin and end are telling */
};

struct table_column {
	const char *title;
	bool right; /* aligned to the right */
	enum table_cut cut;
	/*
	 * What the column gives up when the table is too wide, in this order:
	 * every column shrinks to `easy`, from left to right, and if that
	 * isn't enough to `least`. 0: it doesn't shrink in that round.
	 */
	size_t easy, least;
};

struct table;

/* `columns` must outlive the table. */
struct table *table_create(const struct table_column *columns, size_t count);
void table_destroy(struct table *table);

/* Adds a row: one text a column, copied. */
void table_add(struct table *table, const char *const cells[]);

/* Prints the titles and the first `limit` rows. */
void table_print(const struct table *table, FILE *to,
		 const struct screen *screen, size_t limit);

#endif
