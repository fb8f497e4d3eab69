/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of functions and call trees, for `show` and `top`. */
#ifndef REPORT_PRINT_H
#define REPORT_PRINT_H

#include "report/sums.h"
#include "report/table.h"
#include "report/tree.h"

/* How much is printed, and where. */
struct print {
	const struct model *model;
	struct screen screen;
	uint64_t whole_ns; /* what shares are of */
	uint64_t least_ns; /* print_tree: what used less is left out */
	size_t limit;      /* print_functions: rows */
};

/* Prints functions and, if there are more than the limit, how many. */
void print_functions(const struct print *print,
		     const struct function_sums *functions);

/*
 * Prints a call tree. A function with one callee is followed by it at the same
 * depth, so that long chains stay readable; branches are drawn.
 */
void print_tree(const struct print *print, const struct tree *tree);

/* The name of a function for a table: a text of the model, or a word for
 * none. */
const char *print_name(const struct model *model, uint32_t name);

#endif
