/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the DWARF of damaged files, as the process that does that would, and
 * looks up what comes of it. libdw's own faults are found, too: that process is
 * there for them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "exporter/dwarf_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNITS_READ 8u
#define FRAMES 16u

static void look_up(const void *bytes, size_t len_bytes,
		    const struct dwarf_unit_range *range)
{
	struct line_frame frames[FRAMES];

	if (!line_index_check(bytes, len_bytes))
		abort();
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t at = range->start +
			      i * ((range->end - range->start) / 64 + 1);
		uint32_t count = line_index_find(bytes, at, frames, FRAMES);

		if (count > FRAMES)
			abort();
		while (count-- > 0)
			if (strlen(frames[count].name) > len_bytes ||
			    strlen(frames[count].file) > len_bytes)
				abort();
	}
}

static void read_units(struct dwarf_file *file)
{
	struct dwarf_unit_range *ranges = NULL;
	size_t count = 0;

	if (dwarf_file_units(file, &ranges, &count))
		return;
	for (size_t i = 0; i < count && i < UNITS_READ; i++) {
		void *bytes;
		size_t len_bytes;

		if (dwarf_index_make(file, ranges[i].unit, &bytes, &len_bytes))
			continue;
		look_up(bytes, len_bytes, &ranges[i]);
		free(bytes);
	}
	free(ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dwarf_fuzz", MFD_CLOEXEC);
	struct dwarf_file file;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (dwarf_file_open(&file, fd, -1) == 0) {
		read_units(&file);
		dwarf_file_close(&file);
	}
	return 0;
}
