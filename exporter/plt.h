/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the stubs of the procedure linkage table, which have no symbols:
 * each jumps through a slot, and a relocation says for which function that is.
 *
 * Formats: System V gABI 4.1, "Relocation", with the x86-64 psABI, "Procedure
 * Linkage Table"; .plt.sec and .plt.got are those of GNU ld.
 */
#ifndef EXPORTER_PLT_H
#define EXPORTER_PLT_H

#include <stdint.h>

#include "exporter/elf_image.h"

struct plt_stub {
	uint64_t start; /* ELF vaddr */
	uint32_t len_bytes;
	uint32_t name; /* offset in `names` */
};

struct plt {
	struct plt_stub *stubs;
	uint32_t count;
	size_t capacity;
	char *names; /* "function@plt" each */
	uint32_t names_bytes;
	size_t names_capacity;
};

/* Reads those of an open image; none when there are none that make sense. Free
 * it with plt_free. */
void plt_read(struct plt *plt, const struct elf_image *image);

void plt_free(struct plt *plt);

#endif
