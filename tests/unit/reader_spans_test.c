/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the spans reader.
 * Runs on: the test program's main thread.
 */
#include "report/reader_spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

#define IDS                                                 \
	"\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\"," \
	"\"spanId\":\"9f86d081884c7d65\""
#define TIMES                                            \
	"\"startTimeUnixNano\":\"1783851072000000000\"," \
	"\"endTimeUnixNano\":\"1783851072430000000\""
#define LINE(span)                                                     \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":" \
	"\"service.name\",\"value\":{\"stringValue\":\"shop\"}}]},"    \
	"\"scopeSpans\":[{\"spans\":[{" span "}]}]}]}\n"
#define TEXT_OF(key, text) \
	"{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" text "\"}}"
#define NUMBER_OF(key, number) \
	"{\"key\":\"" key "\",\"value\":{\"intValue\":" number "}}"

static int read_text(struct span_file *file, const char *text,
		     struct fault *fault)
{
	/* A copy without the NUL, so that a sanitizer sees reads beyond. */
	size_t length = strlen(text);
	char *copy = malloc(length ? length : 1);
	int error;

	memcpy(copy, text, length);
	error = span_file_read(file, copy, length, fault);
	free(copy);
	return error;
}

static void check_refused(const char *text, const char *words)
{
	struct fault fault = {""};
	struct span_file file;

	CHECK_EQ(read_text(&file, text, &fault), -EBADMSG);
	CHECK_EQ(file.count, 0);
	span_file_fini(&file);
	if (!strstr(fault.text, words))
		CHECK_STR(fault.text, words);
}

TEST(spans_reader_takes_everything_of_a_span)
{
	struct span_file file;
	struct fault fault;
	const struct span_record *span;

	CHECK_EQ(
		read_text(
			&file,
			LINE(IDS
			     "," TIMES ",\"parentSpanId\":\"00f067aa0ba902b7\","
			     "\"name\":\"GET\",\"kind\":2,"
			     "\"status\":{\"code\":2},\"attributes\":"
			     "[" TEXT_OF("http.request.method", "GET") "," TEXT_OF("url.path", "/a/b") "," TEXT_OF("spanprof.end", "closed") "," TEXT_OF(
				     "other",
				     "x") "," NUMBER_OF("http.response.status_"
							"code",
							"\"500\"") "," NUMBER_OF("spanprof.cpu_ns",
										 "\"123\"") "," NUMBER_OF("process.pid",
													  "7") "," NUMBER_OF("thread.id",
															     "\"8\"") "]"),
			&fault),
		0);
	CHECK_EQ(file.count, 1);
	span = &file.records[0];
	CHECK_EQ(span->span, 0x9f86d081884c7d65);
	CHECK_EQ(span->parent, 0x00f067aa0ba902b7);
	CHECK_EQ(span->trace.low, 0xa3ce929d0e0e4736);
	CHECK_STR(span->service, "shop");
	CHECK_STR(span->name, "GET");
	CHECK_STR(span->method, "GET");
	CHECK_STR(span->path, "/a/b");
	CHECK_EQ(span->start_ns, 1783851072000000000);
	CHECK_EQ(span->end_ns, 1783851072430000000);
	CHECK_EQ(span->http_status, 500);
	CHECK_EQ(span->cpu_ns, 123);
	CHECK(span->cpu_known);
	CHECK_EQ(span->pid, 7);
	CHECK_EQ(span->tid, 8);
	CHECK_EQ(span->end, SPAN_END_CLOSED);
	CHECK(span->failed);
	span_file_fini(&file);
}

TEST(spans_reader_takes_many_spans_of_many_services_in_a_line)
{
	static const char text[] =
		"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS "},"
		"{" IDS "}]},{},{\"spans\":[{" IDS "}]}],\"resource\":{"
		"\"attributes\":[" TEXT_OF(
			"service.name",
			"a") "]}},"
			     "{\"scopeSpans\":[{\"spans\":[{" IDS "}]}]}]}";
	struct span_file file;
	struct fault fault;

	CHECK_EQ(read_text(&file, text, &fault), 0);
	CHECK_EQ(file.count, 4);
	CHECK_STR(file.records[0].service, "a");
	CHECK_STR(file.records[2].service, "a");
	CHECK_STR(file.records[3].service, "");
	span_file_fini(&file);
}

TEST(spans_reader_refuses_places_that_are_not_its_own)
{
	check_refused("{\"resourceSpans\":[{\"scopeSpans\":[{\"\\u0073pans\":"
		      "[0,9]}]}]}",
		      "without an array of spans");
}

