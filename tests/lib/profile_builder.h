/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small valid pprof message for tests, to be damaged field by field:
 *
 *   sample 1: work <- main, 3 samples, 30 ms, of the span SPAN_TEXT
 *   sample 2: [unsampled], 0 samples, 2 ms, of no span
 */
#ifndef TESTS_LIB_PROFILE_BUILDER_H
#define TESTS_LIB_PROFILE_BUILDER_H

#include <stdlib.h>

#include "exporter/profile.pb-c.h"

#define SPAN_TEXT "9f86d081884c7d65"
#define TRACE_TEXT "4bf92f3577b34da6a3ce929d0e0e4736"

enum built_text {
	TEXT_EMPTY,
	TEXT_SAMPLES,
	TEXT_COUNT,
	TEXT_CPU,
	TEXT_NANOSECONDS,
	TEXT_MAIN,
	TEXT_WORK,
	TEXT_UNSAMPLED,
	TEXT_SPAN_KEY,
	TEXT_SPAN,
	TEXT_TRACE_KEY,
	TEXT_TRACE,
	TEXT_NAME_KEY,
	TEXT_NAME,
	TEXT_COMMENT,
	TEXT_SPARE, /* for tests */
	BUILT_TEXTS
};

struct built {
	Perftools__Profiles__Profile profile;
	char *texts[BUILT_TEXTS];
	Perftools__Profiles__ValueType types[2], *type_row[2];
	Perftools__Profiles__Mapping mapping, *mapping_row[1];
	Perftools__Profiles__Function functions[3], *function_row[3];
	Perftools__Profiles__Line lines[3], *line_rows[3][2];
	Perftools__Profiles__Location locations[3], *location_row[3];
	Perftools__Profiles__Label labels[3], *label_row[3];
	uint64_t stack[2], unsampled_stack[1];
	int64_t values[2], unsampled_values[2];
	Perftools__Profiles__Sample samples[2], *sample_row[2];
	int64_t comments[1];
};

static inline char *built_text(const char *text)
{
	/* protobuf-c's strings aren't const; nothing writes to them. */
	union {
		const char *from;
		char *to;
	} cast = {.from = text};

	return cast.to;
}

static inline void built_texts(struct built *b)
{
	static const char *const texts[BUILT_TEXTS] = {
		"",          "samples",     "count",
		"cpu",       "nanoseconds", "main",
		"work",      "[unsampled]", "span_id",
		SPAN_TEXT,   "trace_id",    TRACE_TEXT,
		"span_name", "GET",         "lost_blocks=3",
		"spare"};

	for (size_t i = 0; i < BUILT_TEXTS; i++)
		b->texts[i] = built_text(texts[i]);
	b->profile.string_table = b->texts;
	b->profile.n_string_table = BUILT_TEXTS;
}

static inline void built_types(struct built *b)
{
	for (size_t i = 0; i < 2; i++) {
		perftools__profiles__value_type__init(&b->types[i]);
		b->type_row[i] = &b->types[i];
	}
	b->types[0].type = TEXT_SAMPLES;
	b->types[0].unit = TEXT_COUNT;
	b->types[1].type = TEXT_CPU;
	b->types[1].unit = TEXT_NANOSECONDS;
	b->profile.sample_type = b->type_row;
	b->profile.n_sample_type = 2;
}

/* Function and location 1: main, 2: work, 3: [unsampled]. */
static inline void built_code(struct built *b)
{
	perftools__profiles__mapping__init(&b->mapping);
	b->mapping.id = 1;
	b->mapping_row[0] = &b->mapping;
	b->profile.mapping = b->mapping_row;
	b->profile.n_mapping = 1;
	for (size_t i = 0; i < 3; i++) {
		perftools__profiles__function__init(&b->functions[i]);
		perftools__profiles__line__init(&b->lines[i]);
		perftools__profiles__location__init(&b->locations[i]);
		b->functions[i].id = i + 1;
		b->functions[i].name = (int64_t)(TEXT_MAIN + i);
		b->lines[i].function_id = i + 1;
		b->line_rows[i][0] = &b->lines[i];
		b->locations[i].id = i + 1;
		b->locations[i].mapping_id = 1;
		b->locations[i].address = 0x1000 + i;
		b->locations[i].line = b->line_rows[i];
		b->locations[i].n_line = 1;
		b->function_row[i] = &b->functions[i];
		b->location_row[i] = &b->locations[i];
	}
	b->profile.function = b->function_row;
	b->profile.n_function = 3;
	b->profile.location = b->location_row;
	b->profile.n_location = 3;
}

static inline void built_labels(struct built *b)
{
	static const int64_t keys[] = {TEXT_SPAN_KEY, TEXT_TRACE_KEY,
				       TEXT_NAME_KEY};

	for (size_t i = 0; i < 3; i++) {
		perftools__profiles__label__init(&b->labels[i]);
		b->labels[i].key = keys[i];
		b->labels[i].str = keys[i] + 1;
		b->label_row[i] = &b->labels[i];
	}
	b->samples[0].label = b->label_row;
	b->samples[0].n_label = 3;
}

static inline void built_samples(struct built *b)
{
	for (size_t i = 0; i < 2; i++) {
		perftools__profiles__sample__init(&b->samples[i]);
		b->sample_row[i] = &b->samples[i];
		b->samples[i].n_value = 2;
	}
	b->stack[0] = 2;
	b->stack[1] = 1;
	b->values[0] = 3;
	b->values[1] = 30000000;
	b->samples[0].location_id = b->stack;
	b->samples[0].n_location_id = 2;
	b->samples[0].value = b->values;
	b->unsampled_stack[0] = 3;
	b->unsampled_values[1] = 2000000;
	b->samples[1].location_id = b->unsampled_stack;
	b->samples[1].n_location_id = 1;
	b->samples[1].value = b->unsampled_values;
	b->profile.sample = b->sample_row;
	b->profile.n_sample = 2;
}

/* Fills in `b`, which must not move afterwards. */
static inline void built_init(struct built *b)
{
	*b = (struct built){0};
	perftools__profiles__profile__init(&b->profile);
	built_texts(b);
	built_types(b);
	built_code(b);
	built_samples(b);
	built_labels(b);
	b->comments[0] = TEXT_COMMENT;
	b->profile.comment = b->comments;
	b->profile.n_comment = 1;
	b->profile.time_nanos = 1783851072000000000;
	b->profile.duration_nanos = 10000000000;
	b->profile.period = 10000000;
}

/* The message as bytes. Free with free(). */
static inline uint8_t *built_pack(const struct built *b, size_t *length)
{
	uint8_t *data;

	*length = perftools__profiles__profile__get_packed_size(&b->profile);
	data = malloc(*length + 1);
	perftools__profiles__profile__pack(&b->profile, data);
	return data;
}

#endif
