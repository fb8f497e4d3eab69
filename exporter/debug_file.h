/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file that holds the debug information of another.
 *
 * It is looked for by build id (DIR/.build-id/xx/yyyy.debug), then by the name
 * in .gnu_debuglink (beside the file, in .debug/ there, in DIR followed by the
 * file's folder), where DIR is each of SPANPROF_DEBUG_DIR. A file with another
 * build id is never taken; where one of both has none, the checksum in the link
 * must be right. Nothing is looked for on the network.
 *
 * Formats: GDB's manual, "Debugging Information in Separate Files";
 * .gnu_debugaltlink is dwz's: a path, NUL, a build id.
 */
#ifndef EXPORTER_DEBUG_FILE_H
#define EXPORTER_DEBUG_FILE_H

#include "exporter/elf_sections.h"

/* Absolute folders, separated by colons. */
#define DEBUG_FILE_FOLDERS "SPANPROF_DEBUG_DIR"
#define DEBUG_FILE_FOLDERS_DEFAULT "/usr/lib/debug"

/* What the file is, for which debug information is wanted. */
struct debug_wanted {
	const struct elf_image *image;
	const struct elf_sections *sections;
	const char *path;
	/* The process in whose root the path is a path; 0: in ours. */
	uint32_t pid;
};

/* The path of a file that was found; as long as a path may be. */
struct debug_path {
	char text[4096];
};

/* Opens it. 0, or -ENOENT. */
int debug_file_find(const struct debug_wanted *wanted, struct elf_image *image,
		    struct debug_path *path);

/* The descriptor of dwz's common file that a debug file refers to, or -1. */
int debug_file_alternate(const struct debug_wanted *debug_file);

/* Whether there is DWARF in it. */
bool debug_file_has_dwarf(const struct elf_sections *sections);

#endif
