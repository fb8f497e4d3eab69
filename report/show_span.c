/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one span: what is known of it, what its samples are worth, its code.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/show_span.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "report/commands.h"
#include "report/mem.h"
#include "report/print.h"
#include "report/text.h"
#include "report/verdict.h"

#define USUAL_FUNCTIONS 15
#define CUT_PERCENT 1

/* Prints one line of the header. The value may come from a file. */
__attribute__((format(printf, 2, 3))) static void
print_field(const char *field, const char *format, ...)
{
	char value[1024], *clean;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	clean = text_clean(value);
	printf("%-9s %s\n", field, clean);
	free(clean);
}

static void print_ids(const struct model *model, const struct span *span)
{
	char id[SPANID_TEXT_BYTES], trace[TRACEID_TEXT_BYTES];

	spanid_format(id, span->id);
	print_field("span", "%s", id);
	traceid_format(trace, span->trace);
	if (!traceid_is_none(span->trace))
		print_field("trace", "%s", trace);
	spanid_format(id, span->parent);
	if (span->parent)
		print_field("parent", "%s", id);
	if (span->name != span->request)
		print_field("name", "%s", model_text(model, span->name));
	print_field("request", "%s", print_name(model, span->request));
	if (span->service)
		print_field("service", "%s", model_text(model, span->service));
	if (span->pid)
		print_field("process", "%" PRIu64 ", thread %" PRIu64,
			    span->pid, span->tid);
}

static void print_status(const struct span *span)
{
	static const char *const words[] = {
		[SPAN_END_UNKNOWN] = "",
		[SPAN_END_COMPLETE] = ", answered completely",
		[SPAN_END_CLOSED] = ", closed before the answer was complete",
		[SPAN_END_NEXT] = ", followed by the next request",
		[SPAN_END_LOST] = ", lost sight of",
		[SPAN_END_UNFINISHED] = ", still open",
	};
	const char *word = words[span->end];

	if (span->http_status)
		print_field("status", "%" PRIu32 "%s%s", span->http_status,
			    span->failed ? " (error)" : "", word);
	else if (span->failed || word[0])
		print_field("status", "%s%s", span->failed ? "error" : "none",
			    word);
}

static void print_times(const struct span *span)
{
	char date[TEXT_NUMBER_BYTES], clock[TEXT_NUMBER_BYTES];
	char duration[TEXT_NUMBER_BYTES];
	uint64_t duration_ns;

	text_date(date, span->start_ns);
	text_clock(clock, span->start_ns);
	if (span->start_ns)
		print_field("start", "%.10s %s UTC", date, clock);
	if (span_duration_ns(span, &duration_ns)) {
		words_duration(duration, duration_ns);
		print_field("duration", "%s", duration);
	}
	if (!span->recorded)
		print_field("note", "no spans file has it (yet): start, "
				    "duration and exact CPU are unknown");
}

static void print_cpu(const struct span *span)
{
	char cpu[TEXT_NUMBER_BYTES], unsampled[TEXT_NUMBER_BYTES];

	words_duration(cpu, span_cpu_ns(span));
	words_duration(unsampled, span->unsampled_ns);
	if (span->cpu_known)
		print_field("CPU", "%s (exact)", cpu);
	else
		print_field("CPU", "about %s (by its samples)", cpu);
	if (span->unsampled_ns)
		print_field("unsampled", "%s between samples: [unsampled]",
			    unsampled);
}

/* Names the better view when there are too few samples. */
static void print_better_view(const struct model *model,
			      const struct span *span,
			      const struct options *options)
{
	char *operation, *inputs;

	if (span->samples >= VERDICT_ENOUGH || !span->operation)
		return;
	operation = text_quote(model_text(model, span->operation));
	inputs = options_inputs(options);
	print_field("", "all requests of its kind together tell more:");
	print_field("", "spanprof top --name=%s %s", operation, inputs);
	free(operation);
	free(inputs);
}

static void print_verdict(const struct model *model, const struct span *span,
			  const struct options *options)
{
	char *verdict = verdict_text(model, span), *gap = verdict_gap(span);

	print_field("samples", "%" PRIu64, span->samples);
	print_field("verdict", "%s", verdict);
	if (gap)
		print_field("note", "%s", gap);
	print_better_view(model, span, options);
	free(verdict);
	free(gap);
}

static void print_code(const struct model *model,
		       const struct stack_sums *stacks,
		       const struct options *options)
{
	struct print print = {.model = model,
			      .screen = options_screen(options),
			      .whole_ns = stacks->cpu_ns};
	struct function_sums functions;
	struct tree tree;

	print.limit = options->full ? OPTIONS_NO_LIMIT
				    : options_limit(options, USUAL_FUNCTIONS);
	if (!options->full)
		print.least_ns = stacks->cpu_ns / 100 * CUT_PERCENT;
	function_sums_collect(&functions, model, stacks);
	tree_build(&tree, model, stacks);
	putchar('\n');
	print_functions(&print, &functions);
	putchar('\n');
	print_tree(&print, &tree);
	function_sums_fini(&functions);
	tree_fini(&tree);
}

void show_span(const struct model *model, size_t place,
	       const struct options *options)
{
	const struct span *span = &model->spans[place];
	struct stack_sums stacks = {0};

	print_ids(model, span);
	print_status(span);
	print_times(span);
	print_cpu(span);
	print_verdict(model, span, options);
	stack_sums_add(&stacks, model, place);
	if (stacks.item_count)
		print_code(model, &stacks, options);
	stack_sums_fini(&stacks);
}
