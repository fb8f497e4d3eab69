/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of field lines, seen through the requests it reads.
 * Runs on: the test program's main thread.
 */
#include "hooks/http1_line.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/requests.h"
#include "tests/lib/unit.h"

TEST(request_finds_traceparent_behind_any_amount_of_fields)
{
	static const size_t kib[] = {1, 4, 8, 32, 64};
	char line[1025];

	memset(line, 'x', sizeof(line));
	memcpy(line, "Cookie: ", 8);
	strcpy(line + 1022, "\r\n");
	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
		requests_read_filled(GET, line, kib[i], TP END);
		requests_check_heads(1);
		requests_check_parent(0, IDS);
	}
	/* And of one line. */
	requests_read_filled(GET "Traceparen: ", "traceparent: ", 3000,
			     "\r\n" TP END);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
}

TEST(request_finds_traceparent_behind_fields_of_a_megabyte)
{
	char *text = requests_fill(GET, "Tra: c\r\nC:\r\nTransfer-: p\r\n",
				   40000, TP END);
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = strlen(text),
	};
	const size_t sizes[] = {3, 1, 1000, 4096};

	http1_log_run(&requests_seen, &feed, sizes, 4);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
	free(text);
}

TEST(request_takes_the_name_of_traceparent_in_any_case)
{
	requests_read_literal(GET "TRACEPARENT:00-" IDS "-01\r\n" END GET
				  "tRaCeParEnT:\t 00-" IDS "-01 \t\r\n" END);
	requests_check_heads(2);
	requests_check_parent(0, IDS);
	requests_check_parent(1, IDS);
}

TEST(request_takes_no_text_that_only_looks_like_traceparent)
{
	requests_read_literal(
		"GET /?x=%0d%0atraceparent:00-" IDS "-01 HTTP/1.1\r\n"
		"x-" TP "traceparent-x: 00-" IDS "-01\r\n"
		"traceparen: 00-" IDS "-01\r\n"
		"traceparents: 00-" IDS "-01\r\n"
		"trace-parent: 00-" IDS "-01\r\n"
		"traceparent\0: 00-" IDS "-01\r\n"
		"\rtraceparent: 00-" IDS "-01\r\n"
		"Cookie: " TP "Cookie:\r " TP "X: y\r\n " TP "\t" TP END);
	requests_check_heads(1);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_ABSENT);
	requests_read_literal(GET " " TP END);
	requests_check_heads(1);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_ABSENT);
}

TEST(request_with_a_folded_traceparent_has_an_invalid_one)
{
	static const char *const fields[] = {
		"traceparent:\r\n 00-" IDS "-01\r\n",
		TP " x\r\n",
		TP "\tx\r\n",
		TP " \r\n",
		TP " \r\n\t\r\n",
		TP " x: y\r\nX: y\r\n",
		"traceparent : 00-" IDS "-01\r\n",
		"traceparent\t: 00-" IDS "-01\r\n",
	};
	char text[512];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), GET "%s" END NEXT, fields[i]);
		requests_read(text, strlen(text));
		requests_check_heads(2);
		CHECK_EQ(requests_head(0)->traceparent,
			 HTTP1_TRACEPARENT_INVALID);
	}
}

TEST(request_traceparent_after_a_folded_field_is_taken)
{
	requests_read_literal(GET "X: y\r\n z\r\n" TP END);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
	requests_read_literal(GET TP "\rX\r\n y\r\n" END);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
	requests_read_literal(GET " leading\r\n" TP "X: y\r\n z\r\n" END);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
}

TEST(request_name_goes_no_further_than_its_colon_or_blank)
{
	requests_read_literal(GET "tra:ceparent: 00-" IDS "-01\r\n"
				  "tra ceparent: 00-" IDS "-01\r\n"
				  "tra\tceparent: 00-" IDS "-01\r\n" END NEXT);
	requests_check_heads(2);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_ABSENT);
}

TEST(request_name_differs_in_case_alone)
{
	requests_read_literal(POST "content\rlength: 5\r\n"
				   "content\x0dlength: 5\r\n"
				   "CONTENT_LENGTH: 5\r\n"
				   "\x03ontent-length: 5\r\n"
				   "\xc3ontent-length: 5\r\n"
				   "Content-Length\0: 5\r\n"
				   "Transfer-Encoding\0: x\r\n" END NEXT);
	requests_check_heads(2);
}

TEST(request_traceparent_with_a_carriage_return_inside_is_invalid)
{
	requests_read_literal(GET "traceparent: 00-" IDS "-01\r\r\n" END GET
				  "traceparent: \r00-" IDS "-01\r\n" END GET
				  "traceparent: 00-" IDS "-01\r \r\n" END);
	requests_check_heads(3);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(requests_head(i)->traceparent,
			 HTTP1_TRACEPARENT_INVALID);
}

TEST(request_keeps_what_decides_of_a_long_traceparent)
{
	requests_read_literal(
		GET "traceparent: 01-" IDS
		    "-01-all that comes later\r\n" END GET
		    "traceparent: 01-" IDS "-01.all that comes\r\n" END GET
		    "traceparent: 00-" IDS "-01                x\r\n" END GET
		    "traceparent: 01-" IDS "-01                x\r\n" END GET
		    "traceparent: 00-" IDS "-01                \r\n" END GET
		    "traceparent:                  00-" IDS "-01\r\n" END GET
		    "traceparent: 00-" IDS "-01         \r\r\n" END);
	requests_check_heads(7);
	CHECK_EQ(requests_head(0)->traceparent, HTTP1_TRACEPARENT_VALID);
	CHECK_EQ(requests_head(1)->traceparent, HTTP1_TRACEPARENT_INVALID);
	CHECK_EQ(requests_head(2)->traceparent, HTTP1_TRACEPARENT_INVALID);
	CHECK_EQ(requests_head(3)->traceparent, HTTP1_TRACEPARENT_INVALID);
	requests_check_parent(4, IDS);
	requests_check_parent(5, IDS);
	CHECK_EQ(requests_head(6)->traceparent, HTTP1_TRACEPARENT_INVALID);
}

TEST(request_passes_over_lines_that_are_no_fields)
{
	requests_read_literal(GET "t\r\nno colon\r\n:\r\n: x\r\n\x80\xff\r\n"
				  "traceparent\r\ncontent-length\r\n\rx\r\n" TP
				  "upgrade\r\n" END NEXT);
	requests_check_heads(2);
	requests_check_parent(0, IDS);
	CHECK_EQ(requests_head(0)->flags, 0);
}
