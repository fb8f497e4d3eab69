/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns parts of the store into JSON.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "report/mem.h"
#include "report/sum.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* A copy in which every byte that isn't UTF-8 is U+FFFD. */
static char *repair(const char *text)
{
	size_t bytes = strlen(text), step;
	char *fixed = mem_zeroed(bytes * 3 + 1, 1), *to = fixed;

	for (; *text; text += step) {
		mbstate_t state = {0};

		step = mbrtowc(NULL, text, MB_CUR_MAX, &state);
		if (step <= MB_CUR_MAX) {
			memcpy(to, text, step);
			to += step;
			continue;
		}
		memcpy(to, REPLACEMENT, 3);
		to += 3;
		step = 1;
	}
	return fixed;
}

json_t *json_out_text(const char *text)
{
	char *fixed = repair(text);
	json_t *value = json_string(fixed);

	free(fixed);
	return value ? value : json_null();
}

json_t *json_out_number(uint64_t number)
{
	return json_integer(number > INT64_MAX ? INT64_MAX
					       : (json_int_t)number);
}

static json_t *number_if(bool known, uint64_t number)
{
	return known ? json_out_number(number) : json_null();
}

static json_t *text_if(const char *text)
{
	return text[0] ? json_out_text(text) : json_null();
}

static json_t *span_id(uint64_t id)
{
	char text[SPANID_TEXT_BYTES];

	spanid_format(text, id);
	return id ? json_string(text) : json_null();
}

static json_t *trace_id(struct trace_id id)
{
	char text[TRACEID_TEXT_BYTES];

	traceid_format(text, id);
	return traceid_is_none(id) ? json_null() : json_string(text);
}

/* RFC 3339 with nanoseconds: many readers lose digits of the number. */
static json_t *instant(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char text[64], whole[40];
	struct tm parts;

	if (!unix_ns || !gmtime_r(&seconds, &parts) ||
	    !strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &parts))
		return json_null();
	snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", whole,
		 unix_ns % 1000000000);
	return json_string(text);
}

static json_t *end_word(enum span_end end)
{
	static const char *const words[] = {
		[SPAN_END_COMPLETE] = "complete",
		[SPAN_END_CLOSED] = "closed",
		[SPAN_END_NEXT] = "next",
		[SPAN_END_LOST] = "lost",
		[SPAN_END_UNFINISHED] = "unfinished",
	};

	return end ? json_string(words[end]) : json_null();
}

static void add_names(json_t *to, const struct model *model,
		      const struct span *span)
{
	json_object_set_new(to, "name", text_if(model_text(model, span->name)));
	json_object_set_new(to, "method",
			    text_if(model_text(model, span->method)));
	json_object_set_new(to, "path", text_if(model_text(model, span->path)));
	json_object_set_new(to, "operation",
			    text_if(model_text(model, span->operation)));
	json_object_set_new(to, "service",
			    text_if(model_text(model, span->service)));
}

static void add_numbers(json_t *to, const struct span *span)
{
	uint64_t duration_ns;
	bool timed = span_duration_ns(span, &duration_ns);

	json_object_set_new(to, "duration_ns", number_if(timed, duration_ns));
	json_object_set_new(to, "cpu_ns",
			    number_if(span->cpu_known, span->cpu_ns));
	json_object_set_new(to, "samples", json_out_number(span->samples));
	json_object_set_new(to, "sampled_cpu_ns",
			    json_out_number(span->sampled_ns));
	json_object_set_new(to, "unsampled_cpu_ns",
			    json_out_number(span->unsampled_ns));
	json_object_set_new(to, "period_ns",
			    number_if(span->period_ns, span->period_ns));
	json_object_set_new(to, "status",
			    number_if(span->http_status, span->http_status));
	json_object_set_new(to, "pid", number_if(span->pid, span->pid));
	json_object_set_new(to, "tid", number_if(span->tid, span->tid));
}

json_t *json_out_span(const struct model *model, const struct span *span)
{
	json_t *to = json_object();

	json_object_set_new(to, "trace_id", trace_id(span->trace));
	json_object_set_new(to, "span_id", span_id(span->id));
	json_object_set_new(to, "parent_span_id", span_id(span->parent));
	add_names(to, model, span);
	json_object_set_new(to, "start", instant(span->start_ns));
	json_object_set_new(to, "start_unix_ns",
			    number_if(span->start_ns, span->start_ns));
	add_numbers(to, span);
	json_object_set_new(to, "error", json_boolean(span->failed));
	json_object_set_new(to, "end", end_word(span->end));
	return to;
}

static json_t *function_object(const struct model *model,
			       const struct function_sum *sum)
{
	json_t *to = json_object();

	json_object_set_new(to, "function",
			    json_out_text(model_text(model, sum->name)));
	json_object_set_new(to, "self_cpu_ns", json_out_number(sum->self_ns));
	json_object_set_new(to, "total_cpu_ns", json_out_number(sum->total_ns));
	json_object_set_new(to, "self_samples",
			    json_out_number(sum->self_count));
	json_object_set_new(to, "total_samples",
			    json_out_number(sum->total_count));
	return to;
}

json_t *json_out_functions(const struct model *model,
			   const struct function_sums *functions, size_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < functions->count && i < limit; i++)
		json_array_append_new(
			array, function_object(model, &functions->items[i]));
	return array;
}

/* The place of each node in the array, which has no node 0. */
static json_t *node_object(const struct model *model,
			   const struct tree_node *node, uint32_t parent_place)
{
	const struct function_sum sum = {
		.name = node->name,
		.self_ns = node->self_ns,
		.total_ns = node->total_ns,
		.self_count = node->self_count,
		.total_count = node->total_count,
	};
	json_t *to = function_object(model, &sum);

	json_object_set_new(to, "parent",
			    number_if(parent_place != TREE_NONE, parent_place));
	return to;
}

/* The node after `node` when callers come before callees. */
static uint32_t next_node(const struct tree *tree, uint32_t node)
{
	if (tree->nodes[node].first_child != TREE_NONE)
		return tree->nodes[node].first_child;
	while (node != 0 && tree->nodes[node].next_sibling == TREE_NONE)
		node = tree->nodes[node].parent;
	return node ? tree->nodes[node].next_sibling : TREE_NONE;
}

json_t *json_out_tree(const struct model *model, const struct tree *tree)
{
	uint32_t *places = mem_zeroed(tree->count, sizeof(*places));
	json_t *array = json_array();

	places[0] = TREE_NONE;
	for (uint32_t node = next_node(tree, 0); node != TREE_NONE;
	     node = next_node(tree, node)) {
		const struct tree_node *from = &tree->nodes[node];

		places[node] = (uint32_t)json_array_size(array);
		json_array_append_new(
			array, node_object(model, from, places[from->parent]));
	}
	free(places);
	return array;
}

/* Jansson lets DEL, U+007F, through; it is the only control left. */
static int write_piece(const char *piece, size_t length, void *to)
{
	for (size_t i = 0; i < length; i++)
		if (piece[i] == 0x7f)
			fputs("\\u007F", to);
		else
			putc(piece[i], to);
	return 0;
}

void json_out_print(json_t *value)
{
	json_dump_callback(value, write_piece, stdout,
			   JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(value);
}
