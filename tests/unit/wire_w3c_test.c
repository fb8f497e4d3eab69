/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traceparent parser against the table of tests/data/traceparent.tsv.
 * Runs on: the test program's main thread, in the source folder.
 */
#include "hooks/wire_w3c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/http1_log.h"
#include "tests/lib/unit.h"

#define TABLE "tests/data/traceparent.tsv"
#define TRACE_ID "0af7651916cd43dd8448eb211c80319c"
#define PARENT_ID "b7ad6b7169203331"
#define VALUE "00-" TRACE_ID "-" PARENT_ID "-01"

struct row {
	char value[256];
	size_t length;
	char verdict[128];
};

static int hex_value(const char *two)
{
	char digits[3] = {two[0], two[1], 0};

	return (int)strtol(digits, NULL, 16);
}

/* Resolves \t and \xNN of a row's first column. */
static void unescape(struct row *row, const char *text)
{
	row->length = 0;
	while (*text && *text != '\t') {
		char c = *text++;

		if (c == '\\' && *text == 't') {
			c = '\t';
			text++;
		} else if (c == '\\' && *text == 'x') {
			c = (char)hex_value(text + 1);
			text += 3;
		}
		row->value[row->length++] = c;
	}
}

static bool next_row(FILE *table, struct row *row)
{
	char line[512];
	const char *verdict, *reason;

	do {
		if (!fgets(line, sizeof(line), table))
			return false;
	} while (line[0] == '#');
	verdict = strchr(line, '\t');
	reason = verdict ? strchr(verdict + 1, '\t') : NULL;
	CHECK(reason != NULL);
	unescape(row, line);
	snprintf(row->verdict, sizeof(row->verdict), "%.*s",
		 (int)(reason - verdict - 1), verdict + 1);
	return true;
}

static void print_verdict(char *text, size_t bytes, bool valid,
			  const struct trace_parent *parent)
{
	const uint8_t *raw = parent->trace_id;
	char *end = text + snprintf(text, bytes, valid ? "valid " : "invalid");

	if (!valid)
		return;
	for (size_t i = 0; i < TRACE_ID_BYTES; i++)
		end += sprintf(end, "%02x", raw[i]);
	*end++ = ' ';
	for (size_t i = 0; i < SPAN_ID_BYTES; i++)
		end += sprintf(end, "%02x", parent->parent_id[i]);
	sprintf(end, " %02x", parent->flags);
}

/* Parses from a block of exactly the value's size. */
static bool parse(struct trace_parent *parent, const char *value, size_t length,
		  bool longer)
{
	char *block = malloc(length ? length : 1);
	int result;

	CHECK(block != NULL);
	memcpy(block, value, length);
	result = wire_w3c_parse(parent, block, length, longer);
	free(block);
	CHECK(result == 0 || result == -EINVAL);
	return result == 0;
}

static void check_as_value(const struct row *row)
{
	struct trace_parent parent;
	char verdict[128];
	bool valid = parse(&parent, row->value, row->length, false);

	print_verdict(verdict, sizeof(verdict), valid, &parent);
	CHECK_STR(verdict, row->verdict);
}

static void check_as_header(const struct row *row)
{
	static struct http1_log log;
	const struct http1_head *head = &log.events[0].head;
	char text[512], verdict[128];
	struct http1_feed feed = {.bytes = (const uint8_t *)text};
	int prefix = snprintf(text, sizeof(text),
			      "GET / HTTP/1.1\r\nHost: a\r\nTraceParent:");

	memcpy(text + prefix, row->value, row->length);
	memcpy(text + prefix + row->length, "\r\n\r\n", 4);
	feed.length = (size_t)prefix + row->length + 4;

	http1_log_run_whole(&log, &feed);
	CHECK_EQ(log.count, 1);
	CHECK_EQ(log.events[0].event, HTTP1_REQUEST_HEAD);
	CHECK(head->traceparent != HTTP1_TRACEPARENT_ABSENT);
	print_verdict(verdict, sizeof(verdict),
		      head->traceparent == HTTP1_TRACEPARENT_VALID,
		      &head->parent);
	CHECK_STR(verdict, row->verdict);
	CHECK(http1_log_cuts_agree(&feed));
}

