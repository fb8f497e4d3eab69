/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads jump slots and the stubs that use them.
 * Runs on: the exporter's main thread.
 */
#include "exporter/plt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/array.h"
#include "exporter/elf_sections.h"

#define SECTION_MAX_BYTES (16u << 20)
#define NAME_MAX_BYTES 4096u
#define NAMES_MAX_BYTES (16u << 20)
#define SUFFIX "@plt"

struct slot {
	uint64_t address;
	uint32_t symbol;
};

struct slots {
	struct slot *at;
	size_t count;
};

/* What the stubs' names come from. */
struct source {
	struct elf_sections sections;
	struct slots slots;
	uint8_t *symbols;
	size_t symbol_count;
	uint8_t *names;
	size_t names_bytes;
};

static bool add_slots(struct source *from, const char *section_name)
{
	const Elf64_Shdr *section =
		elf_sections_find(&from->sections, section_name);
	uint8_t *bytes = section ? elf_sections_copy(&from->sections, section,
						     SECTION_MAX_BYTES)
				 : NULL;
	size_t count = bytes ? section->sh_size / sizeof(Elf64_Rela) : 0;
	struct slot *at = reallocarray(
		from->slots.at, from->slots.count + count + 1, sizeof(*at));

	if (at)
		from->slots.at = at;
	for (size_t i = 0; at && i < count; i++) {
		Elf64_Rela r;

		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_JUMP_SLOT ||
		    ELF64_R_TYPE(r.r_info) == R_X86_64_GLOB_DAT)
			at[from->slots.count++] = (struct slot){
				r.r_offset, (uint32_t)ELF64_R_SYM(r.r_info)};
	}
	free(bytes);
	return at != NULL;
}

static int by_address(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static bool read_names(struct source *from)
{
	const Elf64_Shdr *symbols =
		elf_sections_find(&from->sections, ".dynsym");
	const Elf64_Shdr *names = elf_sections_find(&from->sections, ".dynstr");

	if (!symbols || !names)
		return false;
	from->symbols =
		elf_sections_copy(&from->sections, symbols, SECTION_MAX_BYTES);
	from->names =
		elf_sections_copy(&from->sections, names, SECTION_MAX_BYTES);
	from->symbol_count = symbols->sh_size / sizeof(Elf64_Sym);
	from->names_bytes = names->sh_size;
	return from->symbols && from->names;
}

static const char *name_of(const struct source *from, uint64_t address)
{
	struct slot key = {.address = address};
	const struct slot *slot =
		bsearch(&key, from->slots.at, from->slots.count, sizeof(key),
			by_address);
	Elf64_Sym symbol;

	if (!slot || slot->symbol == 0 || slot->symbol >= from->symbol_count)
		return NULL;
	memcpy(&symbol, from->symbols + slot->symbol * sizeof(symbol),
	       sizeof(symbol));
	if (symbol.st_name == 0 || symbol.st_name >= from->names_bytes)
		return NULL;
	return (const char *)from->names + symbol.st_name;
}

/* How far the slot of a stub is from its beginning; 0 when it is none. A stub
 * is `jmp *slot(%rip)`, perhaps with endbr64 and a bnd prefix before it. */
static int64_t slot_distance(const uint8_t *code, size_t len_bytes)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t displacement;

	if (len_bytes >= 4 && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = 4;
	if (at < len_bytes && code[at] == 0xf2)
		at++;
	if (len_bytes < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	return (int64_t)at + 6 + displacement;
}

static void add_stub(struct plt *plt, struct plt_stub stub, const char *name)
{
	uint32_t bytes =
		(uint32_t)strnlen(name, NAME_MAX_BYTES) + sizeof(SUFFIX);
	char *names;
	struct plt_stub *stubs;

	if (bytes > NAME_MAX_BYTES || plt->names_bytes > NAMES_MAX_BYTES)
		return;
	names = array_room(plt->names, &plt->names_capacity,
			   (size_t)plt->names_bytes + bytes, 1);
	if (!names)
		return;
	plt->names = names;
	stubs = array_room(plt->stubs, &plt->capacity, (size_t)plt->count + 1,
			   sizeof(*stubs));
	if (!stubs)
		return;
	plt->stubs = stubs;
	stub.name = plt->names_bytes;
	stubs[plt->count++] = stub;
	snprintf(names + plt->names_bytes, bytes, "%s" SUFFIX, name);
	plt->names_bytes += bytes;
}

static void read_stubs(struct plt *plt, const struct source *from,
		       const char *section_name)
{
	const Elf64_Shdr *section =
		elf_sections_find(&from->sections, section_name);
	uint8_t *code = section ? elf_sections_copy(&from->sections, section,
						    SECTION_MAX_BYTES)
				: NULL;
	uint32_t step = section && section->sh_entsize == 8 ? 8 : 16;

	for (uint64_t at = 0; code && at + step <= section->sh_size;
	     at += step) {
		uint64_t start = section->sh_addr + at;
		int64_t distance = slot_distance(code + at, step);
		const char *name =
			distance ? name_of(from, start + (uint64_t)distance)
				 : NULL;

		if (name)
			add_stub(plt, (struct plt_stub){start, step, 0}, name);
	}
	free(code);
}

void plt_read(struct plt *plt, const struct elf_image *image)
{
	struct source from = {.symbols = NULL};

	*plt = (struct plt){.count = 0};
	if (elf_sections_read(&from.sections, image))
		return;
	if (read_names(&from) && add_slots(&from, ".rela.plt") &&
	    add_slots(&from, ".rela.dyn")) {
		qsort(from.slots.at, from.slots.count, sizeof(struct slot),
		      by_address);
		read_stubs(plt, &from, ".plt");
		read_stubs(plt, &from, ".plt.sec");
		read_stubs(plt, &from, ".plt.got");
	}
	free(from.slots.at);
	free(from.symbols);
	free(from.names);
	elf_sections_free(&from.sections);
}

void plt_free(struct plt *plt)
{
	free(plt->stubs);
	free(plt->names);
	*plt = (struct plt){.count = 0};
}
