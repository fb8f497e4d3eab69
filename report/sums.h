/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPU time went: sums by stack, and from them by function. `self` is what
 * a function used itself, `total` what it and its callees used; a function that
 * calls itself counts once a stack.
 */
#ifndef REPORT_SUMS_H
#define REPORT_SUMS_H

#include "report/model.h"

struct stack_sum {
	uint32_t stack;
	uint64_t count, cpu_ns;
};

/* Stacks of some spans, each once. A zeroed struct is empty. */
struct stack_sums {
	struct stack_sum *items;
	size_t item_count, capacity;
	uint32_t *places;       /* of each stack of the model, plus 1 */
	uint64_t count, cpu_ns; /* over all */
};

/* Adds the samples of one span; place 0 for those without a span. */
void stack_sums_add(struct stack_sums *sums, const struct model *model,
		    size_t span);
void stack_sums_fini(struct stack_sums *sums);

struct function_sum {
	uint32_t name; /* text of the model */
	uint64_t self_ns, total_ns;
	uint64_t self_count, total_count;
	size_t last_stack; /* private */
};

struct function_sums {
	struct function_sum *items; /* largest self first, then total */
	size_t count, capacity;
};

/* Fills in `functions`; function_sums_fini is due. */
void function_sums_collect(struct function_sums *functions,
			   const struct model *model,
			   const struct stack_sums *stacks);
void function_sums_fini(struct function_sums *functions);

#endif
