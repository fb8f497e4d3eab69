/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind information of one ELF file: a private copy of .eh_frame, and the
 * sorted index over it that .eh_frame_hdr holds.
 *
 * Formats: Linux Standard Base Core 5.0, 10.6 (.eh_frame and .eh_frame_hdr);
 * pointer encodings as ld, gold and lld write them for x86-64. Others count as
 * no unwind information.
 */
#ifndef EXPORTER_EH_FRAME_H
#define EXPORTER_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/elf_image.h"

/* Above these sizes a file counts as one without unwind information. The
 * largest known, Chromium's, is below 20 MiB. */
#define EH_FRAME_INDEX_MAX_BYTES (32u << 20)
#define EH_FRAME_MAX_BYTES (64u << 20)

/* An entry of the index, relative to `index_vaddr`. */
struct eh_frame_entry {
	int32_t start;
	int32_t fde;
};

struct eh_frame {
	uint64_t index_vaddr;
	struct eh_frame_entry *entries;
	uint32_t entry_count;
	uint64_t vaddr; /* of `bytes` */
	uint8_t *bytes;
	size_t len_bytes;
};

/* What covers a pc. Addresses are ELF vaddrs. */
struct eh_frame_fde {
	uint64_t start; /* the code it is about */
	uint64_t end;
	uint64_t fde;          /* itself */
	bool ends_stack;       /* marks the outermost function of a stack */
	uint32_t vetted_bytes; /* what finding it cost */
};

/* Copies the unwind information out of an open image. -ENOENT when there is
 * none that we understand, -ENOMEM; the struct is then empty, and stays
 * usable. */
int eh_frame_load(struct eh_frame *frames, const struct elf_image *image);

void eh_frame_free(struct eh_frame *frames);

/* Finds the FDE that covers an address and vets it, see exporter/cfi.h.
 * -ENOENT when none does, with the nearest one below in `fde` if there is one;
 * -EBADMSG when it isn't fit for libunwind. */
int eh_frame_find(const struct eh_frame *frames, uint64_t vaddr,
		  struct eh_frame_fde *fde);

/* Copies `len_bytes` from an address. What lies outside of the copied .eh_frame
 * reads as zeros; false when all of it does. */
bool eh_frame_read(const struct eh_frame *frames, uint64_t vaddr, void *to,
		   size_t len_bytes);

#endif
