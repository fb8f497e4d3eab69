/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as OTLP JSON, read back by jansson.
 * Runs on: the test program's main thread.
 */
#include "exporter/trace_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/profile_check.h"
#include "tests/lib/unit.h"

#define LINES_MAX 8u

static struct trace_json *json;
static json_t *lines[LINES_MAX];
static size_t line_count;

static void begin_as(const char *service, int64_t offset_ns)
{
	trace_json_destroy(json);
	json = trace_json_create(service, offset_ns);
	CHECK(json != NULL);
	while (line_count)
		json_decref(lines[--line_count]);
}

static void begin(void)
{
	begin_as("shop", 1000000);
}

static struct known_span new_span(void)
{
	struct known_span span = {
		.pid = 42,
		.tid = 43,
		.start_ns = 5000000,
		.end_ns = 7000000,
		.cpu_ns = 1234,
		.http_status = 200,
		.end_reason = SPAN_END_COMPLETE,
		.method = "GET",
		.path = "/a/b",
	};

	memset(span.context.trace_id, 0xab, TRACE_ID_BYTES);
	memset(span.context.span_id, 0x01, SPAN_ID_BYTES);
	memset(span.context.root_id, 0x02, SPAN_ID_BYTES);
	memset(span.context.parent_id, 0xef, SPAN_ID_BYTES);
	return span;
}

static void add(const struct known_span *span)
{
	trace_json_add(json, span);
}

/* Ends the document and decodes its lines. */
static void finish(void)
{
	void *packed = NULL;
	size_t bytes = 0;
	size_t length = 0;
	char *text;
	char *line;

	CHECK_EQ(trace_json_encode(json, &packed, &bytes), 0);
	text = (char *)profile_check_unpack(packed, bytes, &length);
	free(packed);
	CHECK(text != NULL);
	CHECK(length > 0 && text[length - 1] == '\n');
	CHECK_EQ(strlen(text), length);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		CHECK(line_count < LINES_MAX);
		lines[line_count] =
			json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		CHECK(lines[line_count++] != NULL);
	}
	free(text);
	trace_json_destroy(json);
	json = NULL;
}

static const json_t *only(const json_t *parent, const char *key)
{
	const json_t *list = json_object_get(parent, key);

	CHECK_EQ(json_array_size(list), 1);
	return json_array_get(list, 0);
}

static const json_t *spans_of_line(size_t line)
{
	CHECK(line < line_count);
	return json_object_get(
		only(only(lines[line], "resourceSpans"), "scopeSpans"),
		"spans");
}

static const json_t *only_span(void)
{
	CHECK_EQ(line_count, 1);
	CHECK_EQ(json_array_size(spans_of_line(0)), 1);
	return json_array_get(spans_of_line(0), 0);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(none)";
}

/* An attribute's value, of the kind that is asked for. */
static const char *attribute(const json_t *object, const char *key,
			     const char *kind)
{
	const json_t *list = json_object_get(object, "attributes");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!strcmp(text_of(item, "key"), key))
			return text_of(json_object_get(item, "value"), kind);
	}
	return "(none)";
}

TEST(a_span_bears_ids_name_kind_and_times)
{
	struct known_span span = new_span();
	const json_t *got;

	begin();
	add(&span);
	finish();
	got = only_span();
	CHECK_STR(text_of(got, "traceId"), "abababababababababababababababab");
	CHECK_STR(text_of(got, "spanId"), "0101010101010101");
	CHECK_STR(text_of(got, "parentSpanId"), "efefefefefefefef");
	CHECK_STR(text_of(got, "name"), "GET");
	CHECK_EQ(json_integer_value(json_object_get(got, "kind")), 2);
	CHECK_STR(text_of(got, "startTimeUnixNano"), "6000000");
	CHECK_STR(text_of(got, "endTimeUnixNano"), "8000000");
	CHECK(!json_object_get(got, "status"));
}

TEST(a_span_bears_its_attributes)
{
	struct known_span span = new_span();
	const json_t *got;

	begin();
	add(&span);
	finish();
	got = only_span();
	CHECK_STR(attribute(got, "http.request.method", "stringValue"), "GET");
	CHECK_STR(attribute(got, "url.path", "stringValue"), "/a/b");
	CHECK_STR(attribute(got, "http.response.status_code", "intValue"),
		  "200");
	CHECK_STR(attribute(got, "pyroscope.profile.id", "stringValue"),
		  "0202020202020202");
	CHECK_STR(attribute(got, "spanprof.cpu_ns", "intValue"), "1234");
	CHECK_STR(attribute(got, "spanprof.end", "stringValue"), "complete");
	CHECK_STR(attribute(got, "process.pid", "intValue"), "42");
	CHECK_STR(attribute(got, "thread.id", "intValue"), "43");
}

TEST(a_root_has_no_parent)
{
	struct known_span span = new_span();

	begin();
	memset(span.context.parent_id, 0, SPAN_ID_BYTES);
	add(&span);
	finish();
	CHECK(!json_object_get(only_span(), "parentSpanId"));
}

TEST(a_status_that_was_not_seen_is_not_told)
{
	struct known_span span = new_span();

	begin();
	span.http_status = 0;
	add(&span);
	finish();
	CHECK_STR(
		attribute(only_span(), "http.response.status_code", "intValue"),
		"(none)");
}

