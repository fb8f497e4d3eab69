/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame instructions that libunwind may see, and those it must not. */
#include "exporter/cfi.h"

#include "tests/lib/unit.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__})
#define VET(...) vet(BYTES(__VA_ARGS__), sizeof((const uint8_t[]){__VA_ARGS__}))

/* What every compiler's CIE says: the CFA is rsp+8, the return address lies
 * at CFA-8. */
static const uint8_t usual_cie[] = {0x0c, 7, 8, 0x90, 1};

static struct cfi_state state;

static bool vet(const uint8_t *program, size_t len)
{
	CHECK(cfi_vet_initial(reader_of(usual_cie, sizeof(usual_cie)), &state));
	return cfi_vet(reader_of(program, len), &state);
}

TEST(what_compilers_write_passes)
{
	CHECK(cfi_vet_initial(reader_of(usual_cie, sizeof(usual_cie)), &state));
	CHECK(cfi_vet(reader_of(usual_cie, 0), &state));
	/* push rbp; mov rsp, rbp; ...; pop rbp */
	CHECK(VET(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x20, 0x0a,
		  0xc6, 0x0c, 7, 8, 0x41, 0x0b));
	CHECK(!state.ends_stack);
	/* The PLT: rsp+8 + ((rip & 15) >= 11) * 8 */
	CHECK(VET(0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0,
		  0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0, 0, 0, 0));
	/* A stack that was realigned: CFA at breg6-8 deref, rbx at breg6-16 */
	CHECK(VET(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 3, 2, 0x76, 0x70));
	CHECK(VET(0x2e, 16, 0x03, 1, 1, 0x04, 1, 1, 1, 1, 0x00));
}

TEST(an_undefined_return_address_ends_the_stack)
{
	CHECK(VET(0x07, 16));
	CHECK(state.ends_stack);
	CHECK(VET(0x07, 6));
	CHECK(!state.ends_stack);
}

TEST(registers_that_do_not_exist_are_refused)
{
	CHECK(!VET(0x80 + 17, 1));
	CHECK(!VET(0xc0 + 17));
	CHECK(!VET(0x05, 17, 1));
	CHECK(!VET(0x09, 3, 17)); /* an index into libunwind's stack */
	CHECK(!VET(0x09, 3, 0xff, 0xff, 0xff, 0x7f));
	CHECK(!VET(0x07, 17));
	CHECK(!VET(0x0d, 17));
	CHECK(!VET(0x0c, 17, 8));
	CHECK(!VET(0x10, 17, 1, 0x96));
	CHECK(VET(0x09, 3, 16));
}

TEST(unknown_instructions_are_refused)
{
	CHECK(!VET(0x01, 0, 0, 0, 0, 0, 0, 0, 0)); /* DW_CFA_set_loc */
	CHECK(!VET(0x14, 3, 1));                   /* DW_CFA_val_offset */
	CHECK(!VET(0x1d));
	CHECK(!VET(0x2d));
	CHECK(!VET(0x2f, 3, 1));
	CHECK(!VET(0x3f));
}

TEST(instructions_that_are_cut_off_are_refused)
{
	CHECK(!VET(0x83));
	CHECK(!VET(0x0c, 7));
	CHECK(!VET(0x04, 1, 1, 1));
	CHECK(!VET(0x0f, 3, 0x76, 0x78));
	CHECK(!VET(0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		   0x80, 1)); /* more than ten bytes */
}

TEST(remembered_states_are_few_and_balanced)
{
	CHECK(VET(0x0a, 0x0a, 0x0b, 0x0b));
	CHECK(!VET(0x0b));
	CHECK(!VET(0x0a, 0x0b, 0x0b));
	CHECK(!VET(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

TEST(expressions_that_divide_jump_or_call_are_refused)
{
	CHECK(VET(0x0f, 2, 0x77, 8));
	CHECK(!VET(0x0f, 5, 0x77, 8, 0x3f, 0x3f, 0x1b));       /* div traps */
	CHECK(!VET(0x0f, 5, 0x77, 8, 0x2f, 0xfd, 0xff));       /* skip loops */
	CHECK(!VET(0x0f, 6, 0x77, 8, 0x31, 0x28, 0xfc, 0xff)); /* bra */
	CHECK(!VET(0x0f, 3, 0x98, 0, 0));                      /* call2 */
	CHECK(!VET(0x0f, 1, 0x57));                            /* reg7 */
	CHECK(!VET(0x0f, 2, 0x81, 0));                         /* breg17 */
	CHECK(!VET(0x0f, 2, 0x94, 9));                         /* deref_size */
	CHECK(!VET(0x0f, 9, 0x77, 8));                         /* too long */
	CHECK(!VET(0x0f, 1, 0x77)); /* operand outside of its length */
	CHECK(!VET(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		   1));
}

TEST(a_row_without_cfa_or_return_address_is_refused)
{
	static const uint8_t empty[] = {0}, no_address[] = {0x0c, 7, 8};

	CHECK(cfi_vet_initial(reader_of(empty, 1), &state));
	CHECK(!cfi_vet(reader_of(empty, 1), &state));
	CHECK(cfi_vet_initial(reader_of(no_address, 3), &state));
	CHECK(!cfi_vet(reader_of(empty, 1), &state));
	CHECK(!VET(0x08, 16)); /* the caller's pc is the callee's: a loop */

	/* A signal frame says all in its FDE. */
	CHECK(cfi_vet_initial(reader_of(empty, 1), &state));
	CHECK(cfi_vet(reader_of(BYTES(0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3,
				      0x77, 0xa8, 1),
				12),
		      &state));
	/* But not after a row has begun. */
	CHECK(cfi_vet_initial(reader_of(empty, 1), &state));
	CHECK(!cfi_vet(reader_of(BYTES(0x41, 0x0c, 7, 8, 0x90, 1), 6), &state));
}

TEST(a_restored_return_address_is_that_of_the_cie)
{
	static const uint8_t no_address[] = {0x0c, 7, 8};

	CHECK(VET(0x07, 16, 0xd0));
	CHECK(cfi_vet_initial(reader_of(no_address, 3), &state));
	CHECK(!cfi_vet(reader_of(BYTES(0x90, 1, 0xd0), 3), &state));
}
