/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws call trees.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/print.h"

#include <stdlib.h>
#include <string.h>

#include "report/mem.h"
#include "report/sum.h"
#include "report/text.h"

/* The columns in front of the tree: 8 + 1 + 5 + 1 + 8 + 2. */
#define NUMBER_COLUMNS 25
#define LEAST_NAME 16

#define BRANCH "├─"
#define LAST_BRANCH "└─"
#define TRUNK "│ "
#define NO_TRUNK "  "

/* Where the drawing stands. */
struct drawing {
	const struct print *print;
	const struct tree *tree;
	/* What is drawn in front of the callees of the node at hand: two
	 * columns a branch above it. */
	char *lead;
	size_t lead_bytes, lead_capacity;
};

/* The callees of a node that are drawn, and those that are too small. */
struct callees {
	size_t drawn, small;
	uint64_t small_ns;
};

static struct callees count_callees(const struct drawing *d, uint32_t node)
{
	struct callees callees = {0};
	uint32_t i = d->tree->nodes[node].first_child;

	for (; i != TREE_NONE; i = d->tree->nodes[i].next_sibling) {
		uint64_t total_ns = d->tree->nodes[i].total_ns;

		if (total_ns >= d->print->least_ns) {
			callees.drawn++;
			continue;
		}
		callees.small++;
		sum_add(&callees.small_ns, total_ns);
	}
	/* Small ones that are much together get a line of their own. */
	if (callees.small_ns < d->print->least_ns)
		callees.small = 0;
	return callees;
}

static void push_lead(struct drawing *d, const char *piece)
{
	size_t bytes = strlen(piece);

	d->lead = mem_room(d->lead, &d->lead_capacity,
			   d->lead_bytes + bytes + 1, 1);
	memcpy(d->lead + d->lead_bytes, piece, bytes + 1);
	d->lead_bytes += bytes;
}

static void pop_lead(struct drawing *d, size_t bytes)
{
	d->lead_bytes = bytes;
	d->lead[bytes] = '\0';
}

/* Prints lead, branch and name within what the screen leaves for them. */
static void print_label(const struct drawing *d, const char *branch,
			const char *name)
{
	char *clean = text_clean(name);
	size_t width = d->print->screen.width, used;
	char *label, *lead;

	if (!width) {
		printf("%s%s%s\n", d->lead, branch, clean);
		free(clean);
		return;
	}
	width -= NUMBER_COLUMNS + text_width(branch);
	/* A lead that is too wide is cut in its middle: the outermost branches
	 * and the nearest ones stay. */
	lead = text_cut_middle(d->lead, width / 2);
	used = text_width(lead);
	label = text_cut_middle(clean, width - used);
	printf("%s%s%s\n", lead, branch, label);
	free(lead);
	free(label);
	free(clean);
}

static void print_line(const struct drawing *d, const struct tree_node *node,
		       const char *branch, const char *name)
{
	char total[TEXT_NUMBER_BYTES], share[TEXT_NUMBER_BYTES];
	char self[TEXT_NUMBER_BYTES];

	words_duration(total, node->total_ns);
	words_percent(share, node->total_ns, d->print->whole_ns);
	words_duration(self, node->self_ns);
	printf("%8s %5s %8s  ", total, share, node->self_ns ? self : "");
	print_label(d, branch, name);
}

static void print_small(const struct drawing *d, const struct callees *callees,
			bool alone)
{
	const struct tree_node node = {.total_ns = callees->small_ns};
	char *name = mem_printf("(%zu smaller ones)", callees->small);

	print_line(d, &node, alone ? "" : LAST_BRANCH, name);
	free(name);
}

/* Draws the callees of a node.
 * NOLINTNEXTLINE(misc-no-recursion): its depth is bounded by that of stacks. */
static void print_callees(struct drawing *d, uint32_t node)
{
	const struct callees callees = count_callees(d, node);
	size_t lines = callees.drawn + (callees.small > 0);
	size_t outer = d->lead_bytes, line = 0;
	uint32_t i = d->tree->nodes[node].first_child;

	for (; i != TREE_NONE; i = d->tree->nodes[i].next_sibling) {
		const struct tree_node *child = &d->tree->nodes[i];
		bool last = ++line == lines;

		if (child->total_ns < d->print->least_ns)
			break; /* sorted: the others are smaller */
		print_line(d, child,
			   lines == 1 ? ""
			   : last     ? LAST_BRANCH
				      : BRANCH,
			   print_name(d->print->model, child->name));
		if (lines > 1)
			push_lead(d, last ? NO_TRUNK : TRUNK);
		print_callees(d, i);
		pop_lead(d, outer);
	}
	if (callees.small)
		print_small(d, &callees, lines == 1);
}

void print_tree(const struct print *print, const struct tree *tree)
{
	struct drawing d = {.print = print, .tree = tree};
	const char *bold = print->screen.colour ? "\033[1m" : "";

	push_lead(&d, "");
	printf("%s%8s %5s %8s  CALL TREE%s\n", bold, "TOTAL", "%", "SELF",
	       print->screen.colour ? "\033[0m" : "");
	print_callees(&d, 0);
	free(d.lead);
}
