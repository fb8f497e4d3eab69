/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of taking lines of OTLP JSON apart.
 * Runs on: the test program's main thread.
 */
#include "report/split.h"

#include <stdlib.h>

#include "report/mem.h"
#include "tests/lib/unit.h"

#define HEAD "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\""
#define TAIL "}]}]}"

/* What becomes of a line: the frame and the spans in one text, or what is
 * wrong with it. Free with free(). */
static char *outcome(const char *text)
{
	/* A copy without the NUL, so that a sanitizer sees reads beyond. */
	size_t length = strlen(text);
	char *line = malloc(length ? length : 1), *all;
	struct split split;
	const char *why;

	memcpy(line, text, length);
	why = split_line(&split, line, length);
	all = why ? mem_copy(why, strlen(why))
		  : mem_copy(split.frame, split.frame_length);
	for (size_t i = 0; i < split.count && !why; i++) {
		char *longer =
			mem_printf("%s %.*s", all, (int)split.spans[i].length,
				   split.spans[i].text);

		free(all);
		all = longer;
	}
	split_fini(&split);
	free(line);
	return all;
}

static void check_split(const char *text, const char *expected)
{
	char *all = outcome(text);

	CHECK_STR(all, expected);
	free(all);
}

TEST(split_takes_spans_out)
{
	check_split(HEAD ":[{\"a\":1},{}]" TAIL,
		    HEAD ":[0,2]" TAIL " {\"a\":1} {}");
	check_split(HEAD ":[]" TAIL, HEAD ":[0,0]" TAIL);
	check_split(HEAD " : [ {\"a\":[{}]} , {} ] " TAIL,
		    HEAD " : [0,2] " TAIL " {\"a\":[{}]} {}");
}

TEST(split_keeps_arrays_apart)
{
	check_split("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{}]},"
		    "{\"spans\":[{\"b\":2}]}]}]}",
		    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[0,1]},"
		    "{\"spans\":[1,1]}]}]} {} {\"b\":2}");
}

TEST(split_is_not_led_astray_by_texts)
{
	check_split(HEAD ":[{\"a\":\"}]\\\"{\"},{}]" TAIL,
		    HEAD ":[0,2]" TAIL " {\"a\":\"}]\\\"{\"} {}");
	check_split("{\"x\":[{\"y\":[{\"z\":\"spans\"}]}]}",
		    "{\"x\":[{\"y\":[{\"z\":\"spans\"}]}]}");
}

TEST(split_leaves_the_key_alone_elsewhere)
{
	check_split("{\"spans\":[1]}", "{\"spans\":[1]}");
	check_split(HEAD ":7" TAIL, HEAD ":7" TAIL);
	check_split(HEAD "", HEAD "");
	check_split("", "");
	check_split("}}}]]]", "}}}]]]");
}

TEST(split_tells_what_does_not_end)
{
	check_split(HEAD ":[", "a span is no object");
	check_split(HEAD ":[1]" TAIL, "a span is no object");
	check_split(HEAD ":[{},]" TAIL, "a span is no object");
	check_split(HEAD ":[{}", "bad JSON: an array of spans doesn't end");
	check_split(HEAD ":[{}{}]", "bad JSON: an array of spans doesn't end");
	check_split(HEAD ":[{\"", "bad JSON: a span doesn't end");
	check_split(HEAD ":[{\"\\", "bad JSON: a span doesn't end");
	check_split(HEAD ":[{[}", "bad JSON: a span doesn't end");
	check_split("{\"a", "bad JSON: a text doesn't end");
	check_split("\"\\", "bad JSON: a text doesn't end");
}
