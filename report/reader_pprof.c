/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a pprof message into plain samples.
 * Runs on: any thread of the spanprof command.
 */
#include "report/reader_pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/intern.h"
#include "report/mem.h"
#include "report/pprof_tables.h"

#define ARENA_MAX_BYTES ((size_t)512 << 20)
/* Servers refuse more than 1,000 locations a stack; inlined functions come on
 * top. A deeper stack isn't one of ours. */
#define STACK_MAX_FRAMES 8192u
/* A location of many lines used often: a small file, endless frames. */
#define FILE_MAX_FRAMES ((size_t)1 << 26)

/* What a text says as a label, found out at its first use: the same few are
 * on thousands of samples. */
struct label_text {
	enum {
		LABEL_NEW,
		LABEL_OTHER,
		LABEL_SPAN,
		LABEL_TRACE,
		LABEL_NAME
	} key;
	bool parsed; /* as a value; the ids are none if it isn't one */
	uint64_t span;
	struct trace_id trace;
};

struct reader {
	struct pprof_tables tables;
	struct profile *profile;
	size_t frame_capacity, stack_capacity;
	struct idmap stacks;     /* hash of location ids to a stack */
	uint32_t *stack_samples; /* a sample that has it, one a stack */
	size_t stack_sample_capacity;
	struct label_text *labels; /* one a text */
	struct fault *fault;
};

static void *take(void *arena, size_t bytes)
{
	return arena_take(arena, bytes);
}

static void leave(void *arena, void *memory)
{
	/* The arena gives everything back at once. */
	(void)arena;
	(void)memory;
}

static Perftools__Profiles__Profile *unpack(struct arena *arena,
					    const uint8_t *data, size_t length)
{
	ProtobufCAllocator allocator = {take, leave, arena};

	return perftools__profiles__profile__unpack(&allocator, length, data);
}

static int check_values(const struct reader *r, size_t place)
{
	const Perftools__Profiles__Sample *from =
		r->tables.message->sample[place];
	size_t types = r->tables.message->n_sample_type;

	if (from->n_value != types)
		return FAULT(r->fault, -EBADMSG,
			     "sample %zu has %zu values for %zu sample types",
			     place + 1, from->n_value, types);
	if (from->value[r->tables.count_column] < 0 ||
	    from->value[r->tables.cpu_column] < 0)
		return FAULT(r->fault, -EBADMSG,
			     "sample %zu has a negative value", place + 1);
	return 0;
}

/* Appends the functions of a location to the frames of the newest stack. */
static int add_location(struct reader *r, struct profile_stack *stack,
			uint32_t location)
{
	struct profile *profile = r->profile;
	size_t first = r->tables.first_frame[location];
	size_t count = r->tables.first_frame[location + 1] - first;

	if (stack->frame_count + count > STACK_MAX_FRAMES)
		return FAULT(r->fault, -E2BIG,
			     "a stack has more than %u frames",
			     STACK_MAX_FRAMES);
	if (profile->frame_count + count > FILE_MAX_FRAMES)
		return FAULT(r->fault, -E2BIG, "more than %zu frames",
			     FILE_MAX_FRAMES);
	profile->frames =
		mem_room(profile->frames, &r->frame_capacity,
			 profile->frame_count + count, sizeof(uint32_t));
	memcpy(profile->frames + profile->frame_count, r->tables.frames + first,
	       count * sizeof(uint32_t));
	profile->frame_count += count;
	stack->frame_count += (uint32_t)count;
	return 0;
}

static int fill_stack(struct reader *r, struct profile_stack *stack,
		      size_t place)
{
	const Perftools__Profiles__Sample *from =
		r->tables.message->sample[place];

	for (size_t i = 0; i < from->n_location_id; i++) {
		uint64_t id = from->location_id[i];
		uint32_t location = pprof_tables_location(&r->tables, id);
		int error;

		if (location == IDMAP_NONE)
			return FAULT(r->fault, -EBADMSG,
				     "sample %zu has the unknown location "
				     "%" PRIu64,
				     place + 1, id);
		error = add_location(r, stack, location);
		if (error)
			return error;
	}
	return 0;
}

