/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches the bytes of a file that a process has mapped: under its name, and
 * where that fails by way of the process itself, so that a program that was
 * deleted or replaced, runs from a memfd, or has a root of its own keeps its
 * names.
 */
#ifndef EXPORTER_ELF_SOURCE_H
#define EXPORTER_ELF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/elf_image.h"

/* A file, as the process that mapped it described it. */
struct elf_identity {
	const char *path; /* absolute, or ELF_IMAGE_VDSO */
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0 when the mapped file has none */
	uint64_t inode;          /* 0 when unknown */
	/* Below: zeros when unknown. */
	uint32_t pid;        /* who has it mapped, while it lives */
	uint64_t start, end; /* one of its mappings there */
	bool is_deleted;     /* the name may stand for another file */
};

/* Whether an image is that file: by build id where one is told, else by inode.
 */
bool elf_identity_matches(const struct elf_identity *identity,
			  const struct elf_image *image);

/*
 * Opens the file that was mapped and no other: at its path in our root, at its
 * path in the process's root, as /proc/PID/exe, in /proc/PID/map_files (which
 * takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). *is_in_root says whether it
 * is found at its path in the process's root. 0, -ESTALE when other files were
 * found instead, or why it could not be opened.
 */
int elf_source_open(struct elf_image *image,
		    const struct elf_identity *identity, bool *is_in_root);

#endif
