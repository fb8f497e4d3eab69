/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and indexes the tables of a pprof message.
 * Runs on: any thread of the spanprof command.
 */
#include "report/pprof_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/mem.h"

#define LINE_LESS_BYTES 24
#define NO_COLUMN SIZE_MAX

static uint32_t place_of(const struct pprof_ids *ids, uint64_t id)
{
	if (!ids->counted)
		return idmap_get(&ids->places, id);
	return id - 1 < ids->count ? (uint32_t)(id - 1) : IDMAP_NONE;
}

static bool counts_from_one(const uint64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] != i + 1)
			return false;
	return true;
}

/* Gives places to the `count` ids of one kind; frees `values`. */
static int index_ids(struct pprof_ids *ids, uint64_t *values, const char *kind,
		     struct fault *fault)
{
	int error = 0;

	ids->counted = counts_from_one(values, ids->count);
	for (size_t i = 0; i < ids->count && !ids->counted && !error; i++) {
		uint32_t *place = idmap_at(&ids->places, values[i]);

		if (*place != IDMAP_NONE)
			error = FAULT(fault, -EBADMSG,
				      "two %ss have the id %" PRIu64, kind,
				      values[i]);
		*place = (uint32_t)i;
		if (values[i] == 0)
			error = FAULT(fault, -EBADMSG, "%s %zu has the id 0",
				      kind, i + 1);
	}
	free(values);
	return error;
}

static int index_mappings(struct pprof_tables *t, struct fault *fault)
{
	size_t count = t->message->n_mapping;
	uint64_t *ids = mem_zeroed(count, sizeof(*ids));

	t->mappings.count = count;
	for (size_t i = 0; i < count; i++)
		ids[i] = t->message->mapping[i]->id;
	return index_ids(&t->mappings, ids, "mapping", fault);
}

static int check_function(const struct pprof_tables *t, size_t place,
			  struct fault *fault)
{
	const Perftools__Profiles__Function *function =
		t->message->function[place];
	struct pprof_owner owner = {"function", place};
	int error = pprof_tables_check_text(t, function->name, owner, fault);

	if (error)
		return error;
	return pprof_tables_check_text(t, function->filename, owner, fault);
}

static int index_functions(struct pprof_tables *t, struct fault *fault)
{
	size_t count = t->message->n_function;
	uint64_t *ids = mem_zeroed(count, sizeof(*ids));
	int error = 0;

	t->functions.count = count;
	for (size_t i = 0; i < count && !error; i++) {
		ids[i] = t->message->function[i]->id;
		error = check_function(t, i, fault);
	}
	if (!error)
		return index_ids(&t->functions, ids, "function", fault);
	free(ids);
	return error;
}

static int index_locations(struct pprof_tables *t, struct fault *fault)
{
	size_t count = t->message->n_location;
	uint64_t *ids = mem_zeroed(count, sizeof(*ids));

	t->locations.count = count;
	for (size_t i = 0; i < count; i++)
		ids[i] = t->message->location[i]->id;
	return index_ids(&t->locations, ids, "location", fault);
}

static size_t count_location_frames(const struct pprof_tables *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->message->n_location; i++) {
		size_t lines = t->message->location[i]->n_line;

		count += lines ? lines : 1;
	}
	return count;
}

/* Whether there was room for the text, else it is NULL. */
static bool add_text(struct pprof_tables *t, const char *text, uint32_t *number)
{
	if (!text)
		return false;
	t->texts[t->text_count] = text;
	*number = (uint32_t)t->text_count++;
	return true;
}

/* The text of a line: its function, and where in which file that is. */
static bool name_line(struct pprof_tables *t,
		      const Perftools__Profiles__Function *function,
		      int64_t line, uint32_t *frame)
{
	const char *name = t->texts[function->name];
	const char *file = t->texts[function->filename];
	const char *slash = strrchr(file, '/');
	size_t bytes;
	char *text;

	*frame = (uint32_t)function->name;
	if (!t->with_lines || !*file || line <= 0)
		return true;
	if (slash)
		file = slash + 1;
	bytes = strlen(name) + strlen(file) + 24;
	text = arena_take(t->arena, bytes);
	if (text)
		snprintf(text, bytes, "%s %s:%" PRId64, name, file, line);
	return add_text(t, text, frame);
}

static int read_lines(struct pprof_tables *t, size_t place, uint32_t *frames,
		      struct fault *fault)
{
	const Perftools__Profiles__Location *from = t->message->location[place];

	for (size_t i = 0; i < from->n_line; i++) {
		uint64_t id = from->line[i]->function_id;
		uint32_t function = place_of(&t->functions, id);

		if (function == IDMAP_NONE)
			return FAULT(fault, -EBADMSG,
				     "location %zu has the unknown function "
				     "%" PRIu64,
				     place + 1, id);
		if (!name_line(t, t->message->function[function],
			       from->line[i]->line, &frames[i]))
			return FAULT(fault, -E2BIG, "too many lines");
	}
	return 0;
}

/* Names a location that no function was found for by its address. */
static int name_by_address(struct pprof_tables *t, size_t place,
			   uint32_t *frame, struct fault *fault)
{
	char *text = arena_take(t->arena, LINE_LESS_BYTES);

	if (text)
		snprintf(text, LINE_LESS_BYTES, "[0x%" PRIx64 "]",
			 t->message->location[place]->address);
	if (!add_text(t, text, frame))
		return FAULT(fault, -E2BIG, "too many locations");
	return 0;
}

