/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes spans as OTLP JSON, by yajl: a stream, since a window may hold many
 * thousand spans and a tree of them costs ten times as much.
 * Runs on: the exporter's main thread.
 */
#include "exporter/trace_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "exporter/gzip.h"
#include "exporter/ids.h"
#include "exporter/utf8.h"
#include "preload/version.h"

/* opentelemetry-proto trace.proto: SpanKind and Status.StatusCode */
#define SPAN_KIND_SERVER 2
#define STATUS_CODE_ERROR 2

/* A line is one TracesData. A Collector's file receiver takes lines of up to
 * 1 MiB by default; a span takes up to 900 bytes. */
#define SPANS_A_LINE 1000u

struct trace_json {
	yajl_gen gen;
	const char *service; /* the caller's */
	int64_t clock_offset_ns;
	unsigned in_line;
};

static void put_text(struct trace_json *json, const char *text)
{
	yajl_gen_string(json->gen, (const unsigned char *)text, strlen(text));
}

/* Longer than any of a span's texts and a service's name. */
#define TEXT_BYTES 512

/* A text that came through the ring, or from the configuration. */
static void put_foreign(struct trace_json *json, const char *from)
{
	char text[TEXT_BYTES];

	utf8_copy(text, sizeof(text), from, strlen(from));
	put_text(json, text);
}

static void put_number(struct trace_json *json, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put_text(json, text);
}

static void put_id(struct trace_json *json, const uint8_t *id, size_t bytes)
{
	char text[2 * TRACE_ID_BYTES + 1];

	id_to_hex(text, id, bytes);
	put_text(json, text);
}

static void open_map(struct trace_json *json)
{
	yajl_gen_map_open(json->gen);
}

static void close_map(struct trace_json *json)
{
	yajl_gen_map_close(json->gen);
}

static void open_list(struct trace_json *json, const char *key)
{
	put_text(json, key);
	yajl_gen_array_open(json->gen);
}

static void close_list(struct trace_json *json)
{
	yajl_gen_array_close(json->gen);
}

/* {"key": KEY, "value": {TYPE: ... ; the caller writes the value, then calls
 * close_attribute. */
static void open_attribute(struct trace_json *json, const char *key,
			   const char *type)
{
	open_map(json);
	put_text(json, "key");
	put_text(json, key);
	put_text(json, "value");
	open_map(json);
	put_text(json, type);
}

static void close_attribute(struct trace_json *json)
{
	close_map(json);
	close_map(json);
}

static void put_text_attribute(struct trace_json *json, const char *key,
			       const char *value)
{
	open_attribute(json, key, "stringValue");
	put_foreign(json, value);
	close_attribute(json);
}

static void put_number_attribute(struct trace_json *json, const char *key,
				 uint64_t value)
{
	open_attribute(json, key, "intValue");
	put_number(json, value);
	close_attribute(json);
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

static void put_attributes(struct trace_json *json,
			   const struct known_span *span)
{
	open_list(json, "attributes");
	put_text_attribute(json, "http.request.method", span->method);
	put_text_attribute(json, "url.path", span->path);
	if (span->http_status)
		put_number_attribute(json, "http.response.status_code",
				     span->http_status);
	open_attribute(json, "pyroscope.profile.id", "stringValue");
	put_id(json, span->context.root_id, SPAN_ID_BYTES);
	close_attribute(json);
	put_number_attribute(json, "spanprof.cpu_ns", span->cpu_ns);
	put_text_attribute(json, "spanprof.end", end_word(span->end_reason));
	put_number_attribute(json, "process.pid", span->pid);
	put_number_attribute(json, "thread.id", span->tid);
	close_list(json);
}

static void put_ids(struct trace_json *json, const struct known_span *span)
{
	put_text(json, "traceId");
	put_id(json, span->context.trace_id, TRACE_ID_BYTES);
	put_text(json, "spanId");
	put_id(json, span->context.span_id, SPAN_ID_BYTES);
	if (!id_is_set(span->context.parent_id, SPAN_ID_BYTES))
		return;
	put_text(json, "parentSpanId");
	put_id(json, span->context.parent_id, SPAN_ID_BYTES);
}

static void put_time(struct trace_json *json, const char *key, uint64_t ns)
{
	put_text(json, key);
	put_number(json, ns + (uint64_t)json->clock_offset_ns);
}

static void put_resource(struct trace_json *json, const char *service)
{
	put_text(json, "resource");
	open_map(json);
	open_list(json, "attributes");
	put_text_attribute(json, "service.name", service);
	close_list(json);
	close_map(json);
}

static void put_scope(struct trace_json *json)
{
	put_text(json, "scope");
	open_map(json);
	put_text(json, "name");
	put_text(json, "spanprof");
	put_text(json, "version");
	put_text(json, SPANPROF_VERSION);
	close_map(json);
}

static void begin_line(struct trace_json *json)
{
	json->in_line = 0;
	open_map(json);
	open_list(json, "resourceSpans");
	open_map(json);
	put_resource(json, json->service);
	open_list(json, "scopeSpans");
	open_map(json);
	put_scope(json);
	open_list(json, "spans");
}

static void end_line(struct trace_json *json)
{
	close_list(json);
	close_map(json);
	close_list(json);
	close_map(json);
	close_list(json);
	close_map(json);
}

struct trace_json *trace_json_create(const char *service,
				     int64_t clock_offset_ns)
{
	struct trace_json *json = calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->service = service;
	json->clock_offset_ns = clock_offset_ns;
	json->gen = yajl_gen_alloc(NULL);
	if (!json->gen) {
		free(json);
		return NULL;
	}
	begin_line(json);
	return json;
}

void trace_json_destroy(struct trace_json *json)
{
	if (!json)
		return;
	yajl_gen_free(json->gen);
	free(json);
}

void trace_json_add(struct trace_json *json, const struct known_span *span)
{
	if (json->in_line++ == SPANS_A_LINE) {
		end_line(json);
		yajl_gen_reset(json->gen, "\n");
		begin_line(json);
		json->in_line = 1;
	}
	open_map(json);
	put_ids(json, span);
	/* Named by the method alone: what route a path belongs to is not
	 * known, and names must be few (OTel HTTP semantic conventions). */
	put_text(json, "name");
	put_foreign(json, span->method[0] ? span->method : "unnamed");
	put_text(json, "kind");
	yajl_gen_integer(json->gen, SPAN_KIND_SERVER);
	put_time(json, "startTimeUnixNano", span->start_ns);
	put_time(json, "endTimeUnixNano", span->end_ns);
	put_attributes(json, span);
	if (span->http_status >= 500) {
		put_text(json, "status");
		open_map(json);
		put_text(json, "code");
		yajl_gen_integer(json->gen, STATUS_CODE_ERROR);
		close_map(json);
	}
	close_map(json);
}

int trace_json_encode(struct trace_json *json, void **bytes, size_t *len_bytes)
{
	const unsigned char *text;
	size_t length;

	end_line(json);
	if (yajl_gen_get_buf(json->gen, &text, &length) != yajl_gen_status_ok)
		return -ENOMEM;
	/* yajl ends its buffer with a NUL; the last line ends with a newline.
	 */
	return gzip_compress_line(text, length, bytes, len_bytes);
}
