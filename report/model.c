/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins profiles and spans into one store.
 * Runs on: one thread of the spanprof command at a time.
 */
#include "report/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/fold.h"
#include "report/mem.h"
#include "report/sum.h"

#define UNSAMPLED "[unsampled]"
#define TRUNCATED "[truncated]"
/* Of different keys; more than any exporter writes. */
#define STATISTICS_MAX 256

/* A stack of the profile in the model. */
struct merged_stack {
	uint32_t stack;
	bool unsampled, truncated;
};

/* A profile on its way into the model. */
struct merge {
	struct model *model;
	const struct profile *profile;
	uint32_t *texts; /* its texts in the model, 0: not taken over yet */
	uint32_t *spans; /* places of the spans its texts name, 0: the same */
	struct merged_stack *stacks;
	uint32_t unsampled, truncated;
};

uint32_t model_put_text(struct model *model, const char *text)
{
	return intern_put(model->texts, text, strlen(text));
}

const char *model_text(const struct model *model, uint32_t text)
{
	return intern_get(model->texts, text, NULL);
}

const uint32_t *model_stack(const struct model *model, uint32_t stack,
			    size_t *frame_count)
{
	size_t bytes;
	const uint32_t *frames = intern_get(model->stacks, stack, &bytes);

	*frame_count = bytes / sizeof(*frames);
	return frames;
}

/* The place of a span, added when it is new. Moves model->spans. */
static uint32_t place_span(struct model *model, uint64_t id)
{
	uint32_t *place;

	if (id == 0)
		return 0;
	place = idmap_at(&model->span_places, id);
	if (*place != IDMAP_NONE)
		return *place;
	model->spans = mem_room(model->spans, &model->span_capacity,
				model->span_count + 1, sizeof(*model->spans));
	model->spans[model->span_count] = (struct span){.id = id};
	*place = (uint32_t)model->span_count++;
	return *place;
}

static uint32_t take_text(struct merge *merge, uint32_t local)
{
	if (!merge->texts[local])
		merge->texts[local] = model_put_text(
			merge->model, merge->profile->texts[local]);
	return merge->texts[local];
}

static struct merged_stack take_stack(struct merge *merge,
				      const struct profile_stack *stack)
{
	const uint32_t *frames = merge->profile->frames + stack->first;
	size_t count = stack->frame_count;
	uint32_t *taken = mem_zeroed(count, sizeof(*taken));
	struct merged_stack merged = {0};

	for (size_t i = 0; i < count; i++)
		taken[i] = take_text(merge, frames[i]);
	merged.stack =
		intern_put(merge->model->stacks, taken, count * sizeof(*taken));
	merged.unsampled = count && taken[0] == merge->unsampled;
	merged.truncated = count && taken[count - 1] == merge->truncated;
	free(taken);
	return merged;
}

static uint32_t take_span(struct merge *merge,
			  const struct profile_sample *sample)
{
	uint32_t *place = &merge->spans[sample->span_text];

	if (!*place)
		*place = place_span(merge->model, sample->span);
	return *place;
}

static void add_to_span(struct merge *merge, struct span *span,
			const struct profile_sample *sample, bool unsampled)
{
	sum_add(&span->samples, sample->count);
	sum_add(unsampled ? &span->unsampled_ns : &span->sampled_ns,
		sample->cpu_ns);
	if (merge->profile->period_ns > span->period_ns)
		span->period_ns = merge->profile->period_ns;
	span->profiled++;
	if (!span->id || span->recorded)
		return;
	if (!span->name)
		span->name = take_text(merge, sample->span_name);
	if (traceid_is_none(span->trace))
		span->trace = sample->trace;
}

static void merge_sample(struct merge *merge, const struct profile_sample *from)
{
	const struct merged_stack *stack = &merge->stacks[from->stack];
	struct model *model = merge->model;
	struct sample sample = {.stack = stack->stack,
				.count = from->count,
				.cpu_ns = from->cpu_ns};

	sample.span = take_span(merge, from);
	add_to_span(merge, &model->spans[sample.span], from, stack->unsampled);
	sum_add(&model->count, sample.count);
	sum_add(&model->cpu_ns, sample.cpu_ns);
	if (stack->unsampled)
		sum_add(&model->unsampled_ns, sample.cpu_ns);
	else if (stack->truncated)
		sum_add(&model->truncated_ns, sample.cpu_ns);
	model->samples =
		mem_room(model->samples, &model->sample_capacity,
			 model->sample_count + 1, sizeof(*model->samples));
	model->samples[model->sample_count++] = sample;
}

static void add_statistic(struct model *model, const char *key, uint64_t value)
{
	uint32_t text = model_put_text(model, key);

	for (size_t i = 0; i < model->statistic_count; i++) {
		if (model->statistics[i].key != text)
			continue;
		sum_add(&model->statistics[i].value, value);
		return;
	}
	if (model->statistic_count == STATISTICS_MAX)
		return;
	model->statistics = mem_room(
		model->statistics, &model->statistic_capacity,
		model->statistic_count + 1, sizeof(*model->statistics));
	model->statistics[model->statistic_count++] =
		(struct statistic){text, value};
}

/* Takes over one line when it reads key=value; others are for people. */
static void merge_statistic(struct model *model, const char *line,
			    size_t length)
{
	char *key = mem_copy(line, length), *value = strchr(key, '='), *end;
	unsigned long long number;

	if (value && value > key && value[1] >= '0' && value[1] <= '9') {
		*value++ = '\0';
		errno = 0;
		number = strtoull(value, &end, 10);
		if (!*end && !errno)
			add_statistic(model, key, number);
	}
	free(key);
}

