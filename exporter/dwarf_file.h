/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DWARF of one file, opened by elfutils' libdw.
 *
 * libdw was written for files that compilers made: given others it may crash
 * or take for ever. All of this runs in a process of its own, which has nothing
 * to lose (dwarf_reader.c).
 *
 * Formats: DWARF 4 and 5, also with dwz's alternate file. Of split DWARF (.dwo)
 * only what is in the main file: lines, no inlined functions.
 */
#ifndef EXPORTER_DWARF_FILE_H
#define EXPORTER_DWARF_FILE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/dwarf_protocol.h"

/* A file with more is left alone. */
#define DWARF_UNITS_MAX (1u << 20)

struct dwarf_file {
	int fds[2]; /* -1: none */
	Elf *elfs[2];
	Dwarf *dwarf;
	Dwarf *alternate;
};

/* Opens the file behind `fd` and, unless it is -1, the alternate one that it
 * refers to. Takes both descriptors, whatever comes of it. Returns 0 or a
 * negative errno. */
int dwarf_file_open(struct dwarf_file *file, int fd, int alternate_fd);

void dwarf_file_close(struct dwarf_file *file);

/* All code of which a unit says it is its own, by start; of overlapping parts
 * the one that begins first stays. *ranges is the caller's to free. */
int dwarf_file_units(struct dwarf_file *file, struct dwarf_unit_range **ranges,
		     size_t *count);

/* The DIE of the unit at an offset that dwarf_file_units told. */
int dwarf_file_unit(struct dwarf_file *file, uint64_t offset, Dwarf_Die *die);

/* Whether a range is one of code that is there. What a linker throws away it
 * leaves in the debug information, at address 0 or 1, or at the last ones. */
bool dwarf_range_is_real(uint64_t start, uint64_t end);

#endif
