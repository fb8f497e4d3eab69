/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of inbound HTTP/1 bytes: request lines, what a head tells, and
 * how the stream goes on.
 * Runs on: the test program's main thread.
 */
#include "hooks/http1_request.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/requests.h"
#include "tests/lib/unit.h"

TEST(request_state_is_small)
{
	CHECK(sizeof(struct http1_request_stream) <= 384);
}

TEST(request_head_is_told_at_its_last_byte)
{
	requests_read_literal(GET "Host: a\r\n" TP END);
	requests_check_heads(1);
	CHECK_EQ(requests_seen.events[0].end, requests_seen.fed);
	CHECK_STR(requests_head(0)->method, "GET");
	CHECK_STR(requests_head(0)->path, "/a");
	CHECK_EQ(requests_head(0)->flags, 0);
	requests_check_parent(0, IDS);
}

TEST(request_head_without_its_empty_line_is_not_told)
{
	requests_read_literal(GET TP);
	requests_check_heads(0);
	requests_read_literal(GET TP "\r");
	requests_check_heads(0);
	requests_read_literal("");
	requests_check_heads(0);
}

TEST(request_lines_may_end_with_a_bare_lf)
{
	requests_read_literal("GET /a HTTP/1.0\nHost: a\ntraceparent: 00-" IDS
			      "-01\n\nGET /b HTTP/1.1\n\r\n");
	requests_check_heads(2);
	requests_check_parent(0, IDS);
	CHECK_STR(requests_head(1)->path, "/b");
}

TEST(request_skips_empty_lines_before_the_request_line)
{
	requests_read_literal("\r\n\n\r\n" GET END "\r\n" GET TP END);
	requests_check_heads(2);
	requests_check_parent(1, IDS);
	requests_read_literal("\r\r\n" GET END);
	requests_check_lost(0);
}

TEST(request_method_may_be_any_token)
{
	requests_read_literal("pRoP-f!#$%&'*+.^_`|~9 /a HTTP/1.1\r\n\r\n");
	requests_check_heads(1);
	CHECK_STR(requests_head(0)->method, "pRoP-f!#$%&'*+.");
	requests_read_literal("M /a HTTP/1.1\r\n\r\n");
	requests_check_heads(1);
	CHECK_STR(requests_head(0)->method, "M");
	requests_read_literal(
		"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF /a HTTP/1.1\r\n\r\n");
	requests_check_heads(1);
	CHECK_STR(requests_head(0)->method, "ABCDEFGHIJKLMNO");
	requests_read_literal(
		"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG /a HTTP/1.1\r\n\r\n");
	requests_check_lost(0);
}

TEST(request_line_that_is_none_is_lost)
{
	static const char *const lines[] = {
		"GET\r\n",
		"GET /\r\n",
		"GET  HTTP/1.1\r\n",
		"GET  / HTTP/1.1\r\n",
		"GET / HTTP/1.1 \r\n",
		"GET / HTTP/1.x\r\n",
		"GET / HTTP/1\r\n",
		"GET / HTTP/1.10\r\n",
		"GET / http/1.1\r\n",
		"GET / HTTP/2.0\r\n",
		"GET /a b HTTP/1.1\r\n",
		"GET /a\rb HTTP/1.1\r\n",
		"GET / HTTP/1.1\rx",
		"GET / HTTP/1.1\r\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"EHLO example.org\r\n",
		"*1\r\n$4\r\nPING\r\n",
		"G\xc3\x89T / HTTP/1.1\r\n",
		" GET / HTTP/1.1\r\n",
		"HTTP/1.1 200 OK\r\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		requests_read(lines[i], strlen(lines[i]));
		requests_check_lost(0);
	}
}

