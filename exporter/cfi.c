/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether call frame instructions are safe and sensible to execute.
 * Runs on: the exporter's main thread.
 */
#include "exporter/cfi.h"

#define REMEMBERED_MAX 8u

/* DWARF 5, table 7.29 and the GNU extensions. The upper two bits of the first
 * three hold the operation, the lower six an operand. */
enum cfa_op {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
};

/* DWARF 5, table 7.9: those that calculate, without the ones that divide,
 * jump, call, or name a register as the place itself. */
enum dw_op {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_PICK = 0x15,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_DIV = 0x1b,
	OP_PLUS_UCONST = 0x23,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG16 = 0x80,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct walk {
	struct byte_reader program;
	struct cfi_state *state;
	struct cfi_row remembered[REMEMBERED_MAX];
	unsigned int depth;
};

static bool has_no_operand(uint8_t op)
{
	return op == OP_DEREF || op == OP_NOP ||
	       (op >= OP_DUP && op <= OP_ROT && op != OP_PICK) ||
	       (op >= OP_ABS && op <= OP_XOR && op != OP_DIV) ||
	       (op > OP_BRA && op <= OP_NE) ||
	       (op >= OP_LIT0 && op <= OP_LIT31);
}

static bool vet_operation(struct byte_reader *r)
{
	uint8_t op = reader_u8(r);

	if (op >= OP_CONST1U && op <= OP_CONST8S)
		reader_skip(r, UINT64_C(1) << ((op - OP_CONST1U) / 2));
	else if (op == OP_PICK)
		reader_skip(r, 1);
	else if (op == OP_DEREF_SIZE)
		return reader_u8(r) <= 8;
	else if (op == OP_CONSTU || op == OP_CONSTS || op == OP_PLUS_UCONST ||
		 (op >= OP_BREG0 && op <= OP_BREG16))
		reader_leb(r);
	else
		return has_no_operand(op);
	return true;
}

static bool vet_expression(struct byte_reader *program)
{
	uint64_t len = reader_leb(program);
	struct byte_reader r = *program;

	reader_skip(program, len);
	if (program->failed)
		return false;
	r.end = program->at;
	while (reader_left(&r) > 0)
		if (!vet_operation(&r) || r.failed)
			return false;
	return true;
}

static bool vet_register(struct walk *w)
{
	return reader_leb(&w->program) < CFI_COLUMNS;
}

static bool set_rule(struct walk *w, uint64_t column)
{
	if (column == CFI_RETURN_ADDRESS)
		w->state->row.has_return_address = true;
	return column < CFI_COLUMNS;
}

static bool restore_rule(struct walk *w, uint64_t column)
{
	if (column == CFI_RETURN_ADDRESS)
		w->state->row.has_return_address =
			w->state->initial.has_return_address;
	return column < CFI_COLUMNS;
}

static bool undefine(struct walk *w)
{
	uint64_t column = reader_leb(&w->program);

	w->state->ends_stack |= column == CFI_RETURN_ADDRESS;
	return set_rule(w, column);
}

static bool forget_rule(struct walk *w)
{
	uint64_t column = reader_leb(&w->program);

	if (column == CFI_RETURN_ADDRESS)
		w->state->row.has_return_address = false;
	return column < CFI_COLUMNS;
}

static bool is_complete(const struct cfi_row *row)
{
	return row->has_cfa && row->has_return_address;
}

static bool remember(struct walk *w)
{
	if (w->depth == REMEMBERED_MAX)
		return false;
	w->remembered[w->depth++] = w->state->row;
	return true;
}

static bool restore(struct walk *w)
{
	if (w->depth == 0)
		return false;
	w->state->row = w->remembered[--w->depth];
	return true;
}

static bool advance(struct walk *w, size_t operand_bytes)
{
	reader_skip(&w->program, operand_bytes);
	return is_complete(&w->state->row);
}

static bool set_by_expression(struct walk *w)
{
	return set_rule(w, reader_leb(&w->program)) &&
	       vet_expression(&w->program);
}

static bool set_by_number(struct walk *w, uint64_t column)
{
	reader_leb(&w->program);
	return set_rule(w, column);
}

static bool define_cfa(struct walk *w, bool has_register, bool has_offset)
{
	bool fits = !has_register || vet_register(w);

	if (has_offset)
		reader_leb(&w->program);
	w->state->row.has_cfa |= has_register;
	return fits;
}

static bool define_cfa_by_expression(struct walk *w)
{
	w->state->row.has_cfa = true;
	return vet_expression(&w->program);
}

static bool vet_plain(struct walk *w, uint8_t op)
{
	switch ((enum cfa_op)op) {
	case CFA_NOP:
		return true;
	case CFA_ADVANCE_LOC1:
		return advance(w, 1);
	case CFA_ADVANCE_LOC2:
		return advance(w, 2);
	case CFA_ADVANCE_LOC4:
		return advance(w, 4);
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
		return set_by_number(w, reader_leb(&w->program));
	case CFA_RESTORE_EXTENDED:
		return restore_rule(w, reader_leb(&w->program));
	case CFA_UNDEFINED:
		return undefine(w);
	case CFA_SAME_VALUE:
		return forget_rule(w);
	case CFA_REGISTER:
		return set_rule(w, reader_leb(&w->program)) && vet_register(w);
	case CFA_REMEMBER_STATE:
		return remember(w);
	case CFA_RESTORE_STATE:
		return restore(w);
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
		return define_cfa(w, true, true);
	case CFA_DEF_CFA_REGISTER:
		return define_cfa(w, true, false);
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		return define_cfa(w, false, true);
	case CFA_DEF_CFA_EXPRESSION:
		return define_cfa_by_expression(w);
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		return set_by_expression(w);
	case CFA_GNU_ARGS_SIZE:
		reader_leb(&w->program);
		return true;
	default:
		return false;
	}
}

static bool vet_instruction(struct walk *w)
{
	uint8_t op = reader_u8(&w->program);
	uint8_t operand = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(w, 0);
	case CFA_OFFSET:
		return set_by_number(w, operand);
	case CFA_RESTORE:
		return restore_rule(w, operand);
	default:
		return vet_plain(w, op);
	}
}

static bool vet_all(struct byte_reader program, struct cfi_state *state)
{
	struct walk w = {.program = program, .state = state};

	while (reader_left(&w.program) > 0)
		if (!vet_instruction(&w) || w.program.failed)
			return false;
	return true;
}

bool cfi_vet_initial(struct byte_reader program, struct cfi_state *state)
{
	*state = (struct cfi_state){.ends_stack = false};
	if (!vet_all(program, state))
		return false;
	state->initial = state->row;
	return true;
}

bool cfi_vet(struct byte_reader program, struct cfi_state *state)
{
	return vet_all(program, state) && is_complete(&state->row);
}
