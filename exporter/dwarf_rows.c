/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the line table of a unit.
 * Runs on: the process that reads DWARF.
 */
#include "exporter/dwarf_index.h"

#include <errno.h>

static uint32_t file_of(struct dwarf_build *build, Dwarf_Line *line)
{
	Dwarf_Files *files;
	size_t number;

	if (dwarf_line_file(line, &files, &number) == 0 &&
	    files == build->files)
		return dwarf_build_file(build, number);
	return dwarf_build_path(build, dwarf_linesrc(line, NULL, NULL));
}

static struct dwarf_row row_of(struct dwarf_build *build, Dwarf_Line *line,
			       uint64_t address)
{
	struct dwarf_row row = {.start = address};
	bool is_end = true;
	int number = 0;

	dwarf_lineendsequence(line, &is_end);
	if (is_end)
		return row;
	row.file = file_of(build, line);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		row.line = (uint32_t)number;
	return row;
}

/* Of rows at one address the last one counts; rows that say the same as the
 * one before add nothing. */
static int add_row(struct dwarf_build *build, struct dwarf_row row)
{
	struct dwarf_row *rows = build->rows.at;
	size_t count = build->rows.count;
	struct dwarf_row *added;

	if (count && rows[count - 1].start == row.start)
		build->rows.count = --count;
	if (count && rows[count - 1].file == row.file &&
	    rows[count - 1].line == row.line)
		return 0;
	added = dwarf_array_add(&build->rows, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = row;
	return 0;
}

/* libdw has sorted them by address. What was left of code that the linker
 * threw away lies below all of the unit's. */
int dwarf_rows_read(struct dwarf_build *build)
{
	Dwarf_Lines *lines;
	size_t count;
	int error = 0;

	if (dwarf_getsrclines(&build->unit, &lines, &count) != 0)
		return 0;
	if (count > DWARF_ROWS_MAX)
		return -EFBIG;
	for (size_t i = 0; i < count && !error; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;

		if (!line || dwarf_lineaddr(line, &address) != 0 ||
		    address < build->low || address > build->high)
			continue;
		error = add_row(build, row_of(build, line, address));
	}
	return error;
}