static void merge_comment(struct model *model, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		merge_statistic(model, text, length);
		text += length + (text[length] == '\n');
	}
}

static void merge_window(struct model *model, const struct profile *profile)
{
	uint64_t end = sum_of(profile->time_ns, profile->duration_ns);

	model->profiles++;
	if (profile->period_ns > model->period_ns)
		model->period_ns = profile->period_ns;
	if (!profile->time_ns)
		return;
	if (!model->begin_ns || profile->time_ns < model->begin_ns)
		model->begin_ns = profile->time_ns;
	if (end > model->end_ns)
		model->end_ns = end;
}

static void merge_samples(struct merge *merge)
{
	const struct profile *profile = merge->profile;

	merge->texts = mem_zeroed(profile->text_count, sizeof(uint32_t));
	merge->spans = mem_zeroed(profile->text_count, sizeof(uint32_t));
	merge->stacks =
		mem_zeroed(profile->stack_count, sizeof(*merge->stacks));
	for (size_t i = 0; i < profile->stack_count; i++)
		merge->stacks[i] = take_stack(merge, &profile->stacks[i]);
	for (size_t i = 0; i < profile->sample_count; i++)
		merge_sample(merge, &profile->samples[i]);
	free(merge->texts);
	free(merge->spans);
	free(merge->stacks);
}

void model_merge_profile(struct model *model, const struct profile *profile)
{
	struct merge merge = {.model = model, .profile = profile};

	merge.unsampled = model_put_text(model, UNSAMPLED);
	merge.truncated = model_put_text(model, TRUNCATED);
	merge_window(model, profile);
	for (size_t i = 0; i < profile->comment_count; i++)
		merge_comment(model, profile->texts[profile->comments[i]]);
	merge_samples(&merge);
}

/*
 * Whether what a file says of a span is to be dropped: a span that is open when
 * a window ends is written again when it has ended.
 */
static bool is_older(const struct span_record *from, const struct span *span)
{
	bool open = from->end == SPAN_END_UNFINISHED;
	bool was_open = span->end == SPAN_END_UNFINISHED;

	if (!span->recorded)
		return false;
	return open != was_open ? open : from->end_ns < span->end_ns;
}

static void merge_span(struct model *model, const struct span_record *from)
{
	uint32_t place = place_span(model, from->span); /* may move spans */
	struct span *span = &model->spans[place];

	if (is_older(from, span))
		return;
	span->parent = from->parent;
	span->trace = from->trace;
	span->name = model_put_text(model, from->name);
	span->method = model_put_text(model, from->method);
	span->path = model_put_text(model, from->path);
	span->service = model_put_text(model, from->service);
	span->start_ns = from->start_ns;
	span->end_ns = from->end_ns;
	span->cpu_ns = from->cpu_ns;
	span->pid = from->pid;
	span->tid = from->tid;
	span->http_status = from->http_status;
	span->end = from->end;
	span->cpu_known = from->cpu_known;
	span->failed = from->failed;
	span->recorded = true;
}

void model_merge_spans(struct model *model, const struct span_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		merge_span(model, &file->records[i]);
}

/* Orders the samples by span, so that each span has a row of its own. */
static void sort_samples(struct model *model)
{
	struct sample *sorted =
		mem_zeroed(model->sample_count, sizeof(*sorted));
	size_t *next = mem_zeroed(model->span_count, sizeof(*next));
	size_t first = 0;

	for (size_t i = 0; i < model->span_count; i++) {
		model->spans[i].first = next[i] = first;
		first += model->spans[i].profiled;
	}
	for (size_t i = 0; i < model->sample_count; i++)
		sorted[next[model->samples[i].span]++] = model->samples[i];
	free(next);
	free(model->samples);
	model->samples = sorted;
	model->sample_capacity = model->sample_count;
}

static uint32_t put_and_free(struct model *model, char *text)
{
	uint32_t number = model_put_text(model, text);

	free(text);
	return number;
}

static void name_span(struct model *model, struct span *span)
{
	struct fold_names names = {model_text(model, span->name),
				   model_text(model, span->method),
				   model_text(model, span->path)};

	span->request = put_and_free(model, fold_request(&names));
	span->operation = put_and_free(model, fold_operation(&names));
}

void model_finish(struct model *model)
{
	sort_samples(model);
	for (size_t i = 1; i < model->span_count; i++)
		name_span(model, &model->spans[i]);
}

uint64_t span_cpu_ns(const struct span *span)
{
	if (span->cpu_known)
		return span->cpu_ns;
	return sum_of(span->sampled_ns, span->unsampled_ns);
}

bool span_duration_ns(const struct span *span, uint64_t *duration_ns)
{
	*duration_ns = sum_less(span->end_ns, span->start_ns);
	return span->start_ns && span->end_ns;
}

struct model *model_create(void)
{
	struct model *model = mem_zeroed(1, sizeof(*model));

	model->texts = intern_create();
	model->stacks = intern_create();
	model->spans =
		mem_room(NULL, &model->span_capacity, 1, sizeof(*model->spans));
	model->spans[0] = (struct span){0};
	model->span_count = 1;
	return model;
}

void model_destroy(struct model *model)
{
	if (!model)
		return;
	intern_destroy(model->texts);
	intern_destroy(model->stacks);
	idmap_fini(&model->span_places);
	free(model->spans);
	free(model->samples);
	free(model->statistics);
	free(model);
}
