/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of some stacks: callers above callees, the largest share first.
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "report/sums.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
	uint32_t name;                              /* text of the model */
	uint32_t parent, first_child, next_sibling; /* nodes or TREE_NONE */
	uint64_t self_ns, total_ns;
	uint64_t self_count, total_count;
};

/* Node 0 is above all roots, has no name and the total of all stacks. */
struct tree {
	struct tree_node *nodes;
	size_t count, capacity;
};

/* Builds the tree; tree_fini is due. */
void tree_build(struct tree *tree, const struct model *model,
		const struct stack_sums *stacks);
void tree_fini(struct tree *tree);

#endif
