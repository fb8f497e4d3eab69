/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds samples up.
 * Runs on: the exporter's main thread.
 */
#include "exporter/window.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#include <uthash.h>

#include "exporter/demangle.h"
#include "exporter/ids.h"
#include "exporter/utf8.h"

/* One table serves mappings, functions, locations and samples: an index by a
 * key of bytes. */
struct item {
	uint32_t index;
	bool refused;
	UT_hash_handle hh;
	uint8_t key[];
};

struct sample_item {
	struct window_sample sample;
	bool refused;
	UT_hash_handle hh;
	uint32_t key[]; /* labels, then the locations */
};

struct window_tables {
	struct item *mappings;
	struct item *functions;
	struct item *locations;
	struct sample_item *samples;
	uint32_t mapping_capacity;
	uint32_t function_capacity;
	uint32_t location_capacity;
};

static struct item *find(struct item *table, const void *key, size_t bytes)
{
	struct item *item;

	HASH_FIND(hh, table, key, bytes, item);
	return item;
}

static bool insert(struct item **table, const void *key, size_t bytes,
		   uint32_t index)
{
	struct item *item = calloc(1, sizeof(*item) + bytes);

	if (!item)
		return false;
	item->index = index;
	memcpy(item->key, key, bytes);
	HASH_ADD_KEYPTR(hh, *table, item->key, bytes, item);
	if (item->refused)
		free(item);
	else
		return true;
	return false;
}

static void clear(struct item **table)
{
	struct item *item;
	struct item *next;

	HASH_ITER (hh, *table, item, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, *table, item);
		free(item);
	}
}

/* Makes room for one more element; NULL without memory. */
static void *grown(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
	uint32_t more = *capacity ? *capacity * 2 : 64;
	void *result;

	if (count < *capacity)
		return array;
	result = reallocarray(array, more, size);
	if (result)
		*capacity = more;
	return result;
}

static uint32_t intern_build_id(struct window *window,
				const struct module *module)
{
	char hex[2 * MODULE_BUILD_ID_BYTES + 1];

	id_to_hex(hex, module->build_id, module->build_id_bytes);
	return strings_intern(&window->strings, hex);
}

/* Paths may be any bytes, a profile's strings must be UTF-8. */
static uint32_t intern_path(struct window *window, const char *path)
{
	char text[PATH_MAX];

	utf8_copy(text, sizeof(text), path, strlen(path));
	return strings_intern(&window->strings, text);
}

/* Index + 1 of the module's mapping, 0 without memory. */
static uint32_t intern_mapping(struct window *window,
			       const struct module *module)
{
	struct window_tables *tables = window->tables;
	uint32_t key[2] = {intern_path(window, module->path),
			   intern_build_id(window, module)};
	struct item *known = find(tables->mappings, key, sizeof(key));
	struct window_mapping *mappings;

	if (known)
		return known->index + 1;
	mappings = grown(window->mappings, window->mapping_count,
			 &tables->mapping_capacity, sizeof(*mappings));
	if (!mappings)
		return 0;
	window->mappings = mappings;
	if (!insert(&tables->mappings, key, sizeof(key), window->mapping_count))
		return 0;
	mappings[window->mapping_count] = (struct window_mapping){
		.path_text = key[0], .build_id_text = key[1], .limit = 4096};
	return ++window->mapping_count;
}

static bool intern_function(struct window *window, const char *name,
			    const char *system_name, uint32_t *index)
{
	struct window_tables *tables = window->tables;
	uint32_t key[2] = {strings_intern(&window->strings, name),
			   strings_intern(&window->strings, system_name)};
	struct item *known = find(tables->functions, key, sizeof(key));
	struct window_function *functions;

	*index = known ? known->index : window->function_count;
	if (known)
		return true;
	functions = grown(window->functions, window->function_count,
			  &tables->function_capacity, sizeof(*functions));
	if (!functions)
		return false;
	window->functions = functions;
	if (!insert(&tables->functions, key, sizeof(key), *index))
		return false;
	functions[window->function_count++] =
		(struct window_function){key[0], key[1]};
	return true;
}

struct place {
	uint32_t mapping;
	uint32_t special; /* a frame of our own: its name's text */
	uint64_t address;
};

static bool find_location(const struct window *window,
			  const struct place *place, uint32_t *index)
{
	struct item *known =
		find(window->tables->locations, place, sizeof(*place));

	if (known)
		*index = known->index;
	return known != NULL;
}

