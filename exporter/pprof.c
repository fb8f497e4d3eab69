/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a window as pprof, by protobuf-c.
 * Runs on: the exporter's main thread.
 */
#include "exporter/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/gzip.h"
#include "exporter/ids.h"
#include "exporter/profile.pb-c.h"

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Sample sample_message;
typedef Perftools__Profiles__Label label_message;
typedef Perftools__Profiles__Line line_message;
typedef Perftools__Profiles__Location location_message;
typedef Perftools__Profiles__Function function_message;
typedef Perftools__Profiles__Mapping mapping_message;
typedef Perftools__Profiles__ValueType value_type_message;

#define LABELS_MAX 4u

/* A message and the pointer that the repeated field wants. */
struct tables {
	sample_message *samples;
	sample_message **sample_pointers;
	int64_t *values;
	uint64_t *location_ids;
	label_message *labels;
	label_message **label_pointers;
	location_message *locations;
	location_message **location_pointers;
	line_message *lines;
	line_message **line_pointers;
	function_message *functions;
	function_message **function_pointers;
	mapping_message *mappings;
	mapping_message **mapping_pointers;
};

struct encoder {
	struct window *window;
	enum pprof_ids ids;
	struct tables t;
	/* Cursors into the tables that samples share. */
	size_t sample;
	size_t location_id;
	size_t label;
	/* The texts of the labels' keys. */
	uint32_t span_id, trace_id, span_name, pid;
};

static bool allocate(struct tables *t, const struct window *w)
{
	/* calloc(0) may give NULL, which is no failure. */
	size_t samples = w->sample_count + 1u;
	size_t locations = w->location_count + 1u;
	size_t lines = w->line_count + 1u;
	size_t functions = w->function_count + 1u;
	size_t mappings = w->mapping_count + 1u;

	t->samples = calloc(samples, sizeof(*t->samples));
	t->sample_pointers = calloc(samples, sizeof(*t->sample_pointers));
	t->values = calloc(samples * 2, sizeof(*t->values));
	t->location_ids = calloc(w->frame_count + 1, sizeof(*t->location_ids));
	t->labels = calloc(samples * LABELS_MAX, sizeof(*t->labels));
	t->label_pointers =
		calloc(samples * LABELS_MAX, sizeof(*t->label_pointers));
	t->locations = calloc(locations, sizeof(*t->locations));
	t->location_pointers = calloc(locations, sizeof(*t->location_pointers));
	t->lines = calloc(lines, sizeof(*t->lines));
	t->line_pointers = calloc(lines, sizeof(*t->line_pointers));
	t->functions = calloc(functions, sizeof(*t->functions));
	t->function_pointers = calloc(functions, sizeof(*t->function_pointers));
	t->mappings = calloc(mappings, sizeof(*t->mappings));
	t->mapping_pointers = calloc(mappings, sizeof(*t->mapping_pointers));
	return t->samples && t->sample_pointers && t->values &&
	       t->location_ids && t->labels && t->label_pointers &&
	       t->locations && t->location_pointers && t->lines &&
	       t->line_pointers && t->functions && t->function_pointers &&
	       t->mappings && t->mapping_pointers;
}

static void release(struct tables *t)
{
	free(t->samples);
	free(t->sample_pointers);
	free(t->values);
	free(t->location_ids);
	free(t->labels);
	free(t->label_pointers);
	free(t->locations);
	free(t->location_pointers);
	free(t->lines);
	free(t->line_pointers);
	free(t->functions);
	free(t->function_pointers);
	free(t->mappings);
	free(t->mapping_pointers);
}

static label_message *add_label(struct encoder *e, uint32_t key)
{
	label_message *label = &e->t.labels[e->label];

	perftools__profiles__label__init(label);
	label->key = key;
	e->t.label_pointers[e->label++] = label;
	return label;
}

static void add_id(struct encoder *e, uint32_t key, const uint8_t *id,
		   size_t bytes)
{
	char text[2 * TRACE_ID_BYTES + 1];

	if (!id_is_set(id, bytes))
		return;
	id_to_hex(text, id, bytes);
	add_label(e, key)->str = strings_intern(&e->window->strings, text);
}

static void add_ids(struct encoder *e, const struct window_labels *labels)
{
	const uint8_t *span =
		e->ids == PPROF_IDS_LOCAL ? labels->span_id : labels->pushed_id;

	add_id(e, e->span_id, span, SPAN_ID_BYTES);
	if (e->ids == PPROF_IDS_LOCAL ||
	    (e->ids == PPROF_IDS_PUSHED_ALL && id_is_set(span, SPAN_ID_BYTES)))
		add_id(e, e->trace_id, labels->trace_id, TRACE_ID_BYTES);
}

static void add_labels(struct encoder *e, const struct window_sample *sample)
{
	const struct window_labels *labels = &sample->labels;

	add_ids(e, labels);
	if (sample->name_text)
		add_label(e, e->span_name)->str = sample->name_text;
	if (labels->pid)
		add_label(e, e->pid)->num = labels->pid;
}

static void add_sample(void *context, const struct window_sample *sample)
{
	struct encoder *e = context;
	sample_message *message = &e->t.samples[e->sample];
	size_t first_label = e->label;

	perftools__profiles__sample__init(message);
	message->n_location_id = sample->location_count;
	message->location_id = &e->t.location_ids[e->location_id];
	for (uint32_t i = 0; i < sample->location_count; i++)
		e->t.location_ids[e->location_id++] = sample->locations[i] + 1;
	message->n_value = 2;
	message->value = &e->t.values[2 * e->sample];
	message->value[0] = (int64_t)sample->count;
	message->value[1] = (int64_t)sample->cpu_ns;
	message->label = &e->t.label_pointers[first_label];
	add_labels(e, sample);
	message->n_label = e->label - first_label;
	e->t.sample_pointers[e->sample++] = message;
}

