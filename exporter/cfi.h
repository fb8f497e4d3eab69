/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vets call frame instructions before libunwind sees them.
 *
 * libunwind 1.6.2 was written for files that a compiler made. Given others it
 * indexes arrays with what it read (DW_CFA_register, the return address
 * column), divides INT64_MIN by -1, loops for ever in DW_OP_skip, and keeps as
 * many remembered states as a file asks for. So only programs that pass here
 * are shown to it; all that gcc, clang, glibc and the kernel produce do.
 *
 * Format: DWARF 5, 6.4.2 and 2.5, with the GNU extensions of the LSB (Core,
 * 10.5), as far as libunwind 1.6.2 (src/dwarf/Gparser.c, Gexpr.c) knows them.
 */
#ifndef EXPORTER_CFI_H
#define EXPORTER_CFI_H

#include <stdbool.h>

#include "exporter/byte_reader.h"

/* The columns of DWARF's table for x86-64: 16 registers and the return
 * address (psABI figure 3.36). */
#define CFI_COLUMNS 17u
#define CFI_RETURN_ADDRESS 16u

/* What a row of the table says, as far as it matters here. */
struct cfi_row {
	bool has_cfa;
	bool has_return_address;
};

struct cfi_state {
	struct cfi_row row;
	struct cfi_row initial; /* what DW_CFA_restore goes back to */
	bool ends_stack;        /* a row says: no return address, the end */
};

/*
 * Walks one program, that of a CIE or of an FDE after its CIE's, whose state
 * it takes over. False when libunwind must not see it: instructions or operands
 * out of what the header of this file tells, or a row that a pc can be in
 * without a rule for the CFA and the return address.
 */
bool cfi_vet_initial(struct byte_reader program, struct cfi_state *state);
bool cfi_vet(struct byte_reader program, struct cfi_state *state);

#endif