TEST(a_servers_error_is_an_error)
{
	static const uint32_t codes[] = {499, 500, 599};

	for (size_t i = 0; i < 3; i++) {
		struct known_span span = new_span();
		const json_t *status;

		begin();
		span.http_status = codes[i];
		add(&span);
		finish();
		status = json_object_get(only_span(), "status");
		CHECK_EQ(status != NULL, codes[i] >= 500);
		CHECK(!status ||
		      json_integer_value(json_object_get(status, "code")) == 2);
	}
}

TEST(each_reason_of_an_end_has_its_word)
{
	static const char *const words[] = {"unfinished", "complete",
					    "closed",     "next",
					    "lost",       "unfinished"};

	for (uint32_t i = 0; i < 6; i++) {
		struct known_span span = new_span();

		begin();
		span.end_reason = i;
		add(&span);
		finish();
		CHECK_STR(attribute(only_span(), "spanprof.end", "stringValue"),
			  words[i]);
	}
}

TEST(a_span_without_a_method_has_a_name)
{
	struct known_span span = new_span();

	begin();
	span.method[0] = '\0';
	add(&span);
	finish();
	CHECK_STR(text_of(only_span(), "name"), "unnamed");
}

TEST(numbers_of_64_bits_are_whole)
{
	struct known_span span = new_span();

	begin_as("shop", 0);
	span.cpu_ns = UINT64_MAX;
	span.end_ns = UINT64_MAX - 1;
	span.pid = span.tid = span.http_status = UINT32_MAX;
	add(&span);
	finish();
	CHECK_STR(text_of(only_span(), "endTimeUnixNano"),
		  "18446744073709551614");
	CHECK_STR(attribute(only_span(), "spanprof.cpu_ns", "intValue"),
		  "18446744073709551615");
	CHECK_STR(attribute(only_span(), "thread.id", "intValue"),
		  "4294967295");
}

/* jansson refuses what is no UTF-8. */
TEST(hostile_texts_are_strings_all_the_same)
{
	struct known_span span = new_span();

	begin();
	strcpy(span.method, "\"\\\n\xff");
	strcpy(span.path,
	       "/\x01\x7f\"},{\xc3\x28\xf4\x90\x80\x80</script>\xc3");
	add(&span);
	for (int c = 1; c < 256; c++) {
		memset(span.path, c, SPAN_PATH_BYTES - 1);
		span.path[SPAN_PATH_BYTES - 1] = '\0';
		add(&span);
	}
	finish();
	CHECK_EQ(json_array_size(spans_of_line(0)), 256);
	CHECK_STR(attribute(json_array_get(spans_of_line(0), 0), "url.path",
			    "stringValue"),
		  "/??\"},{?(????"
		  "</script>?");
	CHECK_STR(text_of(json_array_get(spans_of_line(0), 0), "name"),
		  "\"\\??");
	CHECK_EQ(strlen(attribute(json_array_get(spans_of_line(0), 'x'),
				  "url.path", "stringValue")),
		 SPAN_PATH_BYTES - 1);
}

static const char *service_of_line(size_t line)
{
	const json_t *resource =
		json_object_get(only(lines[line], "resourceSpans"), "resource");

	return attribute(resource, "service.name", "stringValue");
}

TEST(the_service_is_told_whole)
{
	struct known_span span = new_span();
	char name[256];

	memset(name, 's', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin_as(name, 0);
	add(&span);
	finish();
	CHECK_STR(service_of_line(0), name);
	begin_as("caf\xe9", 0);
	add(&span);
	finish();
	CHECK_STR(service_of_line(0), "caf?");
}

TEST(many_spans_are_several_lines)
{
	struct known_span span = new_span();
	size_t total = 0;

	begin();
	for (unsigned i = 0; i < 2500; i++) {
		snprintf(span.path, sizeof(span.path), "/%u", i);
		add(&span);
	}
	finish();
	CHECK_EQ(line_count, 3);
	for (size_t i = 0; i < line_count; i++) {
		size_t spans = json_array_size(spans_of_line(i));
		char path[16];

		snprintf(path, sizeof(path), "/%zu", total);
		CHECK_STR(service_of_line(i), "shop");
		CHECK_STR(attribute(json_array_get(spans_of_line(i), 0),
				    "url.path", "stringValue"),
			  path);
		CHECK(spans > 0 && spans <= 1000);
		total += spans;
	}
	CHECK_EQ(total, 2500);
}

TEST(exactly_a_lines_spans_are_one_line)
{
	struct known_span span = new_span();

	begin();
	for (unsigned i = 0; i < 1000; i++)
		add(&span);
	finish();
	CHECK_EQ(line_count, 1);
}

/* A Collector's file receiver takes lines of up to 1 MiB. */
TEST(a_line_of_the_largest_spans_is_below_1_mib)
{
	struct known_span span = new_span();
	char *text;

	begin();
	memset(span.method, '"', SPAN_METHOD_BYTES - 1);
	memset(span.path, '"', SPAN_PATH_BYTES - 1);
	span.cpu_ns = span.start_ns = span.end_ns = UINT64_MAX;
	span.pid = span.tid = span.http_status = UINT32_MAX;
	for (unsigned i = 0; i < 1000; i++)
		add(&span);
	finish();
	text = json_dumps(lines[0], JSON_COMPACT);
	CHECK(strlen(text) < 1u << 20);
	free(text);
}