/* A new stack for the sample at `place`. */
static int add_stack(struct reader *r, size_t place)
{
	struct profile *profile = r->profile;
	struct profile_stack stack = {.first = profile->frame_count};
	int error = fill_stack(r, &stack, place);

	if (error)
		return error;
	profile->stacks = mem_room(profile->stacks, &r->stack_capacity,
				   profile->stack_count + 1, sizeof(stack));
	r->stack_samples = mem_room(r->stack_samples, &r->stack_sample_capacity,
				    profile->stack_count + 1, sizeof(uint32_t));
	r->stack_samples[profile->stack_count] = (uint32_t)place;
	profile->stacks[profile->stack_count++] = stack;
	return 0;
}

static bool same_stack(const struct reader *r, size_t a, size_t b)
{
	const Perftools__Profiles__Sample *x = r->tables.message->sample[a];
	const Perftools__Profiles__Sample *y = r->tables.message->sample[b];

	if (x->n_location_id != y->n_location_id)
		return false;
	return !x->n_location_id ||
	       memcmp(x->location_id, y->location_id,
		      x->n_location_id * sizeof(*x->location_id)) == 0;
}

/* Gives the sample its stack. Two stacks of the same hash are both kept, one
 * of them perhaps more than once: the store will see that they are the same. */
static int read_stack(struct reader *r, size_t place)
{
	const Perftools__Profiles__Sample *from =
		r->tables.message->sample[place];
	struct profile_sample *sample = &r->profile->samples[place];
	uint32_t *known = idmap_at(
		&r->stacks,
		intern_hash(from->location_id,
			    from->n_location_id * sizeof(*from->location_id)));
	uint32_t stack = *known;

	if (stack != IDMAP_NONE &&
	    same_stack(r, place, r->stack_samples[stack])) {
		sample->stack = stack;
		return 0;
	}
	sample->stack = *known = (uint32_t)r->profile->stack_count;
	return add_stack(r, place);
}

static const struct label_text *label_key(struct reader *r, int64_t number)
{
	const char *text = r->tables.texts[number];
	struct label_text *label = &r->labels[number];

	if (label->key != LABEL_NEW)
		return label;
	if (strcmp(text, "span_id") == 0 || strcmp(text, "profile_id") == 0)
		label->key = LABEL_SPAN;
	else if (strcmp(text, "trace_id") == 0)
		label->key = LABEL_TRACE;
	else if (strcmp(text, "span_name") == 0)
		label->key = LABEL_NAME;
	else
		label->key = LABEL_OTHER;
	return label;
}

static const struct label_text *label_value(struct reader *r, int64_t number)
{
	struct label_text *label = &r->labels[number];

	if (!label->parsed) {
		spanid_parse(r->tables.texts[number], &label->span);
		traceid_parse(r->tables.texts[number], &label->trace);
		label->parsed = true;
	}
	return label;
}

/* The first label of a kind that can be read counts, as on the server. */
static void apply_label(struct reader *r, struct profile_sample *sample,
			const Perftools__Profiles__Label *from)
{
	const struct label_text *key = label_key(r, from->key);

	if (key->key == LABEL_SPAN && !sample->span) {
		sample->span = label_value(r, from->str)->span;
		sample->span_text = (uint32_t)from->str;
	}
	if (key->key == LABEL_TRACE && traceid_is_none(sample->trace))
		sample->trace = label_value(r, from->str)->trace;
	if (key->key == LABEL_NAME && !sample->span_name)
		sample->span_name = (uint32_t)from->str;
}

static int read_labels(struct reader *r, size_t place)
{
	const Perftools__Profiles__Sample *from =
		r->tables.message->sample[place];
	const struct pprof_owner owner = {"a label of sample", place};

	for (size_t i = 0; i < from->n_label; i++) {
		const Perftools__Profiles__Label *label = from->label[i];
		int error = pprof_tables_check_text(&r->tables, label->key,
						    owner, r->fault);

		if (!error)
			error = pprof_tables_check_text(&r->tables, label->str,
							owner, r->fault);
		if (error)
			return error;
		apply_label(r, &r->profile->samples[place], label);
	}
	return 0;
}

