/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds samples up by stack and by function.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/sums.h"

#include <stdlib.h>
#include <string.h>

#include "report/mem.h"
#include "report/sum.h"

static struct stack_sum *stack_item(struct stack_sums *sums, uint32_t stack)
{
	uint32_t *place = &sums->places[stack];

	if (*place)
		return &sums->items[*place - 1];
	sums->items = mem_room(sums->items, &sums->capacity,
			       sums->item_count + 1, sizeof(*sums->items));
	sums->items[sums->item_count] = (struct stack_sum){.stack = stack};
	*place = (uint32_t)++sums->item_count;
	return &sums->items[*place - 1];
}

void stack_sums_add(struct stack_sums *sums, const struct model *model,
		    size_t span)
{
	const struct span *from = &model->spans[span];

	if (!sums->places)
		sums->places = mem_zeroed(intern_count(model->stacks),
					  sizeof(*sums->places));
	for (size_t i = 0; i < from->profiled; i++) {
		const struct sample *sample = &model->samples[from->first + i];
		struct stack_sum *item = stack_item(sums, sample->stack);

		sum_add(&item->count, sample->count);
		sum_add(&item->cpu_ns, sample->cpu_ns);
		sum_add(&sums->count, sample->count);
		sum_add(&sums->cpu_ns, sample->cpu_ns);
	}
}

void stack_sums_fini(struct stack_sums *sums)
{
	free(sums->items);
	free(sums->places);
	*sums = (struct stack_sums){0};
}

static struct function_sum *function_item(struct function_sums *sums,
					  uint32_t *place, uint32_t name)
{
	if (*place)
		return &sums->items[*place - 1];
	sums->items = mem_room(sums->items, &sums->capacity, sums->count + 1,
			       sizeof(*sums->items));
	sums->items[sums->count] = (struct function_sum){.name = name};
	*place = (uint32_t)++sums->count;
	return &sums->items[*place - 1];
}

/* Where one stack's time is added. `stack_number` counts from 1. */
struct adding {
	struct function_sums *functions;
	uint32_t *places; /* of each text of the model, plus 1 */
	size_t stack_number;
};

static void add_frame(const struct adding *to, const struct stack_sum *sum,
		      uint32_t name, bool is_leaf)
{
	struct function_sum *item =
		function_item(to->functions, &to->places[name], name);

	if (is_leaf) {
		sum_add(&item->self_ns, sum->cpu_ns);
		sum_add(&item->self_count, sum->count);
	}
	if (item->last_stack == to->stack_number)
		return;
	item->last_stack = to->stack_number;
	sum_add(&item->total_ns, sum->cpu_ns);
	sum_add(&item->total_count, sum->count);
}

static int compare(const void *a, const void *b)
{
	const struct function_sum *x = a, *y = b;
	int order = sum_compare_down(x->self_ns, y->self_ns);

	if (!order)
		order = sum_compare_down(x->total_ns, y->total_ns);
	/* Names are numbered as they are met: the same files, the same order.
	 */
	return order ? order : sum_compare_down(y->name, x->name);
}

void function_sums_collect(struct function_sums *functions,
			   const struct model *model,
			   const struct stack_sums *stacks)
{
	struct adding to = {.functions = functions};

	to.places = mem_zeroed(intern_count(model->texts), sizeof(*to.places));
	*functions = (struct function_sums){0};
	for (size_t i = 0; i < stacks->item_count; i++) {
		const struct stack_sum *sum = &stacks->items[i];
		size_t depth;
		const uint32_t *frames = model_stack(model, sum->stack, &depth);

		to.stack_number = i + 1;
		for (size_t k = 0; k < depth; k++)
			add_frame(&to, sum, frames[k], k == 0);
	}
	free(to.places);
	if (functions->count)
		qsort(functions->items, functions->count,
		      sizeof(*functions->items), compare);
}

void function_sums_fini(struct function_sums *functions)
{
	free(functions->items);
	*functions = (struct function_sums){0};
}
