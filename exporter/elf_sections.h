/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of an ELF file by name, in bounds. Format: System V gABI 4.1,
 * "Sections".
 */
#ifndef EXPORTER_ELF_SECTIONS_H
#define EXPORTER_ELF_SECTIONS_H

#include <elf.h>

#include "exporter/elf_image.h"

struct elf_sections {
	const struct elf_image *image;
	Elf64_Shdr *headers;
	uint32_t count;
	char *names; /* ended by NUL, whatever was in the file */
	size_t names_bytes;
};

/* Reads the headers of an open image, which must outlive them. 0 or -ENOENT
 * when there are none that make sense; then the struct holds no section. */
int elf_sections_read(struct elf_sections *sections,
		      const struct elf_image *image);

void elf_sections_free(struct elf_sections *sections);

/* The first section of that name which has bytes in the file, all of them
 * inside of it; or NULL. */
const Elf64_Shdr *elf_sections_find(const struct elf_sections *sections,
				    const char *name);

/* A copy of a section's bytes with a NUL behind them, for the caller to free.
 * NULL when there are more than `most_bytes`, or they can't be read. */
uint8_t *elf_sections_copy(const struct elf_sections *sections,
			   const Elf64_Shdr *section, size_t most_bytes);

#endif
