/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of span and trace ids as text.
 * Runs on: the test program's main thread.
 */
#include "report/spanid.h"

#include <errno.h>

#include "tests/lib/unit.h"

#define SPAN UINT64_C(0x9f86d081884c7d65)
static const struct trace_id trace = {0x4bf92f3577b34da6, 0xa3ce929d0e0e4736};

/* Whether what a person typed means the span and trace above. */
static bool means(const char *typed)
{
	struct spanid_query query;

	CHECK_EQ(spanid_query_parse(&query, typed), 0);
	return spanid_query_matches(&query, SPAN, trace);
}

TEST(spanid_reads_and_writes)
{
	char text[SPANID_TEXT_BYTES];
	uint64_t id = 1;

	CHECK(spanid_parse("9F86d081884c7D65", &id));
	CHECK(id == SPAN);
	spanid_format(text, id);
	CHECK_STR(text, "9f86d081884c7d65");
	CHECK(!spanid_parse("9f86d081884c7d6", &id));
	CHECK(!spanid_parse("9f86d081884c7d655", &id));
	CHECK(!spanid_parse("9f86d081884c7d6x", &id));
	CHECK(!spanid_parse("0000000000000000", &id));
	CHECK(!spanid_parse("", &id));
	CHECK(id == SPAN);
}

TEST(traceid_reads_and_writes)
{
	char text[TRACEID_TEXT_BYTES];
	struct trace_id id;

	CHECK(traceid_parse("4bf92f3577b34da6a3ce929d0e0e4736", &id));
	CHECK(id.high == trace.high && id.low == trace.low);
	traceid_format(text, id);
	CHECK_STR(text, "4bf92f3577b34da6a3ce929d0e0e4736");
	CHECK(!traceid_parse("4bf92f3577b34da6", &id));
	CHECK(!traceid_parse("4bf92f3577b34da6a3ce929d0e0e473", &id));
	CHECK(!traceid_parse("00000000000000000000000000000000", &id));
	CHECK(traceid_parse("00000000000000000000000000000001", &id));
}

TEST(spanid_query_takes_both_keys_and_cases)
{
	CHECK(means("9f86d081884c7d65"));
	CHECK(means("9F86D081884C7D65"));
	CHECK(means("span_id=9f86d081884c7d65"));
	CHECK(means("profile_id=9f86d081884c7d65"));
	CHECK(!means("9f86d081884c7d66"));
}

TEST(spanid_query_takes_prefixes)
{
	CHECK(means("9f86"));
	CHECK(means("9f86d081884c7d6"));
	CHECK(!means("9f87"));
	CHECK(!means("f86d"));
}

TEST(spanid_query_takes_traces)
{
	CHECK(means("4bf92f3577b34da6a3ce929d0e0e4736"));
	CHECK(means("4bf92f3577b34da6a"));
	CHECK(!means("4bf92f3577b34da6b"));
	CHECK(means("trace_id=4bf9"));
	CHECK(means("trace_id=4bf92f3577b34da6"));
	CHECK(!means("4bf92f35"));
	CHECK(!means("4bf92f3577b34da6a3ce929d0e0e4737"));
}

TEST(spanid_query_refuses_other_words)
{
	static const char *const words[] = {
		"",
		"9f8",
		"9f8g",
		"span_id=",
		"span_id=9f8",
		"x=9f86",
		" 9f86",
		"9f86 ",
		"4bf92f3577b34da6a3ce929d0e0e47361",
		"4bf92f3577b34da6a3ce929d0e0e473z",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct spanid_query query;

		CHECK_EQ(spanid_query_parse(&query, words[i]), -EINVAL);
	}
}
