/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `spanprof spans`: one row a span.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/filter.h"
#include "report/json_out.h"
#include "report/load.h"
#include "report/mem.h"
#include "report/message.h"
#include "report/sum.h"
#include "report/text.h"

#define ID_LEAST 8

/* A span with what it is sorted by: the largest key first. */
struct row {
	const struct span *span;
	uint64_t key;
};

struct rows {
	struct row *items;
	size_t count;
};

static uint64_t sort_key(const struct span *span, enum span_order order)
{
	uint64_t duration_ns;

	switch (order) {
	case ORDER_CPU:
		return span_cpu_ns(span);
	case ORDER_SAMPLES:
		return span->samples;
	case ORDER_START:
		/* The earliest first, those without a start last. */
		return span->start_ns ? ~span->start_ns : 0;
	default:
		return span_duration_ns(span, &duration_ns) ? duration_ns : 0;
	}
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = sum_compare_down(x->key, y->key);

	if (!order)
		order = sum_compare_down(y->span->start_ns, x->span->start_ns);
	return order ? order : sum_compare_down(y->span->id, x->span->id);
}

/* The spans that are wanted, sorted. Free rows.items. */
static struct rows select_rows(const struct model *model,
			       const struct options *options)
{
	bool *wanted;
	size_t count = filter_spans(model, options->name, &wanted);
	struct rows rows = {mem_zeroed(count, sizeof(*rows.items)), 0};

	for (size_t i = 1; i < model->span_count; i++) {
		const struct span *span = &model->spans[i];

		if (wanted[i])
			rows.items[rows.count++] = (struct row){
				span, sort_key(span, options->order)};
	}
	free(wanted);
	if (rows.count)
		qsort(rows.items, rows.count, sizeof(*rows.items), compare);
	return rows;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return sum_compare_down(*y, *x);
}

/* How many digits tell all spans of the model apart, ID_LEAST or more. */
static size_t telling_digits(const struct model *model)
{
	uint64_t *ids = mem_zeroed(model->span_count, sizeof(*ids));
	size_t digits = ID_LEAST;

	for (size_t i = 0; i < model->span_count; i++)
		ids[i] = model->spans[i].id;
	qsort(ids, model->span_count, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < model->span_count; i++)
		while (digits < 16 &&
		       (ids[i] ^ ids[i - 1]) >> (4 * (16 - digits)) == 0)
			digits++;
	free(ids);
	return digits;
}

/* The HTTP status, or how else the span ended. */
static void write_status(char text[TEXT_NUMBER_BYTES], const struct span *span)
{
	static const char *const words[] = {
		[SPAN_END_UNKNOWN] = "-",     [SPAN_END_COMPLETE] = "-",
		[SPAN_END_CLOSED] = "closed", [SPAN_END_NEXT] = "next",
		[SPAN_END_LOST] = "lost",     [SPAN_END_UNFINISHED] = "open",
	};

	if (span->http_status)
		snprintf(text, TEXT_NUMBER_BYTES, "%" PRIu32,
			 span->http_status);
	else
		snprintf(text, TEXT_NUMBER_BYTES, "%s",
			 span->failed && span->end <= SPAN_END_COMPLETE
				 ? "error"
				 : words[span->end]);
}

/* Exact CPU time plain, that of samples with a "~". */
static void write_cpu(char text[TEXT_NUMBER_BYTES + 1], const struct span *span)
{
	text[0] = '~';
	words_duration(text + !span->cpu_known, span_cpu_ns(span));
}

static void add_row(struct table *table, const struct model *model,
		    const struct span *span)
{
	char trace[TRACEID_TEXT_BYTES] = "-", id[SPANID_TEXT_BYTES];
	char parent[SPANID_TEXT_BYTES] = "-", start[TEXT_NUMBER_BYTES];
	char duration[TEXT_NUMBER_BYTES] = "-", cpu[TEXT_NUMBER_BYTES + 1];
	char samples[TEXT_NUMBER_BYTES], status[TEXT_NUMBER_BYTES];
	const char *const cells[] = {
		trace,   id,       parent,
		start,   duration, cpu,
		samples, status,   model_text(model, span->request)};
	uint64_t duration_ns;

	if (!traceid_is_none(span->trace))
		traceid_format(trace, span->trace);
	spanid_format(id, span->id);
	if (span->parent)
		spanid_format(parent, span->parent);
	text_clock(start, span->start_ns);
	if (span_duration_ns(span, &duration_ns))
		words_duration(duration, duration_ns);
	write_cpu(cpu, span);
	snprintf(samples, sizeof(samples), "%" PRIu64, span->samples);
	write_status(status, span);
	table_add(table, cells);
}

static void print_table(const struct model *model, const struct rows *rows,
			const struct options *options)
{
	const struct table_column columns[] = {
		{"TRACE", false, TABLE_END, ID_LEAST, 6},
		{"SPAN", false, TABLE_END, 0, telling_digits(model)},
		{"PARENT", false, TABLE_END, ID_LEAST, 6},
		{"START", false, TABLE_END, 0, 8},
		{"DURATION", true, TABLE_NEVER, 0, 0},
		{"CPU", true, TABLE_NEVER, 0, 0},
		{"SAMPLES", true, TABLE_NEVER, 0, 0},
		{"STATUS", false, TABLE_END, 0, 4},
		{"NAME", false, TABLE_MIDDLE, 40, 8},
	};
	size_t count = sizeof(columns) / sizeof(*columns);
	struct table *table = table_create(columns, count);
	const struct screen screen = options_screen(options);

	for (size_t i = 0; i < rows->count && i < options->limit; i++)
		add_row(table, model, rows->items[i].span);
	table_print(table, stdout, &screen, options->limit);
	table_destroy(table);
}

static void print_json(const struct model *model, const struct rows *rows,
		       size_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < rows->count && i < limit; i++)
		json_array_append_new(
			array, json_out_span(model, rows->items[i].span));
	json_out_print(array);
}

/* The next command, for a person. */
static void hint(const struct rows *rows, const struct options *options)
{
	char id[SPANID_TEXT_BYTES], *inputs;

	if (!isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO) || !rows->count)
		return;
	inputs = options_inputs(options);
	spanid_format(id, rows->items[0].span->id);
	message("next: spanprof show %s %s", id, inputs);
	free(inputs);
}

/* Says why there are no rows. The exit status: a name that isn't there is a
 * failure, a program without requests isn't. */
static int explain_none(const struct options *options)
{
	if (options->name) {
		message("no span is named '%s'; 'spanprof top --operations' "
			"lists the names",
			options->name);
		return EXIT_FAILURE;
	}
	message("no spans: the program served no request that could be seen; "
		"'spanprof top' shows all of its code");
	return EXIT_SUCCESS;
}

static int print_spans(const struct model *model, const struct options *options)
{
	struct rows rows = select_rows(model, options);
	int status = EXIT_SUCCESS;

	if (options->json)
		print_json(model, &rows, options->limit);
	else if (rows.count)
		print_table(model, &rows, options);
	if (!rows.count)
		status = explain_none(options);
	else if (!options->json)
		hint(&rows, options);
	free(rows.items);
	return status;
}

int spans_run(const struct options *options)
{
	struct model *model;
	int status = load_model(&model, options);

	if (!model)
		return status;
	status |= print_spans(model, options);
	model_destroy(model);
	return status;
}