static bool add_location(struct window *window, const struct place *place,
			 uint32_t function, uint32_t *index)
{
	struct window_tables *tables = window->tables;
	struct window_location *locations;

	locations = grown(window->locations, window->location_count,
			  &tables->location_capacity, sizeof(*locations));
	if (!locations)
		return false;
	window->locations = locations;
	*index = window->location_count;
	if (!insert(&tables->locations, place, sizeof(*place), *index))
		return false;
	locations[window->location_count++] = (struct window_location){
		place->mapping, function, place->address};
	return true;
}

static bool intern_special(struct window *window, const char *name,
			   uint32_t *index)
{
	struct place place = {0, strings_intern(&window->strings, name), 0};
	uint32_t function;

	if (find_location(window, &place, index))
		return true;
	return intern_function(window, name, name, &function) &&
	       add_location(window, &place, function, index);
}

/* Without a symbol a function is named by where it begins, if the unwind
 * information knows, so that its addresses still add up. */
static void name_place(const struct elf_file *file,
		       const struct stack_frame *frame, char *name,
		       size_t name_bytes)
{
	struct eh_frame_fde fde;
	uint64_t vaddr = frame->vaddr;

	if (file && eh_frame_find(&file->frames, vaddr, &fde) == 0)
		vaddr = fde.start;
	snprintf(name, name_bytes, "[%.400s+0x%" PRIx64 "]",
		 frame->module->name, vaddr);
}

static bool name_frame(struct window *window, struct address_map *map,
		       const struct stack_frame *frame, uint32_t *function)
{
	const struct elf_file *file = address_map_file(map, frame->module);
	const char *symbol = file ? elf_file_symbol(file, frame->vaddr) : NULL;
	char place[512];
	char *name;
	bool done;

	if (!symbol) {
		window->unnamed_count++;
		name_place(file, frame, place, sizeof(place));
		return intern_function(window, place, place, function);
	}
	name = demangle(symbol);
	done = name && intern_function(window, name, symbol, function);
	free(name);
	return done;
}

/* A load bias that makes no sense may put a place anywhere. */
static uint64_t page_end(uint64_t vaddr)
{
	uint64_t last = vaddr | 4095;

	return last == UINT64_MAX ? last : last + 1;
}

static bool intern_frame(struct window *window, struct address_map *map,
			 const struct stack_frame *frame, uint32_t *index)
{
	struct place place = {0, 0, frame->vaddr};
	struct window_mapping *mapping;
	uint32_t function;

	if (!frame->module)
		return intern_special(window, WINDOW_UNKNOWN, index);
	place.mapping = intern_mapping(window, frame->module);
	if (!place.mapping)
		return false;
	if (find_location(window, &place, index))
		return true;
	mapping = &window->mappings[place.mapping - 1];
	if (frame->vaddr >= mapping->limit)
		mapping->limit = page_end(frame->vaddr);
	return name_frame(window, map, frame, &function) &&
	       add_location(window, &place, function, index);
}

#define LABEL_WORDS 8u

static void write_key(uint32_t *key, const struct window_sample *weight,
		      uint32_t name)
{
	memcpy(key, weight->labels.span_id, SPAN_ID_BYTES);
	memcpy(key + 2, weight->labels.trace_id, TRACE_ID_BYTES);
	key[6] = name;
	key[7] = weight->labels.pid;
}

static bool has_span(const struct window_labels *labels)
{
	return id_is_set(labels->span_id, SPAN_ID_BYTES);
}

/* A server refuses a sample without a value. */
static bool is_nothing(const struct window_sample *weight)
{
	return weight->count == 0 && weight->cpu_ns == 0;
}

static void count(struct window *window, const struct window_sample *weight)
{
	window->total_ns += weight->cpu_ns;
	if (has_span(&weight->labels))
		window->labelled_ns += weight->cpu_ns;
}

/* pprof's values are signed; what the ring tells may add up to anything. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
	const uint64_t most = INT64_MAX;

	return a > most || b > most - a ? most : a + b;
}

/* Adds to the sample with this key, which becomes the window's when it is
 * new. Takes the item. */