TEST(spans_reader_refuses_a_span_of_more_than_a_mebibyte)
{
	size_t length = ((size_t)1 << 20) + 200;
	char *text = malloc(length + 1);
	struct span_file file;
	struct fault fault;

	memset(text, ' ', length);
	memcpy(text, LINE(""), strlen(LINE("")) - strlen("}]}]}]}\n"));
	strcpy(text + length - strlen("}]}]}]}"), "}]}]}]}");
	CHECK_EQ(read_text(&file, text, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "too long"));
	span_file_fini(&file);
	free(text);
}

TEST(spans_reader_takes_a_span_that_has_only_ids)
{
	struct span_file file;
	struct fault fault;

	CHECK_EQ(read_text(&file, LINE(IDS), &fault), 0);
	CHECK_EQ(file.count, 1);
	CHECK_EQ(file.records[0].parent, 0);
	CHECK_STR(file.records[0].path, "");
	CHECK(!file.records[0].cpu_known);
	CHECK(!file.records[0].failed);
	CHECK_EQ(file.records[0].end, SPAN_END_UNKNOWN);
	span_file_fini(&file);
}

TEST(spans_reader_takes_empty_files_and_lines)
{
	struct span_file file;
	struct fault fault;

	CHECK_EQ(read_text(&file, "", &fault), 0);
	CHECK_EQ(file.count, 0);
	span_file_fini(&file);
	CHECK_EQ(read_text(&file, "\n\r\n" LINE(IDS) "\n", &fault), 0);
	CHECK_EQ(file.count, 1);
	span_file_fini(&file);
	CHECK_EQ(read_text(&file, "{\"resourceSpans\":[]}", &fault), 0);
	CHECK_EQ(file.count, 0);
	span_file_fini(&file);
}

TEST(spans_reader_keeps_the_good_lines_around_a_bad_one)
{
	struct span_file file;
	struct fault fault;

	CHECK_EQ(
		read_text(&file, LINE(IDS) "{\"resourceSp\n" LINE(IDS), &fault),
		-EBADMSG);
	CHECK_EQ(file.count, 2);
	CHECK(strstr(fault.text, "line 2: bad JSON"));
	span_file_fini(&file);
}

TEST(spans_reader_drops_a_bad_line_as_a_whole)
{
	check_refused(LINE(IDS "},{\"spanId\":\"x\""), "line 1: spanId");
}

TEST(spans_reader_tells_what_is_wrong)
{
	check_refused("[]\n", "no resourceSpans");
	check_refused("7\n", "line 1: bad JSON");
	check_refused("{\"resourceSpans\":[{}]}", "without scopeSpans");
	check_refused("{\"resourceSpans\":[{\"scopeSpans\":[3]}]}",
		      "without an array of spans");
	check_refused("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":{}}]}]}",
		      "without an array of spans");
	check_refused(LINE(""), "spanId");
	check_refused(LINE("\"spanId\":\"9f86d081884c7d65\""), "traceId");
	check_refused(LINE(IDS ",\"parentSpanId\":\"1\""), "parentSpanId");
	check_refused(LINE(IDS ",\"startTimeUnixNano\":\"-1\""),
		      "startTimeUnixNano");
	check_refused(LINE(IDS ",\"endTimeUnixNano\":\"1x\""),
		      "endTimeUnixNano");
	check_refused(LINE(IDS ",\"startTimeUnixNano\":\"5\","
			       "\"endTimeUnixNano\":\"4\""),
		      "ends before it starts");
	check_refused(LINE(IDS ",\"attributes\":{}"), "attributes");
	check_refused(LINE(IDS ",\"attributes\":[{}]"), "no key");
	check_refused(
		LINE(IDS ",\"attributes\":[" NUMBER_OF(
			"spanprof.cpu_ns", "\"99999999999999999999\"") "]"),
		"bad intValue");
}

TEST(spans_reader_refuses_bytes_that_are_not_json)
{
	struct span_file file;
	struct fault fault;
	static const char data[] = "\0\xff\x80{\n";

	CHECK_EQ(span_file_read(&file, data, sizeof(data) - 1, &fault),
		 -EBADMSG);
	CHECK_EQ(file.count, 0);
	span_file_fini(&file);
}

TEST(spans_reader_bounds_nesting)
{
	char *text = malloc(20001);
	struct span_file file;
	struct fault fault;

	memset(text, '[', 20000);
	text[20000] = '\0';
	CHECK_EQ(read_text(&file, text, &fault), -EBADMSG);
	span_file_fini(&file);
	free(text);
}
