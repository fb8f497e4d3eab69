/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one ELF file by address: .symtab and .dynsym, merged.
 *
 * A name is given only for an address that the symbol says it holds (st_size).
 * The nearest symbol below is no answer: in a stripped library it is some
 * exported function a megabyte away.
 *
 * Beside those that are in the file itself there are those of its debug file
 * and of its mini debug information, and names for the stubs of the procedure
 * linkage table: `name@plt`.
 *
 * Format: System V gABI 4.1, "Symbol Table", read by elfutils' libelf.
 */
#ifndef EXPORTER_SYMBOLS_H
#define EXPORTER_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/elf_image.h"

/* What is beyond these is left out, so that a file can't fill our memory. */
#define SYMBOLS_MAX (2u << 20)
#define SYMBOLS_TABLE_MAX_BYTES (128u << 20)
#define SYMBOLS_NAMES_MAX_BYTES (64u << 20)
#define SYMBOLS_NAME_MAX_BYTES (16u << 10)

struct symbols;

/* Files whose symbols are read together. */
#define SYMBOLS_IMAGES_MAX 3u

/* Reads the functions of open images, of which the first is the file that is
 * mapped and NULL ends them. NULL when there is none that we can read. The
 * images may be closed afterwards. Free with symbols_destroy. */
struct symbols *symbols_load(const struct elf_image *const *images);

void symbols_destroy(struct symbols *symbols); /* NULL is fine */

/* Memory that is held, for the bounds of those who keep many. */
size_t symbols_bytes(const struct symbols *symbols);

/*
 * The innermost function that holds an ELF vaddr, as it stands in the file but
 * without a version (`@...`), or NULL. Of several names for one function it is
 * always the same: global before weak before local, then the one with fewest
 * leading underscores, then the shortest, then the first in the file. The
 * string lives as long as `symbols`.
 */
const char *symbols_find(const struct symbols *symbols, uint64_t vaddr);

/*
 * The same for assembler that didn't give its function a size: the symbol at
 * `start`, where the caller knows that one function reaches from `start` to
 * beyond `vaddr`. NULL when another symbol begins in between.
 */
const char *symbols_find_unsized(const struct symbols *symbols, uint64_t vaddr,
				 uint64_t start);

#endif
