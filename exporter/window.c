/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds samples up.
 * Runs on: the exporter's main thread.
 */
#include "exporter/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#include <uthash.h>

#include "exporter/ids.h"
#include "exporter/window_places.h"

struct sample_item {
	struct window_sample sample;
	bool refused;
	UT_hash_handle hh;
	uint32_t key[]; /* labels, then the locations */
};

static bool intern_special(struct window *window, const char *name,
			   uint32_t *location)
{
	return window_locate_named(window, name, 0, location);
}

static bool intern_frame(struct window *window, struct address_map *map,
			 const struct stack_frame *frame, uint32_t *location)
{
	const char *name;

	if (frame->module)
		return window_locate(window, map, frame, location);
	name = address_map_generated(map, frame->lookup);
	if (name)
		return window_locate_named(window, name, frame->address,
					   location);
	window->nameless[WINDOW_NO_FILE]++;
	return intern_special(window, WINDOW_UNKNOWN, location);
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
	struct sample_item *known;

	HASH_FIND(hh, window->samples, item->key, bytes, known);
	if (known) {
		known->sample.count =
			sum_of(known->sample.count, item->sample.count);
		known->sample.cpu_ns =
			sum_of(known->sample.cpu_ns, item->sample.cpu_ns);
		free(item);
		return true;
	}
	HASH_ADD_KEYPTR(hh, window->samples, item->key, bytes, item);
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
	window->places = calloc(1, sizeof(*window->places));
	if (!window->places)
		return -ENOMEM;
	if (strings_init(&window->strings) == 0)
		return 0;
	free(window->places);
	window->places = NULL;
	return -ENOMEM;
}

void window_fini(struct window *window)
{
	struct sample_item *item;
	struct sample_item *next;

	HASH_ITER (hh, window->samples, item, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, window->samples, item);
		free(item);
	}
	window_places_fini(window);
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
 * frame; a location some 24 and 10 a line, a function some 18 and its names;
 * see pprof.c. What has no names yet may get long ones. */
static bool looks_full(const struct window *window)
{
	uint64_t bytes = window->sample_count * UINT64_C(50) +
			 window->labelled_count * UINT64_C(52) +
			 window->frame_count * 3 +
			 window->location_count * UINT64_C(24) +
			 window->line_count * UINT64_C(10) +
			 window->unfinished_count * UINT64_C(1000) +
			 window->function_count * UINT64_C(18) +
			 window->strings.bytes + window->strings.count * 4ull;

	/* A sample with the deepest stack and new names still fits in. */
	return window->sample_count >= WINDOW_SAMPLES_MAX ||
	       bytes >= WINDOW_BYTES_MAX - (256u << 10);
}

bool window_is_full(struct window *window)
{
	if (looks_full(window) && window->unfinished_count)
		window_name(window, false);
	return looks_full(window);
}

void window_each(const struct window *window,
		 void (*visit)(void *context,
			       const struct window_sample *sample),
		 void *context)
{
	struct sample_item *item;
	struct sample_item *next;

	HASH_ITER (hh, window->samples, item, next)
		visit(context, &item->sample);
}