/* pprof takes the first mapping for the program's. */
static uint64_t mapping_id(const struct window *window, uint32_t mapping)
{
	if (mapping == window->program)
		return mapping ? 1 : 0;
	return mapping && mapping < window->program ? mapping + 1 : mapping;
}

static void fill_lines(struct encoder *e)
{
	for (uint32_t i = 0; i < e->window->line_count; i++) {
		const struct window_line *from = &e->window->lines[i];
		line_message *message = &e->t.lines[i];

		perftools__profiles__line__init(message);
		message->function_id = from->function + 1;
		message->line = from->line;
		e->t.line_pointers[i] = message;
	}
}

static void fill_locations(struct encoder *e)
{
	for (uint32_t i = 0; i < e->window->location_count; i++) {
		const struct window_location *from = &e->window->locations[i];
		location_message *message = &e->t.locations[i];

		perftools__profiles__location__init(message);
		message->id = i + 1;
		message->mapping_id = mapping_id(e->window, from->mapping);
		message->address = from->address;
		message->n_line = from->line_count;
		message->line = &e->t.line_pointers[from->first_line];
		e->t.location_pointers[i] = message;
	}
}

static void fill_functions(struct encoder *e)
{
	for (uint32_t i = 0; i < e->window->function_count; i++) {
		const struct window_function *from = &e->window->functions[i];
		function_message *message = &e->t.functions[i];

		perftools__profiles__function__init(message);
		message->id = i + 1;
		message->name = from->name;
		message->system_name = from->system_name;
		message->filename = from->file;
		message->start_line = from->start_line;
		e->t.function_pointers[i] = message;
	}
}

/* Addresses are those of the files, so that processes which loaded a file at
 * different places share its locations. */
static void fill_mappings(struct encoder *e)
{
	for (uint32_t i = 0; i < e->window->mapping_count; i++) {
		const struct window_mapping *from = &e->window->mappings[i];
		mapping_message *message = &e->t.mappings[i];

		perftools__profiles__mapping__init(message);
		message->id = mapping_id(e->window, i + 1);
		message->memory_limit = from->limit;
		message->filename = from->path_text;
		message->build_id = from->build_id_text;
		message->has_functions = true;
		message->has_filenames = from->has_files;
		message->has_line_numbers = from->has_lines;
		message->has_inline_frames = from->has_inlined;
		e->t.mapping_pointers[message->id - 1] = message;
	}
}

static void fill_keys(struct encoder *e)
{
	struct strings *strings = &e->window->strings;

	e->span_id = strings_intern(strings, "span_id");
	e->trace_id = strings_intern(strings, "trace_id");
	e->span_name = strings_intern(strings, "span_name");
	e->pid = strings_intern(strings, "pid");
}

static int pack(const profile_message *profile, void **bytes, size_t *len_bytes)
{
	size_t size = perftools__profiles__profile__get_packed_size(profile);
	uint8_t *plain = malloc(size);
	int error;

	if (!plain)
		return -ENOMEM;
	perftools__profiles__profile__pack(profile, plain);
	error = gzip_compress(plain, size, bytes, len_bytes);
	free(plain);
	return error;
}

#define COMMENTS_MAX 64u

static int encode(struct encoder *e, const struct pprof_times *times,
		  const char *const *comments, void **bytes, size_t *len_bytes)
{
	struct strings *strings = &e->window->strings;
	profile_message profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	value_type_message samples = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	value_type_message cpu = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	value_type_message *types[2] = {&samples, &cpu};
	int64_t comment_texts[COMMENTS_MAX];
	size_t count = 0;

	fill_keys(e);
	window_each(e->window, add_sample, e);
	fill_lines(e);
	fill_locations(e);
	fill_functions(e);
	fill_mappings(e);
	samples.type = strings_intern(strings, "samples");
	samples.unit = strings_intern(strings, "count");
	cpu.type = strings_intern(strings, "cpu");
	cpu.unit = strings_intern(strings, "nanoseconds");
	for (; comments[count] && count < COMMENTS_MAX; count++)
		comment_texts[count] = strings_intern(strings, comments[count]);
	profile.n_sample_type = 2;
	profile.sample_type = types;
	profile.n_sample = e->sample;
	profile.sample = e->t.sample_pointers;
	profile.n_mapping = e->window->mapping_count;
	profile.mapping = e->t.mapping_pointers;
	profile.n_location = e->window->location_count;
	profile.location = e->t.location_pointers;
	profile.n_function = e->window->function_count;
	profile.function = e->t.function_pointers;
	profile.time_nanos = (int64_t)times->start_ns;
	profile.duration_nanos = (int64_t)times->duration_ns;
	profile.period_type = &cpu;
	profile.period = (int64_t)times->period_ns;
	profile.n_comment = count;
	profile.comment = comment_texts;
	profile.default_sample_type = cpu.type;
	profile.n_string_table = strings->count;
	profile.string_table = strings->texts;
	return pack(&profile, bytes, len_bytes);
}

int pprof_encode(struct window *window, const struct pprof_times *times,
		 const char *const *comments, void **bytes, size_t *len_bytes)
{
	struct encoder encoder = {.window = window, .ids = times->ids};
	uint32_t strings = window->strings.count;
	int error = -ENOMEM;

	if (allocate(&encoder.t, window))
		error = encode(&encoder, times, comments, bytes, len_bytes);
	release(&encoder.t);
	strings_cut(&window->strings, strings);
	return error;
}
