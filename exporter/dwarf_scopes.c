/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the DIEs of a unit for functions and inlined calls.
 * Runs on: the process that reads DWARF.
 */
#include "exporter/dwarf_index.h"

#include <dwarf.h>
#include <errno.h>

#define DEPTH_MAX 512u
/* In a function of which there is no code, only its description. */
#define NO_CODE (LINE_INDEX_NONE - 1)

struct level {
	Dwarf_Die die;
	uint32_t scope; /* that holds the DIE; NONE, NO_CODE */
};

struct walk {
	struct dwarf_build *build;
	struct level levels[DEPTH_MAX];
	uint32_t depth;
	uint32_t dies;
	bool no_memory;
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(
		dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(
			die, DW_AT_MIPS_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

static uint64_t number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute),
			    &value) != 0)
		return 0;
	return value;
}

static uint32_t line_of(Dwarf_Die *die, unsigned int name)
{
	uint64_t line = number(die, name);

	return line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t add_scope(struct walk *walk, Dwarf_Die *die, uint32_t parent)
{
	struct dwarf_build *build = walk->build;
	struct line_scope *scope =
		dwarf_array_add(&build->scopes, sizeof(*scope));

	if (!scope) {
		walk->no_memory = true;
		return LINE_INDEX_NONE;
	}
	scope->parent = parent;
	scope->name = dwarf_build_text(build, linkage_name(die));
	scope->declared_file = dwarf_build_path(build, dwarf_decl_file(die));
	scope->declared_line = line_of(die, DW_AT_decl_line);
	if (parent != LINE_INDEX_NONE) {
		scope->call_file =
			dwarf_build_file(build, number(die, DW_AT_call_file));
		scope->call_line = line_of(die, DW_AT_call_line);
	}
	return (uint32_t)build->scopes.count - 1;
}

static bool has_code(Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (dwarf_range_is_real(start, end))
			return true;
	return false;
}

static void add_ranges(struct walk *walk, Dwarf_Die *die, uint32_t scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct dwarf_range *range;

		if (!dwarf_range_is_real(start, end))
			continue;
		range = dwarf_array_add(&walk->build->ranges, sizeof(*range));
		if (!range) {
			walk->no_memory = true;
			return;
		}
		*range = (struct dwarf_range){start, end, scope};
	}
}

/* An inlined call counts as a level even if no code of its own is left: those
 * inlined into it may have some. */
static uint32_t enter_function(struct walk *walk, Dwarf_Die *die,
			       uint32_t parent, bool is_inlined)
{
	uint32_t scope;

	if (is_inlined ? parent == NO_CODE : !has_code(die))
		return NO_CODE;
	scope = add_scope(walk, die, is_inlined ? parent : LINE_INDEX_NONE);
	add_ranges(walk, die, scope);
	return scope;
}

/* Whether functions may be in there; *scope is theirs then. */
static bool enter(struct walk *walk, Dwarf_Die *die, uint32_t *scope)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		*scope = enter_function(walk, die, *scope,
					tag == DW_TAG_inlined_subroutine);
		return true;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

/* To the next DIE behind the one at hand and all that is in it. */
static void advance(struct walk *walk)
{
	while (walk->depth > 0) {
		Dwarf_Die *die = &walk->levels[walk->depth - 1].die;

		if (dwarf_siblingof(die, die) == 0)
			return;
		walk->depth--;
	}
}

static int step(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth - 1];
	uint32_t scope = level->scope;
	Dwarf_Die child;

	if (++walk->dies > DWARF_DIES_MAX)
		return -EFBIG;
	if (!enter(walk, &level->die, &scope) ||
	    dwarf_child(&level->die, &child) != 0) {
		advance(walk);
		return 0;
	}
	if (walk->depth == DEPTH_MAX)
		return -EFBIG;
	walk->levels[walk->depth++] = (struct level){child, scope};
	return 0;
}

/* A walk that is cut short would take an inlined function's code for that of
 * the one around it: rather nothing. */
int dwarf_scopes_read(struct dwarf_build *build)
{
	struct walk walk = {.build = build};
	int error = 0;

	if (dwarf_child(&build->unit, &walk.levels[0].die) != 0)
		return 0;
	walk.levels[0].scope = LINE_INDEX_NONE;
	walk.depth = 1;
	while (walk.depth > 0 && !error)
		error = walk.no_memory ? -ENOMEM : step(&walk);
	if (error)
		build->scopes.count = build->ranges.count = 0;
	return error;
}