static int read_sample(struct reader *r, size_t place)
{
	const Perftools__Profiles__Sample *from =
		r->tables.message->sample[place];
	struct profile_sample *sample = &r->profile->samples[place];
	int error = check_values(r, place);

	if (error)
		return error;
	sample->count = (uint64_t)from->value[r->tables.count_column];
	sample->cpu_ns = (uint64_t)from->value[r->tables.cpu_column];
	error = read_stack(r, place);
	return error ? error : read_labels(r, place);
}

static int read_samples(struct reader *r)
{
	size_t count = r->tables.message->n_sample;
	int error = 0;

	r->profile->samples = mem_zeroed(count, sizeof(struct profile_sample));
	r->profile->sample_count = count;
	r->labels = mem_zeroed(r->tables.text_count, sizeof(*r->labels));
	r->profile->frames =
		mem_room(NULL, &r->frame_capacity, 1, sizeof(uint32_t));
	for (size_t i = 0; i < count && !error; i++)
		error = read_sample(r, i);
	free(r->labels);
	free(r->stack_samples);
	idmap_fini(&r->stacks);
	return error;
}

static int read_comments(struct reader *r)
{
	const Perftools__Profiles__Profile *from = r->tables.message;
	uint32_t *comments = mem_zeroed(from->n_comment, sizeof(*comments));
	int error = 0;

	r->profile->comments = comments;
	r->profile->comment_count = from->n_comment;
	for (size_t i = 0; i < from->n_comment && !error; i++) {
		error = pprof_tables_check_text(
			&r->tables, from->comment[i],
			(struct pprof_owner){"comment", i}, r->fault);
		comments[i] = (uint32_t)from->comment[i];
	}
	return error;
}

static int read_head(struct reader *r)
{
	const Perftools__Profiles__Profile *from = r->tables.message;

	if (from->time_nanos < 0 || from->duration_nanos < 0 ||
	    from->period < 0)
		return FAULT(r->fault, -EBADMSG, "a negative time or period");
	r->profile->time_ns = (uint64_t)from->time_nanos;
	r->profile->duration_ns = (uint64_t)from->duration_nanos;
	r->profile->period_ns = (uint64_t)from->period;
	return 0;
}

static int read_message(struct reader *r)
{
	int error = pprof_tables_read(&r->tables, r->fault);

	if (!error)
		error = read_head(r);
	if (!error)
		error = read_comments(r);
	if (!error)
		error = read_samples(r);
	r->profile->texts = r->tables.texts;
	r->profile->text_count = r->tables.text_count;
	pprof_tables_fini(&r->tables);
	return error;
}

void profile_fini(struct profile *profile)
{
	free(profile->samples);
	free(profile->stacks);
	free(profile->frames);
	free(profile->comments);
	arena_fini(&profile->arena);
}

static int read_bytes(struct reader *r, const uint8_t *data, size_t length)
{
	struct profile *profile = r->profile;
	int error;

	*profile = (struct profile){0};
	arena_init(&profile->arena, ARENA_MAX_BYTES);
	r->tables.arena = &profile->arena;
	r->tables.message = unpack(&profile->arena, data, length);
	if (r->tables.message)
		error = read_message(r);
	else if (profile->arena.refused)
		error = FAULT(r->fault, -E2BIG, "it needs more than %zu MiB",
			      ARENA_MAX_BYTES >> 20);
	else
		error = FAULT(r->fault, -EBADMSG,
			      "not a pprof message (protobuf is malformed)");
	if (error)
		profile_fini(profile);
	return error;
}

int profile_read(struct profile *profile, const uint8_t *data, size_t length,
		 struct fault *fault)
{
	struct reader r = {.profile = profile, .fault = fault};

	return read_bytes(&r, data, length);
}

int profile_read_lines(struct profile *profile, const uint8_t *data,
		       size_t length, struct fault *fault)
{
	struct reader r = {
		.profile = profile, .fault = fault, .tables.with_lines = true};

	return read_bytes(&r, data, length);
}
