/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans on the exporter's side.
 * Runs on: the exporter's main thread.
 */
#include "exporter/spans.h"

#include <stdlib.h>
#include <string.h>

/* A table that can't grow refuses the span instead of ending the exporter. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#include <uthash.h>

#include "exporter/ids.h"
#include "exporter/utf8.h"

struct entry {
	struct known_span span;
	bool refused;
	struct entry *next; /* in the list of its window */
	UT_hash_handle hh;
};

/* Ended spans, first to last. */
struct list {
	struct entry *first;
	struct entry **end;
	size_t count;
};

struct spans {
	struct entry *by_id;
	struct list ended;    /* in this window */
	struct list previous; /* in the one before */
	uint64_t refused;
};

static void empty(struct list *list)
{
	list->first = NULL;
	list->end = &list->first;
	list->count = 0;
}

static void append(struct list *list, struct entry *entry)
{
	entry->next = NULL;
	*list->end = entry;
	list->end = &entry->next;
	list->count++;
}

static void forget(struct spans *spans, struct list *list)
{
	struct entry *entry = list->first;

	while (entry) {
		struct entry *next = entry->next;

		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, spans->by_id, entry);
		free(entry);
		entry = next;
	}
	empty(list);
}

static struct entry *lookup(const struct spans *spans,
			    const uint8_t id[SPAN_ID_BYTES])
{
	struct entry *entry;

	HASH_FIND(hh, spans->by_id, id, SPAN_ID_BYTES, entry);
	return entry;
}

static struct entry *add(struct spans *spans,
			 const struct span_context *context)
{
	struct entry *entry;

	if (!id_is_set(context->span_id, SPAN_ID_BYTES) ||
	    HASH_COUNT(spans->by_id) >= SPANS_MAX ||
	    lookup(spans, context->span_id) ||
	    !(entry = calloc(1, sizeof(*entry)))) {
		spans->refused++;
		return NULL;
	}
	entry->span.context = *context;
	HASH_ADD(hh, spans->by_id, span.context.span_id, SPAN_ID_BYTES, entry);
	if (!entry->refused)
		return entry;
	spans->refused++;
	free(entry);
	return NULL;
}

/* An end of 0 would read as none, and the span could end again. */
static void end(struct spans *spans, struct entry *entry, uint64_t end_ns)
{
	uint64_t least = entry->span.start_ns ? entry->span.start_ns : 1;

	entry->span.end_ns = end_ns < least ? least : end_ns;
	append(&spans->ended, entry);
}

struct spans *spans_create(void)
{
	struct spans *spans = calloc(1, sizeof(*spans));

	if (!spans)
		return NULL;
	empty(&spans->ended);
	empty(&spans->previous);
	return spans;
}

void spans_destroy(struct spans *spans)
{
	struct entry *entry;
	struct entry *next;

	if (!spans)
		return;
	HASH_ITER (hh, spans->by_id, entry, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, spans->by_id, entry);
		free(entry);
	}
	free(spans);
}

void spans_begin(struct spans *spans, const struct record_span_begin *record,
		 uint32_t pid)
{
	struct entry *entry = add(spans, &record->span);

	if (!entry)
		return;
	entry->span.pid = pid;
	entry->span.tid = record->head.tid;
	entry->span.start_ns = record->head.time_ns;
	utf8_copy(entry->span.method, SPAN_METHOD_BYTES, record->method,
		  SPAN_METHOD_BYTES);
	utf8_copy(entry->span.path, SPAN_PATH_BYTES, record->path,
		  SPAN_PATH_BYTES);
}

void spans_end(struct spans *spans, const struct record_span_end *record)
{
	struct entry *entry = lookup(spans, record->span.span_id);

	if (!entry || entry->span.end_ns)
		return;
	entry->span.cpu_ns = record->cpu_ns;
	entry->span.http_status = record->http_status;
	entry->span.end_reason = record->reason;
	end(spans, entry, record->head.time_ns);
}

void spans_abandon(struct spans *spans, uint32_t pid, uint64_t now_ns)
{
	struct entry *entry;
	struct entry *next;

	HASH_ITER (hh, spans->by_id, entry, next) {
		if (entry->span.pid == pid && !entry->span.end_ns)
			end(spans, entry, now_ns);
	}
}

void spans_count_samples(struct spans *spans, const uint8_t id[SPAN_ID_BYTES],
			 uint64_t samples)
{
	struct entry *entry = lookup(spans, id);

	if (entry)
		entry->span.samples += samples;
}

const struct known_span *spans_find(const struct spans *spans,
				    const uint8_t id[SPAN_ID_BYTES])
{
	struct entry *entry = lookup(spans, id);

	return entry ? &entry->span : NULL;
}

void spans_close_window(struct spans *spans,
			void (*visit)(void *context,
				      const struct known_span *span),
			void *context)
{
	for (struct entry *e = spans->ended.first; e; e = e->next)
		visit(context, &e->span);
	forget(spans, &spans->previous);
	spans->previous = spans->ended;
	if (!spans->previous.first)
		empty(&spans->previous);
	empty(&spans->ended);
}

size_t spans_ended(const struct spans *spans)
{
	return spans->ended.count;
}

uint64_t spans_refused(const struct spans *spans)
{
	return spans->refused;
}