TEST(request_is_lost_at_the_first_byte_that_is_no_token)
{
	for (int c = 0; c < 256; c++) {
		bool token =
			c && (strchr("!#$%&'*+-.^_`|~", c) ||
			      (c >= '0' && c <= '9') ||
			      (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
		char byte = (char)c;

		requests_read(&byte, 1);
		CHECK_EQ(requests_seen.count, !token && c != '\r' && c != '\n');
	}
}

TEST(request_line_of_64_kib_is_read_and_a_longer_one_is_lost)
{
	/* 14 bytes besides the filler. */
	const size_t filler = HTTP1_REQUEST_LINE_BYTES - 14;

	requests_read_filled("\nGET ", "/", filler, " HTTP/1.0\n" TP END);
	requests_check_heads(1);
	requests_check_parent(0, IDS);
	requests_read_filled("\nGET ", "?", filler + 1, " HTTP/1.0\n" TP END);
	requests_check_lost(0);
	requests_read_filled("GET /?", "q", HTTP1_REQUEST_LINE_BYTES, "");
	requests_check_lost(0);
	CHECK_EQ(requests_seen.events[0].end, HTTP1_REQUEST_LINE_BYTES);
}

TEST(request_lines_are_measured_one_by_one)
{
	char *line = requests_fill("GET /", "x", 40000, " HTTP/1.1\r\n\r\n");

	requests_read_filled("", line, 2, "");
	free(line);
	requests_check_heads(2);
}

TEST(request_is_lost_at_the_byte_that_decides)
{
	static const char *const beginnings[] = {
		"\x16",
		"GET\r",
		"GET  ",
		"GET /a\r",
		"PRI * HTTP/2",
		"GET / HTTP/1.1 ",
		POST "Content-Length: x\r\n" END "y",
		POST "Transfer-Encoding: chunked\r\n" END "1\r\nab",
	};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		size_t length = strlen(beginnings[i]);

		requests_read_filled(beginnings[i], "", 0, NEXT);
		CHECK_EQ(requests_seen.events[requests_seen.count - 1].end,
			 length);
		requests_read(beginnings[i], length - 1);
		/* Only those that begin with POST have a whole head. */
		requests_check_heads(beginnings[i][1] == 'O');
	}
}

TEST(request_stays_lost_and_says_so_once)
{
	requests_read_literal("{}" GET TP END NEXT);
	CHECK_EQ(requests_seen.count, 1);
	requests_check_lost(0);
}

TEST(request_flags_tell_head_connect_and_upgrade)
{
	requests_read_literal(
		"HEAD / HTTP/1.1\r\n\r\nhead / HTTP/1.1\r\n\r\n"
		"HEADS / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n"
		"uPGRADE: websocket\r\n\r\n"
		"GET / HTTP/1.1\r\nUpgrade-Insecure-Requests: 1\r\n\r\n");
	requests_check_heads(5);
	CHECK_EQ(requests_head(0)->flags, HTTP1_HEAD_IS_HEAD);
	CHECK_EQ(requests_head(1)->flags, 0);
	CHECK_EQ(requests_head(2)->flags, 0);
	CHECK_EQ(requests_head(3)->flags, HTTP1_HEAD_UPGRADE);
	CHECK_EQ(requests_head(4)->flags, 0);
}

TEST(request_connect_is_opaque_behind_its_head)
{
	requests_read_literal("CONNECT a.example:443 HTTP/1.1\r\n" TP
			      "Content-Length: 3\r\n" END "\x16\x03" NEXT);
	requests_check_heads(1);
	CHECK_EQ(requests_head(0)->flags, HTTP1_HEAD_IS_CONNECT);
	CHECK_STR(requests_head(0)->path, "");
	requests_check_parent(0, IDS);
}

TEST(request_without_traceparent_has_none)
{
	requests_read_literal(GET TP END NEXT GET OTHER_TP END NEXT);
	requests_check_heads(4);
	requests_check_parent(0, IDS);
	CHECK_EQ(requests_head(1)->traceparent, HTTP1_TRACEPARENT_ABSENT);
	requests_check_parent(2, OTHER_IDS);
	CHECK_EQ(requests_head(3)->traceparent, HTTP1_TRACEPARENT_ABSENT);
}

TEST(request_with_two_traceparents_has_an_invalid_one)
{
	static const char *const fields[] = {
		TP TP,
		TP OTHER_TP,
		TP "X: y\r\nTraceparent: 00-" IDS "-01\r\n",
		"traceparent: x\r\n" TP,
		TP "traceparent: x\r\n",
		TP "traceparent:\r\n",
		TP TP TP,
		"traceparent: 00-" IDS "-01,00-" IDS "-01\r\n",
		"traceparent: 00-" IDS "-01, 00-" OTHER_IDS "-01\r\n",
	};
	char text[512];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), GET "%s" END NEXT, fields[i]);
		requests_read(text, strlen(text));
		requests_check_heads(2);
		CHECK_EQ(requests_head(0)->traceparent,
			 HTTP1_TRACEPARENT_INVALID);
		CHECK_EQ(requests_head(1)->traceparent,
			 HTTP1_TRACEPARENT_ABSENT);
	}
}

TEST(request_pipeline_of_50_is_told_one_by_one)
{
	requests_read_filled("", GET TP END NEXT, 25, "");
	requests_check_heads(50);
	for (size_t i = 0; i < 50; i += 2) {
		requests_check_parent(i, IDS);
		CHECK_STR(requests_head(i)->path, "/a");
		CHECK_EQ(requests_head(i + 1)->traceparent,
			 HTTP1_TRACEPARENT_ABSENT);
		CHECK_STR(requests_head(i + 1)->path, "/next");
	}
}

TEST(request_given_up_by_the_caller_swallows_everything)
{
	static const char text[] = GET "Upgrade: websocket\r\n" END;
	struct http1_request_stream stream = {0};
	enum http1_request_event event;

	CHECK_EQ(http1_request_feed(&stream, text, sizeof(text) - 1, &event),
		 sizeof(text) - 1);
	CHECK_EQ(event, HTTP1_REQUEST_HEAD);
	http1_request_lose(&stream);
	CHECK_EQ(http1_request_feed(&stream, text, 9, &event), 9);
	CHECK_EQ(event, HTTP1_REQUEST_NONE);
	CHECK_EQ(http1_request_skip(&stream, 9), HTTP1_REQUEST_NONE);
	memset(&stream, 0, sizeof(stream));
	http1_request_feed(&stream, text, sizeof(text) - 1, &event);
	CHECK_EQ(event, HTTP1_REQUEST_HEAD);
}

TEST(request_stream_keeps_in_step_for_1000_requests)
{
	struct http1_request_stream stream = {0};
	enum http1_request_event event;
	char text[512];

	for (int i = 0; i < 1000; i++) {
		int length = snprintf(text, sizeof(text),
				      "POST /%d HTTP/1.1\r\n%s"
				      "Content-Length: 4\r\n\r\nGET ",
				      i, i % 2 ? TP : "");
		size_t used = http1_request_feed(&stream, text, (size_t)length,
						 &event);

		CHECK_EQ(used, length - 4);
		CHECK_EQ(event, HTTP1_REQUEST_HEAD);
		CHECK_EQ(stream.head.traceparent, i % 2);
		CHECK_EQ(atoi(stream.head.path + 1), i);
		CHECK_EQ(http1_request_feed(&stream, text + used, 4, &event),
			 4);
		CHECK_EQ(event, HTTP1_REQUEST_NONE);
	}
}
