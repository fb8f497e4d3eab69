/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `spanprof show`: one span, or all spans of a trace.
 * Runs on: the main thread of the spanprof command.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r */
#endif
#include "report/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_out.h"
#include "report/load.h"
#include "report/mem.h"
#include "report/message.h"
#include "report/show_span.h"
#include "report/sum.h"
#include "report/verdict.h"

#define CANDIDATES_SHOWN 5

/* The spans that were asked for, as places in model.spans. */
struct found {
	size_t *places;
	size_t count, capacity;
};

static void find_spans(struct found *found, const struct model *model,
		       const struct spanid_query *query)
{
	for (size_t i = 1; i < model->span_count; i++) {
		const struct span *span = &model->spans[i];

		if (!spanid_query_matches(query, span->id, span->trace))
			continue;
		found->places =
			mem_room(found->places, &found->capacity,
				 found->count + 1, sizeof(*found->places));
		found->places[found->count++] = i;
	}
}

static json_t *span_object(const struct model *model, size_t place,
			   const struct options *options)
{
	const struct span *span = &model->spans[place];
	json_t *to = json_out_span(model, span);
	char *verdict = verdict_text(model, span);
	struct stack_sums stacks = {0};
	struct function_sums functions;
	struct tree tree;

	stack_sums_add(&stacks, model, place);
	function_sums_collect(&functions, model, &stacks);
	tree_build(&tree, model, &stacks);
	json_object_set_new(to, "verdict", json_out_text(verdict));
	json_object_set_new(to, "enough_samples",
			    json_boolean(span->samples >= VERDICT_ENOUGH));
	json_object_set_new(
		to, "functions",
		json_out_functions(model, &functions, options->limit));
	json_object_set_new(to, "tree", json_out_tree(model, &tree));
	function_sums_fini(&functions);
	tree_fini(&tree);
	stack_sums_fini(&stacks);
	free(verdict);
	return to;
}

static void show_json(const struct model *model, const struct found *found,
		      bool is_trace, const struct options *options)
{
	char trace[TRACEID_TEXT_BYTES];
	json_t *root, *array;

	if (!is_trace) {
		json_out_print(span_object(model, found->places[0], options));
		return;
	}
	root = json_object();
	array = json_array();
	traceid_format(trace, model->spans[found->places[0]].trace);
	json_object_set_new(root, "trace_id", json_string(trace));
	for (size_t i = 0; i < found->count; i++)
		json_array_append_new(
			array, span_object(model, found->places[i], options));
	json_object_set_new(root, "spans", array);
	json_out_print(root);
}

static void show_text(const struct model *model, const struct found *found,
		      const struct options *options)
{
	if (found->count > 1)
		printf("%zu spans of this trace\n\n", found->count);
	for (size_t i = 0; i < found->count; i++) {
		if (i)
			putchar('\n');
		show_span(model, found->places[i], options);
	}
}

/* Whether spans that match belong to one trace. */
static bool one_trace(const struct model *model, const struct found *found)
{
	struct trace_id first = model->spans[found->places[0]].trace;

	for (size_t i = 1; i < found->count; i++) {
		struct trace_id other = model->spans[found->places[i]].trace;

		if (other.high != first.high || other.low != first.low)
			return false;
	}
	return true;
}

static int refuse_ambiguous(const struct model *model,
			    const struct found *found, const char *typed)
{
	message("%s: %zu spans begin like that; type more digits:", typed,
		found->count);
	for (size_t i = 0; i < found->count && i < CANDIDATES_SHOWN; i++) {
		const struct span *span = &model->spans[found->places[i]];

		message("  %016" PRIx64 " %s", span->id,
			model_text(model, span->request));
	}
	return EXIT_FAILURE;
}

static int refuse_unknown(const struct options *options)
{
	char *inputs = options_inputs(options);

	message("%s: no such span in %s; 'spanprof spans %s' lists those there "
		"are",
		options->span, inputs, inputs);
	free(inputs);
	return EXIT_FAILURE;
}

static int by_start(const void *a, const void *b, void *argument)
{
	const struct model *model = argument;
	const size_t *x = a, *y = b;
	uint64_t first = model->spans[*x].start_ns;
	uint64_t second = model->spans[*y].start_ns;

	if (first != second)
		return sum_compare_down(second, first);
	return sum_compare_down(*y, *x);
}

static int show_found(struct model *model, struct found *found,
		      const struct spanid_query *query,
		      const struct options *options)
{
	if (!found->count)
		return refuse_unknown(options);
	if (query->is_trace ? !one_trace(model, found) : found->count > 1)
		return refuse_ambiguous(model, found, options->span);
	qsort_r(found->places, found->count, sizeof(*found->places), by_start,
		model);
	if (options->json)
		show_json(model, found, query->is_trace, options);
	else
		show_text(model, found, options);
	return EXIT_SUCCESS;
}

int show_run(const struct options *options)
{
	struct spanid_query query;
	struct found found = {0};
	struct model *model;
	int status;

	if (spanid_query_parse(&query, options->span) < 0) {
		message("'%s' is no id: type 4 or more hex digits of a span or "
			"trace; 'spanprof spans' lists them",
			options->span);
		return 2;
	}
	status = load_model(&model, options);
	if (!model)
		return status;
	find_spans(&found, model, &query);
	/* Tables show the beginning of trace ids too. */
	if (!found.count && query.bare) {
		query.is_trace = true;
		find_spans(&found, model, &query);
	}
	status |= show_found(model, &found, &query, options);
	free(found.places);
	model_destroy(model);
	return status;
}
