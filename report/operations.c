/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `spanprof top --operations`: one row an operation.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/commands.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/filter.h"
#include "report/json_out.h"
#include "report/mem.h"
#include "report/print.h"
#include "report/sum.h"
#include "report/text.h"

#define USUAL_OPERATIONS 30

struct operation {
	uint32_t name;
	uint64_t count, cpu_ns, samples, errors;
	uint64_t *durations; /* sorted by finish() */
	size_t timed, capacity;
};

struct operations {
	struct operation *items;
	size_t count, capacity;
	struct idmap places;
};

static struct operation *place(struct operations *all, uint32_t name)
{
	uint32_t *at = idmap_at(&all->places, name);

	if (*at != IDMAP_NONE)
		return &all->items[*at];
	all->items = mem_room(all->items, &all->capacity, all->count + 1,
			      sizeof(*all->items));
	*at = (uint32_t)all->count++;
	all->items[*at] = (struct operation){.name = name};
	return &all->items[*at];
}

static void add_span(struct operations *all, const struct span *span)
{
	struct operation *operation = place(all, span->operation);
	uint64_t duration_ns;

	sum_add(&operation->count, 1);
	sum_add(&operation->cpu_ns, span_cpu_ns(span));
	sum_add(&operation->samples, span->samples);
	operation->errors += span->failed;
	if (!span_duration_ns(span, &duration_ns))
		return;
	operation->durations =
		mem_room(operation->durations, &operation->capacity,
			 operation->timed + 1, sizeof(duration_ns));
	operation->durations[operation->timed++] = duration_ns;
}

static int compare_durations(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return sum_compare_down(*y, *x);
}

static int compare_operations(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;
	int order = sum_compare_down(x->cpu_ns, y->cpu_ns);

	if (!order)
		order = sum_compare_down(x->count, y->count);
	return order ? order : sum_compare_down(y->name, x->name);
}

static void finish(struct operations *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].timed)
			qsort(all->items[i].durations, all->items[i].timed,
			      sizeof(uint64_t), compare_durations);
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items),
		      compare_operations);
}

static void collect(struct operations *all, const struct model *model,
		    const char *name)
{
	bool *wanted;

	filter_spans(model, name, &wanted);
	for (size_t i = 1; i < model->span_count; i++)
		if (wanted[i])
			add_span(all, &model->spans[i]);
	free(wanted);
	finish(all);
}

static void release(struct operations *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->items[i].durations);
	free(all->items);
	idmap_fini(&all->places);
}

/* The nearest rank: a duration that occurred, not one in between. The
 * operation must have a duration. */
static uint64_t percentile(const struct operation *operation, size_t percent)
{
	size_t rank = (operation->timed * percent + 99) / 100;

	return operation->durations[rank ? rank - 1 : 0];
}

static void write_percentile(char text[TEXT_NUMBER_BYTES],
			     const struct operation *operation, size_t percent)
{
	if (operation->timed)
		words_duration(text, percentile(operation, percent));
	else
		snprintf(text, TEXT_NUMBER_BYTES, "-");
}

static void add_row(struct table *table, const struct model *model,
		    const struct operation *operation)
{
	char count[TEXT_NUMBER_BYTES], samples[TEXT_NUMBER_BYTES];
	char p50[TEXT_NUMBER_BYTES], p95[TEXT_NUMBER_BYTES];
	char most[TEXT_NUMBER_BYTES], cpu[TEXT_NUMBER_BYTES];
	char each[TEXT_NUMBER_BYTES];
	const char *const cells[] = {
		print_name(model, operation->name),
		count,
		p50,
		p95,
		most,
		cpu,
		each,
		samples,
	};

	snprintf(count, sizeof(count), "%" PRIu64, operation->count);
	snprintf(samples, sizeof(samples), "%" PRIu64, operation->samples);
	write_percentile(p50, operation, 50);
	write_percentile(p95, operation, 95);
	write_percentile(most, operation, 100);
	words_duration(cpu, operation->cpu_ns);
	words_duration(each, operation->cpu_ns / operation->count);
	table_add(table, cells);
}

static void print_table(const struct operations *all, const struct model *model,
			const struct options *options)
{
	static const struct table_column columns[] = {
		{"OPERATION", false, TABLE_MIDDLE, 24, 10},
		{"COUNT", true, TABLE_NEVER, 0, 0},
		{"P50", true, TABLE_NEVER, 0, 0},
		{"P95", true, TABLE_NEVER, 0, 0},
		{"MAX", true, TABLE_NEVER, 0, 0},
		{"CPU", true, TABLE_NEVER, 0, 0},
		{"CPU/REQ", true, TABLE_NEVER, 0, 0},
		{"SAMPLES", true, TABLE_NEVER, 0, 0},
	};
	const struct screen screen = options_screen(options);
	size_t limit = options_limit(options, USUAL_OPERATIONS);
	struct table *table =
		table_create(columns, sizeof(columns) / sizeof(*columns));

	for (size_t i = 0; i < all->count && i < limit; i++)
		add_row(table, model, &all->items[i]);
	table_print(table, stdout, &screen, limit);
	table_destroy(table);
	if (all->count > limit)
		printf("(%zu more operations; --limit=0 shows all)\n",
		       all->count - limit);
}

static void set_percentile(json_t *to, const char *key,
			   const struct operation *operation, size_t percent)
{
	json_object_set_new(to, key,
			    operation->timed ? json_out_number(percentile(
						       operation, percent))
					     : json_null());
}

static json_t *operation_object(const struct model *model,
				const struct operation *operation)
{
	json_t *to = json_object();

	json_object_set_new(to, "operation",
			    json_out_text(model_text(model, operation->name)));
	json_object_set_new(to, "count", json_out_number(operation->count));
	set_percentile(to, "p50_ns", operation, 50);
	set_percentile(to, "p95_ns", operation, 95);
	set_percentile(to, "max_ns", operation, 100);
	json_object_set_new(to, "cpu_ns", json_out_number(operation->cpu_ns));
	json_object_set_new(
		to, "cpu_per_request_ns",
		json_out_number(operation->cpu_ns / operation->count));
	json_object_set_new(to, "samples", json_out_number(operation->samples));
	json_object_set_new(to, "errors", json_out_number(operation->errors));
	return to;
}

static void print_json(const struct operations *all, const struct model *model,
		       size_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < all->count && i < limit; i++)
		json_array_append_new(array,
				      operation_object(model, &all->items[i]));
	json_out_print(array);
}

int operations_run(const struct model *model, const struct options *options)
{
	struct operations all = {0};

	collect(&all, model, options->name);
	if (options->json)
		print_json(&all, model, options->limit);
	else
		print_table(&all, model, options);
	release(&all);
	return EXIT_SUCCESS;
}