static bool add_up(struct window *window, struct sample_item *item,
		   uint32_t locations)
{
	size_t bytes = (LABEL_WORDS + locations) * sizeof(uint32_t);
	struct window_tables *tables = window->tables;
	struct sample_item *known;

	HASH_FIND(hh, tables->samples, item->key, bytes, known);
	if (known) {
		known->sample.count =
			sum_of(known->sample.count, item->sample.count);
		known->sample.cpu_ns =
			sum_of(known->sample.cpu_ns, item->sample.cpu_ns);
		free(item);
		return true;
	}
	HASH_ADD_KEYPTR(hh, tables->samples, item->key, bytes, item);
	if (item->refused) {
		free(item);
		return false;
	}
	window->sample_count++;
	window->labelled_count += has_span(&item->sample.labels);
	window->frame_count += locations;
	return true;
}

static struct sample_item *new_item(struct window *window,
				    const struct window_sample *weight,
				    uint32_t locations)
{
	struct sample_item *item =
		calloc(1, sizeof(*item) +
				  (LABEL_WORDS + locations) * sizeof(uint32_t));

	if (!item)
		return NULL;
	item->sample = *weight;
	item->sample.count = sum_of(weight->count, 0);
	item->sample.cpu_ns = sum_of(weight->cpu_ns, 0);
	if (weight->labels.span_name)
		item->sample.name_text = strings_intern(
			&window->strings, weight->labels.span_name);
	item->sample.labels.span_name = NULL;
	item->sample.locations = item->key + LABEL_WORDS;
	item->sample.location_count = locations;
	write_key(item->key, weight, item->sample.name_text);
	return item;
}

int window_init(struct window *window)
{
	memset(window, 0, sizeof(*window));
	window->tables = calloc(1, sizeof(*window->tables));
	if (!window->tables)
		return -ENOMEM;
	if (strings_init(&window->strings) == 0)
		return 0;
	free(window->tables);
	window->tables = NULL;
	return -ENOMEM;
}

void window_fini(struct window *window)
{
	struct sample_item *item;
	struct sample_item *next;

	HASH_ITER (hh, window->tables->samples, item, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, window->tables->samples, item);
		free(item);
	}
	clear(&window->tables->mappings);
	clear(&window->tables->functions);
	clear(&window->tables->locations);
	free(window->tables);
	free(window->mappings);
	free(window->functions);
	free(window->locations);
	strings_fini(&window->strings);
}

bool window_add_stack(struct window *window, struct address_map *map,
		      const struct stack *stack, enum complete_result result,
		      const struct window_sample *weight)
{
	uint32_t marker = result == COMPLETE ? 0 : 1;
	uint32_t locations = stack->count + marker;
	struct sample_item *item;
	uint32_t *to;

	if (is_nothing(weight))
		return true;
	if (locations == 0)
		return window_add_unsampled(window, weight);
	item = new_item(window, weight, locations);
	if (!item)
		return false;
	to = item->key + LABEL_WORDS;
	for (uint32_t i = 0; i < stack->count; i++) {
		if (!intern_frame(window, map, &stack->frames[i], &to[i]))
			goto drop;
	}
	if (marker &&
	    !intern_special(window, WINDOW_TRUNCATED, &to[stack->count]))
		goto drop;
	count(window, weight);
	return add_up(window, item, locations);
drop:
	free(item);
	return false;
}

bool window_add_unsampled(struct window *window,
			  const struct window_sample *weight)
{
	struct sample_item *item;

	if (is_nothing(weight))
		return true;
	item = new_item(window, weight, 1);
	if (!item)
		return false;
	if (!intern_special(window, WINDOW_UNSAMPLED,
			    item->key + LABEL_WORDS)) {
		free(item);
		return false;
	}
	count(window, weight);
	window->unsampled_ns += weight->cpu_ns;
	return add_up(window, item, 1);
}

/* A sample takes some 50 bytes, 52 more for the texts of its ids, and 3 a
 * frame; a location some 30, a function some 12 and its names; see pprof.c. */
bool window_is_full(const struct window *window)
{
	uint64_t bytes = window->sample_count * UINT64_C(50) +
			 window->labelled_count * UINT64_C(52) +
			 window->frame_count * 3 +
			 window->location_count * UINT64_C(30) +
			 window->function_count * UINT64_C(12) +
			 window->strings.bytes + window->strings.count * 4ull;

	/* A sample with the deepest stack and new names still fits in. */
	return window->sample_count >= WINDOW_SAMPLES_MAX ||
	       bytes >= WINDOW_BYTES_MAX - (256u << 10);
}

void window_each(const struct window *window,
		 void (*visit)(void *context,
			       const struct window_sample *sample),
		 void *context)
{
	struct sample_item *item;
	struct sample_item *next;

	HASH_ITER (hh, window->tables->samples, item, next)
		visit(context, &item->sample);
}
