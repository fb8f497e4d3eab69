/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of sums by stack and function, and of call trees.
 * Runs on: the test program's main thread.
 */
#include "report/tree.h"

#include <stdlib.h>

#include "report/mem.h"
#include "tests/lib/unit.h"

/* A model whose samples are all of no span. */
struct fixture {
	struct model *model;
	struct stack_sums stacks;
	struct function_sums functions;
	struct tree tree;
};

/* A profile of one sample; `stack` is root first, one letter a function. */
static void add_stack(struct model *model, const char *stack, uint64_t count,
		      uint64_t cpu_ns)
{
	static const char *const texts[] = {"", "a", "b", "c", "d"};
	uint32_t frames[16];
	size_t depth = strlen(stack);
	struct profile_sample sample = {.count = count, .cpu_ns = cpu_ns};
	struct profile_stack whole = {.frame_count = (uint32_t)depth};
	struct profile profile = {.samples = &sample,
				  .sample_count = 1,
				  .stacks = &whole,
				  .stack_count = 1,
				  .frames = frames,
				  .frame_count = depth,
				  .text_count = 5};
	const char *room[5];

	memcpy(room, texts, sizeof(texts));
	profile.texts = room;
	for (size_t i = 0; i < depth; i++)
		frames[depth - 1 - i] = (uint32_t)(stack[i] - 'a' + 1);
	model_merge_profile(model, &profile);
}

static void build(struct fixture *f)
{
	model_finish(f->model);
	stack_sums_add(&f->stacks, f->model, 0);
	function_sums_collect(&f->functions, f->model, &f->stacks);
	tree_build(&f->tree, f->model, &f->stacks);
}

static void release(struct fixture *f)
{
	tree_fini(&f->tree);
	function_sums_fini(&f->functions);
	stack_sums_fini(&f->stacks);
	model_destroy(f->model);
}

static const struct function_sum *find(const struct fixture *f,
				       const char *name)
{
	for (size_t i = 0; i < f->functions.count; i++)
		if (strcmp(model_text(f->model, f->functions.items[i].name),
			   name) == 0)
			return &f->functions.items[i];
	return NULL;
}

/* The children of a node as letters. Free with free(). */
static char *children(const struct fixture *f, uint32_t node)
{
	char *names = mem_copy("", 0);

	for (uint32_t i = f->tree.nodes[node].first_child; i != TREE_NONE;
	     i = f->tree.nodes[i].next_sibling) {
		char *longer =
			mem_printf("%s%s", names,
				   model_text(f->model, f->tree.nodes[i].name));

		free(names);
		names = longer;
	}
	return names;
}

#define CHECK_CHILDREN(f, node, expected)             \
	do {                                          \
		char *names_ = children((f), (node)); \
		CHECK_STR(names_, (expected));        \
		free(names_);                         \
	} while (0)

TEST(sums_add_self_and_total)
{
	struct fixture f = {.model = model_create()};

	add_stack(f.model, "ab", 1, 10);
	add_stack(f.model, "abc", 2, 20);
	add_stack(f.model, "ab", 1, 10);
	build(&f);
	CHECK_EQ(f.stacks.item_count, 2);
	CHECK_EQ(f.stacks.cpu_ns, 40);
	CHECK_EQ(f.stacks.count, 4);
	CHECK_EQ(find(&f, "a")->self_ns, 0);
	CHECK_EQ(find(&f, "a")->total_ns, 40);
	CHECK_EQ(find(&f, "b")->self_ns, 20);
	CHECK_EQ(find(&f, "b")->total_ns, 40);
	CHECK_EQ(find(&f, "c")->self_ns, 20);
	CHECK_EQ(find(&f, "c")->total_count, 2);
	release(&f);
}

TEST(sums_count_a_recursive_function_once_a_stack)
{
	struct fixture f = {.model = model_create()};

	add_stack(f.model, "abab", 1, 10);
	add_stack(f.model, "aaa", 1, 5);
	build(&f);
	CHECK_EQ(find(&f, "a")->total_ns, 15);
	CHECK_EQ(find(&f, "a")->self_ns, 5);
	CHECK_EQ(find(&f, "b")->total_ns, 10);
	CHECK_EQ(find(&f, "b")->self_ns, 10);
	release(&f);
}

TEST(sums_sort_functions_by_self_then_total)
{
	struct fixture f = {.model = model_create()};

	add_stack(f.model, "ab", 1, 10);
	add_stack(f.model, "cd", 1, 30);
	build(&f);
	CHECK_STR(model_text(f.model, f.functions.items[0].name), "d");
	CHECK_STR(model_text(f.model, f.functions.items[1].name), "b");
	CHECK_STR(model_text(f.model, f.functions.items[2].name), "c");
	CHECK_STR(model_text(f.model, f.functions.items[3].name), "a");
	release(&f);
}

TEST(sums_stop_at_the_largest_number)
{
	struct fixture f = {.model = model_create()};

	add_stack(f.model, "a", 1, UINT64_MAX - 1);
	add_stack(f.model, "a", 1, 10);
	build(&f);
	CHECK(find(&f, "a")->self_ns == UINT64_MAX);
	CHECK(f.model->cpu_ns == UINT64_MAX);
	CHECK(f.tree.nodes[0].total_ns == UINT64_MAX);
	release(&f);
}

TEST(tree_sorts_callees_by_share)
{
	struct fixture f = {.model = model_create()};
	uint32_t a;

	add_stack(f.model, "ab", 1, 10);
	add_stack(f.model, "ac", 1, 30);
	add_stack(f.model, "ad", 1, 20);
	add_stack(f.model, "b", 1, 5);
	build(&f);
	CHECK_CHILDREN(&f, 0, "ab");
	a = f.tree.nodes[0].first_child;
	CHECK_CHILDREN(&f, a, "cdb");
	CHECK_EQ(f.tree.nodes[a].total_ns, 60);
	CHECK_EQ(f.tree.nodes[a].self_ns, 0);
	CHECK_EQ(f.tree.nodes[0].total_ns, 65);
	release(&f);
}

TEST(tree_keeps_recursion_as_levels)
{
	struct fixture f = {.model = model_create()};
	uint32_t node = 0;

	add_stack(f.model, "aaa", 1, 10);
	build(&f);
	for (int depth = 0; depth < 3; depth++) {
		node = f.tree.nodes[node].first_child;
		CHECK(node != TREE_NONE);
		CHECK_EQ(f.tree.nodes[node].total_ns, 10);
	}
	CHECK_EQ(f.tree.nodes[node].self_ns, 10);
	CHECK_EQ(f.tree.nodes[node].first_child, TREE_NONE);
	release(&f);
}

TEST(tree_of_nothing_is_its_root)
{
	struct fixture f = {.model = model_create()};

	build(&f);
	CHECK_EQ(f.tree.count, 1);
	CHECK_EQ(f.tree.nodes[0].first_child, TREE_NONE);
	release(&f);
}
