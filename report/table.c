/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out tables of text.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/mem.h"
#include "report/text.h"

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

struct table {
	const struct table_column *columns;
	size_t column_count;
	char **cells; /* clean; row by row */
	size_t cell_count, capacity;
};

struct table *table_create(const struct table_column *columns, size_t count)
{
	struct table *table = mem_zeroed(1, sizeof(*table));

	table->columns = columns;
	table->column_count = count;
	return table;
}

void table_destroy(struct table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void table_add(struct table *table, const char *const cells[])
{
	table->cells = mem_room(table->cells, &table->capacity,
				table->cell_count + table->column_count,
				sizeof(*table->cells));
	for (size_t i = 0; i < table->column_count; i++)
		table->cells[table->cell_count++] = text_clean(cells[i]);
}

/* The width of each column if there were no bound. */
static void measure(const struct table *table, size_t *widths, size_t rows)
{
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = text_width(table->columns[i].title);
	for (size_t i = 0; i < rows * table->column_count; i++) {
		size_t width = text_width(table->cells[i]);
		size_t *column = &widths[i % table->column_count];

		if (width > *column)
			*column = width;
	}
}

/* By how many columns the table is too wide. */
static size_t excess(const struct table *table, const size_t *widths,
		     size_t bound)
{
	size_t sum = table->column_count - 1;

	for (size_t i = 0; i < table->column_count; i++)
		sum += widths[i];
	return bound && sum > bound ? sum - bound : 0;
}

/* Shrinks a column. Half an id is no better than its first digits, so a column
 * that is cut at its end gives up all it can at once. */
static void shrink(size_t *width, const struct table_column *column,
		   size_t least, size_t by)
{
	if (!by || !least || *width <= least)
		return;
	if (column->cut == TABLE_END || *width - least < by)
		*width = least;
	else
		*width -= by;
}

static void fit(const struct table *table, size_t *widths, size_t bound)
{
	const struct table_column *columns = table->columns;

	for (size_t i = 0; i < table->column_count; i++)
		shrink(&widths[i], &columns[i], columns[i].easy,
		       excess(table, widths, bound));
	for (size_t i = 0; i < table->column_count; i++)
		shrink(&widths[i], &columns[i], columns[i].least,
		       excess(table, widths, bound));
}

static char *cut_cell(const struct table_column *column, const char *cell,
		      size_t width)
{
	if (column->cut == TABLE_MIDDLE)
		return text_cut_middle(cell, width);
	if (column->cut == TABLE_END)
		return text_cut_end(cell, width);
	return mem_copy(cell, strlen(cell));
}

static void print_row(const struct table *table, FILE *to, char *const *cells,
		      const size_t *widths)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];
		char *cell = cut_cell(column, cells[i], widths[i]);
		size_t width = text_width(cell);
		int fill = width < widths[i] ? (int)(widths[i] - width) : 0;
		bool last = i + 1 == table->column_count;

		if (column->right)
			fprintf(to, "%*s%s", fill, "", cell);
		else
			fprintf(to, "%s%*s", cell, last ? 0 : fill, "");
		putc(last ? '\n' : ' ', to);
		free(cell);
	}
}

static void print_titles(const struct table *table, FILE *to,
			 const size_t *widths, bool colour)
{
	char **titles = mem_zeroed(table->column_count, sizeof(*titles));

	for (size_t i = 0; i < table->column_count; i++)
		titles[i] = text_clean(table->columns[i].title);
	fputs(colour ? BOLD : "", to);
	print_row(table, to, titles, widths);
	fputs(colour ? PLAIN : "", to);
	for (size_t i = 0; i < table->column_count; i++)
		free(titles[i]);
	free(titles);
}

void table_print(const struct table *table, FILE *to,
		 const struct screen *screen, size_t limit)
{
	size_t *widths = mem_zeroed(table->column_count, sizeof(*widths));
	size_t rows = table->cell_count / table->column_count;

	if (rows > limit)
		rows = limit;
	measure(table, widths, rows);
	fit(table, widths, screen->width);
	print_titles(table, to, widths, screen->colour);
	for (size_t i = 0; i < rows; i++)
		print_row(table, to, table->cells + i * table->column_count,
			  widths);
	free(widths);
}
