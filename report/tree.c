/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds call trees.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/tree.h"

#include <stdlib.h>

#include "report/mem.h"
#include "report/sum.h"

static uint32_t add_node(struct tree *tree, uint32_t parent, uint32_t name)
{
	uint32_t node = (uint32_t)tree->count;

	tree->nodes = mem_room(tree->nodes, &tree->capacity, tree->count + 1,
			       sizeof(*tree->nodes));
	tree->nodes[tree->count++] = (struct tree_node){
		.name = name,
		.parent = parent,
		.first_child = TREE_NONE,
		.next_sibling = TREE_NONE,
	};
	if (parent == TREE_NONE)
		return node;
	tree->nodes[node].next_sibling = tree->nodes[parent].first_child;
	tree->nodes[parent].first_child = node;
	return node;
}

/* The callee `name` of `parent`, added when it is new. */
static uint32_t callee(struct tree *tree, struct idmap *places, uint32_t parent,
		       uint32_t name)
{
	uint32_t *place = idmap_at(places, (uint64_t)parent << 32 | name);

	if (*place == IDMAP_NONE)
		*place = add_node(tree, parent, name);
	return *place;
}

static void add_total(struct tree_node *node, const struct stack_sum *sum)
{
	sum_add(&node->total_ns, sum->cpu_ns);
	sum_add(&node->total_count, sum->count);
}

static void add_stack(struct tree *tree, struct idmap *places,
		      const struct model *model, const struct stack_sum *sum)
{
	size_t depth;
	const uint32_t *frames = model_stack(model, sum->stack, &depth);
	uint32_t node = 0;

	add_total(&tree->nodes[0], sum);
	while (depth-- > 0) {
		node = callee(tree, places, node, frames[depth]);
		add_total(&tree->nodes[node], sum);
	}
	sum_add(&tree->nodes[node].self_ns, sum->cpu_ns);
	sum_add(&tree->nodes[node].self_count, sum->count);
}

/* A child while its siblings are being sorted. */
struct child {
	uint32_t node, name;
	uint64_t total_ns;
};

static int compare(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	int order = sum_compare_down(x->total_ns, y->total_ns);

	return order ? order : sum_compare_down(y->name, x->name);
}

/* Room for sorting, kept from node to node. */
struct children {
	struct child *items;
	size_t count, capacity;
};

static void sort_children(struct tree *tree, uint32_t parent,
			  struct children *room)
{
	uint32_t *link = &tree->nodes[parent].first_child;

	room->count = 0;
	for (uint32_t i = *link; i != TREE_NONE;
	     i = tree->nodes[i].next_sibling) {
		const struct tree_node *node = &tree->nodes[i];

		room->items = mem_room(room->items, &room->capacity,
				       room->count + 1, sizeof(*room->items));
		room->items[room->count++] =
			(struct child){i, node->name, node->total_ns};
	}
	if (room->count < 2)
		return;
	qsort(room->items, room->count, sizeof(*room->items), compare);
	for (size_t i = 0; i < room->count; i++) {
		*link = room->items[i].node;
		link = &tree->nodes[room->items[i].node].next_sibling;
	}
	*link = TREE_NONE;
}

void tree_build(struct tree *tree, const struct model *model,
		const struct stack_sums *stacks)
{
	struct idmap places = {0};
	struct children room = {0};

	*tree = (struct tree){0};
	add_node(tree, TREE_NONE, 0);
	for (size_t i = 0; i < stacks->item_count; i++)
		add_stack(tree, &places, model, &stacks->items[i]);
	idmap_fini(&places);
	for (size_t i = 0; i < tree->count; i++)
		sort_children(tree, (uint32_t)i, &room);
	free(room.items);
}

void tree_fini(struct tree *tree)
{
	free(tree->nodes);
	*tree = (struct tree){0};
}