static void for_each_row(void (*check)(const struct row *))
{
	FILE *table = fopen(TABLE, "r");
	struct row row;
	int rows = 0;

	CHECK(table != NULL);
	while (next_row(table, &row)) {
		check(&row);
		rows++;
	}
	fclose(table);
	CHECK_EQ(rows, 55);
}

TEST(traceparent_values_are_judged_as_the_table_says)
{
	for_each_row(check_as_value);
}

TEST(traceparent_headers_are_judged_as_the_table_says)
{
	for_each_row(check_as_header);
}

TEST(traceparent_cut_at_any_byte_is_refused)
{
	struct trace_parent parent;

	for (size_t length = 0; length < sizeof(VALUE) - 1; length++)
		CHECK(!parse(&parent, VALUE, length, false));
	CHECK(parse(&parent, VALUE, sizeof(VALUE) - 1, false));
	CHECK_EQ(parent.flags & TRACE_PARENT_SAMPLED, TRACE_PARENT_SAMPLED);
	CHECK_EQ(parent.trace_id[0], 0x0a);
	CHECK_EQ(parent.parent_id[7], 0x31);
}

TEST(traceparent_refuses_every_single_wrong_character)
{
	static const char wrong[] = "ABCDEFGgxX-+. \t\n\r/:@`{\0\x7f\x80\xff";
	const size_t length = sizeof(VALUE) - 1;
	struct trace_parent parent;
	char value[sizeof(VALUE)];

	for (size_t at = 0; at < length; at++) {
		for (size_t i = 0; i < sizeof(wrong) - 1; i++) {
			memcpy(value, VALUE, sizeof(value));
			if (value[at] == wrong[i])
				continue;
			value[at] = wrong[i];
			CHECK(!parse(&parent, value, length, false));
		}
	}
}

TEST(traceparent_leaves_the_result_alone_when_refused)
{
	struct trace_parent parent, before;

	memset(&parent, 0xa5, sizeof(parent));
	before = parent;
	CHECK(!parse(&parent, "00-" TRACE_ID "-" PARENT_ID "-0x", 55, false));
	CHECK(!memcmp(&parent, &before, sizeof(parent)));
}

TEST(traceparent_ids_with_a_single_digit_are_not_zero)
{
	struct trace_parent parent;
	char value[sizeof(VALUE)];

	for (size_t at = 3; at < 52; at++) {
		memcpy(value,
		       "00-00000000000000000000000000000001-"
		       "0000000000000001-01",
		       sizeof(value));
		if (at == 35)
			continue;
		value[at < 35 ? 34 : 51] = '0';
		value[at] = '1';
		CHECK(parse(&parent, value, 55, false));
		value[at] = '0';
		CHECK(!parse(&parent, value, 55, false));
	}
}

TEST(traceparent_of_version_0_refuses_a_longer_value)
{
	struct trace_parent parent;

	CHECK(!parse(&parent, VALUE, 55, true));
	CHECK(!parse(&parent, VALUE "         ", 64, true));
	CHECK(!parse(&parent, VALUE "-extrabit", 64, true));
}

TEST(traceparent_of_a_higher_version_needs_a_dash_in_a_longer_value)
{
	struct trace_parent parent;

	CHECK(parse(&parent, "01-" TRACE_ID "-" PARENT_ID "-01-", 56, true));
	CHECK(parse(&parent, " 01-" TRACE_ID "-" PARENT_ID "-01-", 57, true));
	CHECK(!parse(&parent, "01-" TRACE_ID "-" PARENT_ID "-01 ", 56, true));
	CHECK(!parse(&parent, "01-" TRACE_ID "-" PARENT_ID "-01.", 56, true));
	/* What follows is not known. */
	CHECK(!parse(&parent, "01-" TRACE_ID "-" PARENT_ID "-01", 55, true));
}
