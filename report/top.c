/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `spanprof top`: functions over all samples, or over those of an operation.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/json_out.h"
#include "report/load.h"
#include "report/mem.h"
#include "report/message.h"
#include "report/print.h"
#include "report/sum.h"
#include "report/text.h"

#define USUAL_FUNCTIONS 30

/* What the functions are of. */
struct chosen {
	struct stack_sums stacks;
	size_t spans; /* with samples or without */
	uint64_t unsampled_ns, with_span_ns;
};

static void add_span(struct chosen *chosen, const struct model *model,
		     size_t place)
{
	const struct span *span = &model->spans[place];

	stack_sums_add(&chosen->stacks, model, place);
	sum_add(&chosen->unsampled_ns, span->unsampled_ns);
	if (place == 0)
		return;
	chosen->spans++;
	sum_add(&chosen->with_span_ns,
		sum_of(span->sampled_ns, span->unsampled_ns));
}

static void choose(struct chosen *chosen, const struct model *model,
		   const char *name)
{
	bool *wanted;

	*chosen = (struct chosen){0};
	filter_spans(model, name, &wanted);
	for (size_t i = 0; i < model->span_count; i++)
		if (wanted[i])
			add_span(chosen, model, i);
	free(wanted);
}

/* Whether a statistic tells of something that the profiles lack. Its key says
 * so; a key that isn't known yet shall not hide a loss. */
static bool is_loss(const struct model *model, const struct statistic *s)
{
	static const char *const words[] = {"lost", "dropped", "refused",
					    "malformed", "without"};
	const char *key = model_text(model, s->key);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (s->value && strstr(key, words[i]))
			return true;
	return false;
}

/* What the recording says that it lost, in its own words. */
static void print_losses(const struct model *model)
{
	size_t losses = 0;

	for (size_t i = 0; i < model->statistic_count; i++) {
		const struct statistic *s = &model->statistics[i];
		char *key;

		if (!is_loss(model, s))
			continue;
		key = text_clean(model_text(model, s->key));
		printf("%s %s %" PRIu64 "\n",
		       losses++ ? "       " : "losses:", key, s->value);
		free(key);
	}
	if (!losses)
		puts("losses: none reported");
}

static void print_window(const struct model *model)
{
	char begin[TEXT_NUMBER_BYTES], end[TEXT_NUMBER_BYTES];

	text_date(begin, model->begin_ns);
	text_date(end, model->end_ns);
	printf("%zu profile%s from %s to %s UTC\n", model->profiles,
	       model->profiles == 1 ? "" : "s", begin, end);
}

static void print_footer(const struct model *model, const struct chosen *chosen)
{
	char cpu[TEXT_NUMBER_BYTES], spans[TEXT_NUMBER_BYTES];
	char unsampled[TEXT_NUMBER_BYTES], cut[TEXT_NUMBER_BYTES];
	uint64_t whole_ns = chosen->stacks.cpu_ns;

	words_duration(cpu, whole_ns);
	words_percent(spans, chosen->with_span_ns, whole_ns);
	words_percent(unsampled, chosen->unsampled_ns, whole_ns);
	words_percent(cut, model->truncated_ns, model->cpu_ns);
	printf("\n%s CPU, %" PRIu64 " samples; with a span %s %%, [unsampled] "
	       "%s %%\n",
	       cpu, chosen->stacks.count, spans, unsampled);
	if (model->truncated_ns)
		printf("stacks cut ([truncated]): %s %% of all CPU\n", cut);
	print_losses(model);
	print_window(model);
}

static void print_text(const struct model *model, const struct chosen *chosen,
		       const struct function_sums *functions,
		       const struct options *options)
{
	const struct print print = {
		.model = model,
		.screen = options_screen(options),
		.whole_ns = chosen->stacks.cpu_ns,
		.limit = options_limit(options, USUAL_FUNCTIONS),
	};

	print_functions(&print, functions);
	print_footer(model, chosen);
}

static json_t *statistics_object(const struct model *model)
{
	json_t *to = json_object();

	for (size_t i = 0; i < model->statistic_count; i++) {
		const struct statistic *s = &model->statistics[i];
		json_t *key = json_out_text(model_text(model, s->key));

		json_object_set_new(to, json_string_value(key),
				    json_out_number(s->value));
		json_decref(key);
	}
	return to;
}

static void print_json(const struct model *model, const struct chosen *chosen,
		       const struct function_sums *functions, size_t limit)
{
	json_t *to = json_object();

	json_object_set_new(to, "samples",
			    json_out_number(chosen->stacks.count));
	json_object_set_new(to, "cpu_ns",
			    json_out_number(chosen->stacks.cpu_ns));
	json_object_set_new(to, "with_span_cpu_ns",
			    json_out_number(chosen->with_span_ns));
	json_object_set_new(to, "unsampled_cpu_ns",
			    json_out_number(chosen->unsampled_ns));
	json_object_set_new(to, "spans", json_out_number(chosen->spans));
	json_object_set_new(to, "profiles", json_out_number(model->profiles));
	json_object_set_new(to, "period_ns", json_out_number(model->period_ns));
	json_object_set_new(to, "statistics", statistics_object(model));
	json_object_set_new(to, "functions",
			    json_out_functions(model, functions, limit));
	json_out_print(to);
}

static int print_top(const struct model *model, const struct options *options)
{
	struct function_sums functions;
	struct chosen chosen;

	choose(&chosen, model, options->name);
	function_sums_collect(&functions, model, &chosen.stacks);
	if (options->json)
		print_json(model, &chosen, &functions, options->limit);
	else if (functions.count)
		print_text(model, &chosen, &functions, options);
	else
		message("no samples: %s used too little CPU time to be seen",
			options->name ? options->name : "the program");
	function_sums_fini(&functions);
	stack_sums_fini(&chosen.stacks);
	return EXIT_SUCCESS;
}

static int refuse_name(const char *name)
{
	message("no span is named '%s'; 'spanprof top --operations' lists the "
		"names",
		name);
	return EXIT_FAILURE;
}

int top_run(const struct options *options)
{
	struct model *model;
	int status = load_model(&model, options);
	bool *wanted;
	size_t count;

	if (!model)
		return status;
	count = filter_spans(model, options->name, &wanted);
	free(wanted);
	if (options->name && !count)
		status |= refuse_name(options->name);
	else if (options->operations)
		status |= operations_run(model, options);
	else
		status |= print_top(model, options);
	model_destroy(model);
	return status;
}
