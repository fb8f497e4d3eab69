/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as OTLP JSON (opentelemetry-proto 1.x, JSON Protobuf encoding: ids as
 * hex, 64-bit numbers as strings, enums as numbers), one TracesData of at
 * most 1,000 spans a line.
 */
#ifndef EXPORTER_TRACE_JSON_H
#define EXPORTER_TRACE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/spans.h"

struct trace_json;

/* Begins a document. `service` outlives it. `clock_offset_ns`: what is added to
 * CLOCK_MONOTONIC to get the time since 1970. NULL without memory. */
struct trace_json *trace_json_create(const char *service,
				     int64_t clock_offset_ns);
void trace_json_destroy(struct trace_json *json);

/* Adds a span. Call trace_json_encode once, after the last. */
void trace_json_add(struct trace_json *json, const struct known_span *span);

/* The document as gzip'ed lines; the caller frees it. 0 or -ENOMEM. */
int trace_json_encode(struct trace_json *json, void **bytes, size_t *len_bytes);

#endif
