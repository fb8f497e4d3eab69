/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniDebugInfo: the symbol table of a stripped file, as a small ELF file that
 * xz packed into its section .gnu_debugdata.
 *
 * Source of the format: GDB's manual, "MiniDebugInfo".
 */
#ifndef EXPORTER_MINI_DEBUG_H
#define EXPORTER_MINI_DEBUG_H

#include "exporter/elf_sections.h"

#define MINI_DEBUG_BYTES_MAX (64u << 20)

/* Unpacks it into memory and opens that. *bytes is the caller's to free, once
 * the image is done with. 0, -ENOENT when there is none, or another negative
 * errno. */
int mini_debug_open(struct elf_image *image,
		    const struct elf_sections *sections, uint8_t **bytes);

#endif
