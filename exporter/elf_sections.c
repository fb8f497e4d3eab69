/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sections by name.
 * Runs on: the exporter's main thread.
 */
#include "exporter/elf_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX_BYTES (1u << 20)

static bool is_inside(const struct elf_image *image, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS &&
	       section->sh_size <= image->len_bytes &&
	       section->sh_offset <= image->len_bytes - section->sh_size;
}

uint8_t *elf_sections_copy(const struct elf_sections *sections,
			   const Elf64_Shdr *section, size_t most_bytes)
{
	uint8_t *bytes;

	if (section->sh_size > most_bytes ||
	    !is_inside(sections->image, section))
		return NULL;
	bytes = malloc(section->sh_size + 1);
	if (bytes && elf_image_read(sections->image, section->sh_offset, bytes,
				    section->sh_size)) {
		free(bytes);
		return NULL;
	}
	if (bytes)
		bytes[section->sh_size] = '\0';
	return bytes;
}

int elf_sections_read(struct elf_sections *sections,
		      const struct elf_image *image)
{
	Elf64_Ehdr header;
	size_t bytes;

	*sections = (struct elf_sections){.image = image};
	if (!image->has_sections ||
	    elf_image_read(image, 0, &header, sizeof(header)) ||
	    header.e_shstrndx >= header.e_shnum)
		return -ENOENT;
	bytes = header.e_shnum * sizeof(*sections->headers);
	sections->headers = malloc(bytes);
	if (!sections->headers ||
	    elf_image_read(image, header.e_shoff, sections->headers, bytes))
		goto fail;
	sections->names = (char *)elf_sections_copy(
		sections, &sections->headers[header.e_shstrndx],
		NAMES_MAX_BYTES);
	if (!sections->names)
		goto fail;
	sections->names_bytes = sections->headers[header.e_shstrndx].sh_size;
	sections->count = header.e_shnum;
	return 0;
fail:
	elf_sections_free(sections);
	return -ENOENT;
}

void elf_sections_free(struct elf_sections *sections)
{
	free(sections->headers);
	free(sections->names);
	*sections = (struct elf_sections){.image = sections->image};
}

const Elf64_Shdr *elf_sections_find(const struct elf_sections *sections,
				    const char *name)
{
	for (uint32_t i = 0; i < sections->count; i++) {
		const Elf64_Shdr *section = &sections->headers[i];

		if (section->sh_name < sections->names_bytes &&
		    strcmp(sections->names + section->sh_name, name) == 0 &&
		    is_inside(sections->image, section))
			return section;
	}
	return NULL;
}
