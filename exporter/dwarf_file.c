/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens DWARF and finds which unit has which code.
 * Runs on: the process that reads DWARF.
 */
#include "exporter/dwarf_file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/array.h"

struct unit_ranges {
	struct dwarf_unit_range *at;
	size_t count;
	size_t capacity;
};

bool dwarf_range_is_real(uint64_t start, uint64_t end)
{
	return start > 1 && start < end && end <= INT64_MAX;
}

static Dwarf *open_one(int fd, Elf **elf)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	*elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	return *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
}

int dwarf_file_open(struct dwarf_file *file, int fd, int alternate_fd)
{
	*file = (struct dwarf_file){.fds = {fd, alternate_fd}};
	file->dwarf = open_one(fd, &file->elfs[0]);
	if (!file->dwarf) {
		dwarf_file_close(file);
		return -ENOEXEC;
	}
	if (alternate_fd >= 0)
		file->alternate = open_one(alternate_fd, &file->elfs[1]);
	if (file->alternate)
		dwarf_setalt(file->dwarf, file->alternate);
	return 0;
}

void dwarf_file_close(struct dwarf_file *file)
{
	dwarf_end(file->dwarf);
	dwarf_end(file->alternate);
	for (unsigned int i = 0; i < 2; i++) {
		elf_end(file->elfs[i]);
		if (file->fds[i] >= 0)
			close(file->fds[i]);
	}
	*file = (struct dwarf_file){.fds = {-1, -1}};
}

static int add_range(struct unit_ranges *ranges, struct dwarf_unit_range range)
{
	struct dwarf_unit_range *at = array_room(
		ranges->at, &ranges->capacity, ranges->count + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	ranges->at = at;
	if (ranges->count == DWARF_RANGES_MAX)
		return -EFBIG;
	at[ranges->count++] = range;
	return 0;
}

static int add_unit(struct unit_ranges *ranges, Dwarf_Die *die, uint64_t offset)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int error = 0;

	while (!error &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (dwarf_range_is_real(start, end))
			error = add_range(ranges, (struct dwarf_unit_range){
							  start, end, offset});
	}
	return error;
}

static bool is_code_unit(uint8_t type)
{
	return type == DW_UT_compile || type == DW_UT_partial ||
	       type == DW_UT_skeleton;
}

static int collect(struct unit_ranges *ranges, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;
	int error = 0;

	for (uint32_t n = 0; n < DWARF_UNITS_MAX && !error; n++) {
		if (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die,
				    NULL) != 0)
			return 0;
		if (is_code_unit(type))
			error = add_unit(ranges, &die, dwarf_dieoffset(&die));
	}
	return error;
}

static int by_start(const void *left, const void *right)
{
	const struct dwarf_unit_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Adjacent parts of one unit become one. */
static void disentangle(struct unit_ranges *ranges)
{
	size_t kept = 0;

	if (ranges->count == 0)
		return;
	qsort(ranges->at, ranges->count, sizeof(*ranges->at), by_start);
	for (size_t i = 0; i < ranges->count; i++) {
		struct dwarf_unit_range r = ranges->at[i];
		struct dwarf_unit_range *last =
			kept ? &ranges->at[kept - 1] : NULL;

		if (last && r.start < last->end)
			r.start = last->end;
		if (r.start >= r.end)
			continue;
		if (last && r.start == last->end && r.unit == last->unit)
			last->end = r.end;
		else
			ranges->at[kept++] = r;
	}
	ranges->count = kept;
}

int dwarf_file_units(struct dwarf_file *file, struct dwarf_unit_range **ranges,
		     size_t *count)
{
	struct unit_ranges found = {.at = NULL};
	int error = collect(&found, file->dwarf);

	if (error) {
		free(found.at);
		return error;
	}
	disentangle(&found);
	*ranges = found.at;
	*count = found.count;
	return 0;
}

int dwarf_file_unit(struct dwarf_file *file, uint64_t offset, Dwarf_Die *die)
{
	return dwarf_offdie(file->dwarf, offset, die) ? 0 : -EINVAL;
}