static int read_location(struct pprof_tables *t, size_t place,
			 struct fault *fault)
{
	const Perftools__Profiles__Location *from = t->message->location[place];
	size_t first = t->first_frame[place];

	t->first_frame[place + 1] = first + (from->n_line ? from->n_line : 1);
	if (from->mapping_id &&
	    place_of(&t->mappings, from->mapping_id) == IDMAP_NONE)
		return FAULT(fault, -EBADMSG,
			     "location %zu has the unknown mapping %" PRIu64,
			     place + 1, from->mapping_id);
	if (from->n_line == 0)
		return name_by_address(t, place, &t->frames[first], fault);
	return read_lines(t, place, &t->frames[first], fault);
}

static int read_locations(struct pprof_tables *t, struct fault *fault)
{
	size_t count = t->message->n_location;
	int error = index_locations(t, fault);

	t->frames = mem_zeroed(count_location_frames(t), sizeof(*t->frames));
	t->first_frame = mem_zeroed(count + 1, sizeof(*t->first_frame));
	for (size_t i = 0; i < count && !error; i++)
		error = read_location(t, i, fault);
	return error;
}

static int read_texts(struct pprof_tables *t, struct fault *fault)
{
	size_t count = t->message->n_string_table;
	size_t extra = count_location_frames(t);

	if (count == 0 || t->message->string_table[0][0])
		return FAULT(fault, -EBADMSG,
			     "the string table doesn't begin with \"\"");
	t->texts = arena_take(t->arena, (count + extra) * sizeof(*t->texts));
	if (!t->texts || count + extra >= UINT32_MAX)
		return FAULT(fault, -E2BIG, "too many strings");
	memcpy(t->texts, t->message->string_table, count * sizeof(*t->texts));
	t->text_count = count;
	return 0;
}

/* The column of a sample type, or NO_COLUMN. */
static size_t find_column(const struct pprof_tables *t, const char *type,
			  const char *unit)
{
	for (size_t i = 0; i < t->message->n_sample_type; i++) {
		const Perftools__Profiles__ValueType *has =
			t->message->sample_type[i];

		if (strcmp(t->texts[has->type], type) == 0 &&
		    strcmp(t->texts[has->unit], unit) == 0)
			return i;
	}
	return NO_COLUMN;
}

static int refuse_types(const struct pprof_tables *t, struct fault *fault)
{
	char have[80] = "none";
	int used = 0;

	for (size_t i = 0; i < t->message->n_sample_type; i++) {
		const Perftools__Profiles__ValueType *has =
			t->message->sample_type[i];

		used += snprintf(have + used, sizeof(have) - (size_t)used,
				 "%s%.20s/%.20s", i ? ", " : "",
				 t->texts[has->type], t->texts[has->unit]);
		if ((size_t)used >= sizeof(have))
			break;
	}
	return FAULT(fault, -ENOMSG,
		     "the sample types are %s; samples/count and "
		     "cpu/nanoseconds are needed",
		     have);
}

static int check_type(const struct pprof_tables *t, size_t place,
		      struct fault *fault)
{
	const Perftools__Profiles__ValueType *type =
		t->message->sample_type[place];
	struct pprof_owner owner = {"sample type", place};
	int error = pprof_tables_check_text(t, type->type, owner, fault);

	if (error)
		return error;
	return pprof_tables_check_text(t, type->unit, owner, fault);
}

static int read_types(struct pprof_tables *t, struct fault *fault)
{
	int error = 0;

	for (size_t i = 0; i < t->message->n_sample_type && !error; i++)
		error = check_type(t, i, fault);
	if (error)
		return error;
	t->count_column = find_column(t, "samples", "count");
	t->cpu_column = find_column(t, "cpu", "nanoseconds");
	if (t->count_column == NO_COLUMN || t->cpu_column == NO_COLUMN)
		return refuse_types(t, fault);
	return 0;
}

uint32_t pprof_tables_location(const struct pprof_tables *tables, uint64_t id)
{
	return place_of(&tables->locations, id);
}

int pprof_tables_check_text(const struct pprof_tables *tables, int64_t text,
			    struct pprof_owner owner, struct fault *fault)
{
	size_t count = tables->message->n_string_table;

	if (text >= 0 && (uint64_t)text < count)
		return 0;
	return FAULT(fault, -EBADMSG,
		     "%s %zu has the string index %" PRId64
		     ", out of range: there are %zu strings",
		     owner.kind, owner.place + 1, text, count);
}

int pprof_tables_read(struct pprof_tables *tables, struct fault *fault)
{
	int error = read_texts(tables, fault);

	if (!error)
		error = read_types(tables, fault);
	if (!error)
		error = index_mappings(tables, fault);
	if (!error)
		error = index_functions(tables, fault);
	return error ? error : read_locations(tables, fault);
}

void pprof_tables_fini(struct pprof_tables *tables)
{
	idmap_fini(&tables->mappings.places);
	idmap_fini(&tables->functions.places);
	idmap_fini(&tables->locations.places);
	free(tables->frames);
	free(tables->first_frame);
}
