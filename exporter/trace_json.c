/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes spans as OTLP JSON, by jansson.
 * Runs on: the exporter's main thread.
 */
#include "exporter/trace_json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/gzip.h"
#include "exporter/utf8.h"
#include "preload/version.h"

/* opentelemetry-proto trace.proto: SpanKind and Status.StatusCode */
#define SPAN_KIND_SERVER 2
#define STATUS_CODE_ERROR 2

struct trace_json {
	json_t *root;
	json_t *spans; /* borrowed from root */
	int64_t clock_offset_ns;
};

static json_t *id_text(const uint8_t *id, size_t bytes)
{
	char text[2 * TRACE_ID_BYTES + 1];

	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return json_string(text);
}

static json_t *number_text(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_string(text);
}

/* A text that came through the ring. */
static json_t *foreign_text(const char *from)
{
	char text[SPAN_PATH_BYTES];

	utf8_copy(text, sizeof(text), from, strlen(from));
	return json_string(text);
}

/* Takes `value`. */
static void add_attribute(json_t *attributes, const char *key, const char *type,
			  json_t *value)
{
	json_array_append_new(attributes, json_pack("{s:s, s:{s:o}}", "key",
						    key, "value", type, value));
}

static const char *end_word(uint32_t reason)
{
	switch (reason) {
	case SPAN_END_COMPLETE:
		return "complete";
	case SPAN_END_CLOSED:
		return "closed";
	case SPAN_END_NEXT:
		return "next";
	case SPAN_END_LOST:
		return "lost";
	default:
		return "unfinished";
	}
}

static json_t *attributes_of(const struct known_span *span)
{
	json_t *list = json_array();

	add_attribute(list, "http.request.method", "stringValue",
		      foreign_text(span->method));
	add_attribute(list, "url.path", "stringValue",
		      foreign_text(span->path));
	if (span->http_status)
		add_attribute(list, "http.response.status_code", "intValue",
			      number_text(span->http_status));
	add_attribute(list, "pyroscope.profile.id", "stringValue",
		      id_text(span->context.root_id, SPAN_ID_BYTES));
	add_attribute(list, "spanprof.cpu_ns", "intValue",
		      number_text(span->cpu_ns));
	add_attribute(list, "spanprof.end", "stringValue",
		      json_string(end_word(span->end_reason)));
	add_attribute(list, "process.pid", "intValue", number_text(span->pid));
	add_attribute(list, "thread.id", "intValue", number_text(span->tid));
	return list;
}

/* Named by the method alone: what route a path belongs to is not known, and
 * names must be few (OTel HTTP semantic conventions). */
static json_t *name_of(const struct known_span *span)
{
	return span->method[0] ? foreign_text(span->method)
			       : json_string("unnamed");
}

static bool has_parent(const struct known_span *span)
{
	static const uint8_t none[SPAN_ID_BYTES];

	return memcmp(span->context.parent_id, none, SPAN_ID_BYTES) != 0;
}

static uint64_t since_1970(const struct trace_json *json, uint64_t ns)
{
	return ns + (uint64_t)json->clock_offset_ns;
}

struct trace_json *trace_json_create(const char *service,
				     int64_t clock_offset_ns)
{
	struct trace_json *json = calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->clock_offset_ns = clock_offset_ns;
	json->spans = json_array();
	json->root = json_pack(
		"{s:[{s:{s:[{s:s, s:{s:s}}]}, s:[{s:{s:s, s:s}, s:o}]}]}",
		"resourceSpans", "resource", "attributes", "key",
		"service.name", "value", "stringValue", service, "scopeSpans",
		"scope", "name", "spanprof", "version", SPANPROF_VERSION,
		"spans", json->spans);
	if (json->root)
		return json;
	free(json);
	return NULL;
}

void trace_json_destroy(struct trace_json *json)
{
	if (!json)
		return;
	json_decref(json->root);
	free(json);
}

void trace_json_add(struct trace_json *json, const struct known_span *span)
{
	json_t *object = json_pack(
		"{s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "traceId",
		id_text(span->context.trace_id, TRACE_ID_BYTES), "spanId",
		id_text(span->context.span_id, SPAN_ID_BYTES), "name",
		name_of(span), "kind", SPAN_KIND_SERVER, "startTimeUnixNano",
		number_text(since_1970(json, span->start_ns)),
		"endTimeUnixNano", number_text(since_1970(json, span->end_ns)),
		"attributes", attributes_of(span));

	if (!object)
		return;
	if (has_parent(span))
		json_object_set_new(
			object, "parentSpanId",
			id_text(span->context.parent_id, SPAN_ID_BYTES));
	if (span->http_status >= 500)
		json_object_set_new(
			object, "status",
			json_pack("{s:i}", "code", STATUS_CODE_ERROR));
	json_array_append_new(json->spans, object);
}

int trace_json_encode(struct trace_json *json, void **bytes, size_t *len_bytes)
{
	char *text = json_dumps(json->root, JSON_COMPACT);
	size_t length;
	int error;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length] = '\n'; /* in place of the NUL */
	error = gzip_compress(text, length + 1, bytes, len_bytes);
	free(text);
	return error;
}
