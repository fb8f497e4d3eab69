/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of outbound HTTP/1 bytes. Each message is also fed in pieces of
 * one byte and cut in two at every place, with the same outcome.
 * Runs on: the test program's main thread.
 */
#include "hooks/http1_response.h"

#include <stdio.h>

#include "tests/lib/http1_log.h"
#include "tests/lib/unit.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define END "\r\n"

/* As many requests as a test needs, all of one kind. */
#define REQUESTS 60

static struct http1_log seen;
static uint8_t gets[REQUESTS];

static void answer_feed(const struct http1_feed *feed)
{
	http1_log_run_whole(&seen, feed);
	CHECK(http1_log_cuts_agree(feed));
}

static void answer_bytes(uint8_t head_flags, const char *text, size_t length)
{
	uint8_t flags[REQUESTS];
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = length,
		.head_flags = flags,
		.requests = REQUESTS,
	};

	memset(flags, head_flags, sizeof(flags));
	answer_feed(&feed);
}

#define answer(flags, text) answer_bytes(flags, text, sizeof(text) - 1)

/* `count` outbound bytes go unseen behind `before`. */
static void answer_around(const char *before, uint64_t count, const char *after)
{
	char text[512];
	int length = snprintf(text, sizeof(text), "%s%s", before, after);
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = (size_t)length,
		.head_flags = gets,
		.requests = REQUESTS,
		.skip_at = strlen(before),
		.skip_bytes = count,
	};

	answer_feed(&feed);
}

static void check_event(size_t i, int event, uint32_t status)
{
	CHECK(i < seen.count);
	CHECK_EQ(seen.events[i].event, event);
	CHECK_EQ(seen.events[i].status, status);
}

static void check_done(size_t i, uint32_t status)
{
	check_event(i, HTTP1_RESPONSE_DONE, status);
}

/* One complete response and nothing else, up to the last byte. */
static void check_done_once(uint32_t status)
{
	CHECK_EQ(seen.count, 1);
	check_done(0, status);
	CHECK_EQ(seen.events[0].end, seen.fed);
}

static void check_lost_once(uint32_t status)
{
	CHECK_EQ(seen.count, 1);
	check_event(0, HTTP1_RESPONSE_LOST, status);
}

/* A response of that head is followed by another one; 5 bytes lie between. */
static void check_body_of_5(const char *head)
{
	char text[512];

	snprintf(text, sizeof(text), "%s" END "hello" OK LENGTH(0) END, head);
	answer_bytes(0, text, strlen(text));
	CHECK_EQ(seen.count, 2);
	check_done(1, 200);
}

TEST(response_state_is_small)
{
	CHECK(sizeof(struct http1_response_stream) <= 128);
}

TEST(response_with_a_length_is_done_at_its_last_byte)
{
	answer(0, OK LENGTH(5) END "hello");
	check_done_once(200);
	answer(0, OK LENGTH(5) END "hell");
	CHECK_EQ(seen.count, 0);
	answer(0, OK LENGTH(0) END);
	check_done_once(200);
	check_body_of_5("HTTP/1.0 404 Not Found\r\ncontent-length:5 \r\n"
			"Content-Length: 5\r\n");
}

TEST(response_in_chunks_is_done_behind_its_trailers)
{
	answer(0, OK CHUNKED END "5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n"
				 "X: y\r\n" END);
	check_done_once(200);
	answer(0, OK CHUNKED END "5\r\nhello\r\n0\r\n");
	CHECK_EQ(seen.count, 0);
	answer(0, OK CHUNKED LENGTH(1) END "0\r\n\r\n");
	check_done_once(200);
}

TEST(response_without_length_lasts_until_close)
{
	answer(0, OK END "HTTP/1.1 200 OK\r\n" LENGTH(0) END);
	CHECK_EQ(seen.count, 0);
	CHECK_EQ(seen.response.status, 200);
	answer(0, "HTTP/1.0 500 No\nTransfer-Encoding: gzip\n"
		  "Content-Length: 1\n\nabc");
	CHECK_EQ(seen.count, 0);
	CHECK_EQ(seen.response.status, 500);
}

TEST(response_to_head_has_no_body)
{
	answer(HTTP1_HEAD_IS_HEAD, OK LENGTH(5) END);
	check_done_once(200);
	answer(HTTP1_HEAD_IS_HEAD, OK CHUNKED END OK END OK LENGTH(x) END);
	CHECK_EQ(seen.count, 3);
	check_done(2, 200);
}

TEST(response_204_and_304_have_no_body)
{
	answer(0, "HTTP/1.1 204 No Content\r\n" LENGTH(5) END
	       "HTTP/1.1 304 Not Modified\r\n" LENGTH(5) END
	       "HTTP/1.1 204 No Content\r\n" CHUNKED END
	       "HTTP/1.1 205 Reset Content\r\n" LENGTH(1) END "x");
	CHECK_EQ(seen.count, 4);
	check_done(0, 204);
	check_done(1, 304);
	check_done(2, 204);
	check_done(3, 205);
}

TEST(response_1xx_is_followed_by_the_final_one)
{
	answer(0, "HTTP/1.1 100 Continue\r\n" END
		  "HTTP/1.1 103 Early Hints\r\nLink: x\r\n" LENGTH(9) END
	       "HTTP/1.1 201 Created\r\n" LENGTH(2) END "ok");
	check_done_once(201);
	answer(HTTP1_HEAD_IS_HEAD, "HTTP/1.1 100 Continue\r\n" END);
	CHECK_EQ(seen.count, 0);
	CHECK_EQ(seen.response.status, 0);
	answer(HTTP1_HEAD_IS_HEAD, "HTTP/1.1 100 Continue\r\n" END OK END);
	check_done_once(200);
}

TEST(response_101_switches)
{
	answer(HTTP1_HEAD_UPGRADE,
	       "HTTP/1.1 101 Switching Protocols\r\n"
	       "Upgrade: websocket\r\n" END "\x81\x05hello" OK LENGTH(0) END);
	CHECK_EQ(seen.count, 1);
	check_event(0, HTTP1_RESPONSE_SWITCHED, 101);
	answer(HTTP1_HEAD_UPGRADE, OK LENGTH(0) END);
	check_done_once(200);
}

TEST(response_2xx_to_connect_switches)
{
	answer(HTTP1_HEAD_IS_CONNECT,
	       "HTTP/1.1 200 Established\r\n" LENGTH(5) END "\x16\x03");
	CHECK_EQ(seen.count, 1);
	check_event(0, HTTP1_RESPONSE_SWITCHED, 200);
	answer(HTTP1_HEAD_IS_CONNECT, "HTTP/1.1 204 None\r\n" END);
	check_event(0, HTTP1_RESPONSE_SWITCHED, 204);
	answer(HTTP1_HEAD_IS_CONNECT, "HTTP/1.1 300 Many\r\n" LENGTH(0) END);
	check_done_once(300);
	answer(HTTP1_HEAD_IS_CONNECT,
	       "HTTP/1.1 407 Who\r\n" LENGTH(2) END "no");
	check_done_once(407);
}

TEST(response_status_line_may_lack_its_reason)
{
	answer(0, "HTTP/1.1 200\r\n" LENGTH(0) END "HTTP/1.1 299 \r\n" LENGTH(0)
			  END "HTTP/1.9 999\n" LENGTH(0) END
	       "HTTP/1.1 404 \xc3\xa9 HTTP/1.1 200 \r.\r\n" LENGTH(0) END);
	CHECK_EQ(seen.count, 4);
	check_done(0, 200);
	check_done(1, 299);
	check_done(2, 999);
	check_done(3, 404);
}

TEST(response_that_is_none_is_lost)
{
	static const char *const texts[] = {
		"x",
		"\r\n",
		"HTTP/2 200\r\n",
		"HTTP/1.x 200\r\n",
		"HTTP/1.1  200\r\n",
		"HTTP/1.1 20\r\n",
		"HTTP/1.1 2000\r\n",
		"HTTP/1.1 099\r\n",
		"HTTP/1.1 2x0\r\n",
		"HTTP/1.1\r\n",
		"HTTP/1.1 200\rx",
		"HTTP/1.1 200\r\r\n",
		"http/1.1 200 OK\r\n",
		"HTTP/1.1 200\tOK\r\n",
		"220 mail.example.org ESMTP\r\n",
		" " OK,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		answer_bytes(0, texts[i], strlen(texts[i]));
		check_lost_once(0);
	}
}

TEST(response_that_can_not_be_framed_is_lost)
{
	static const char *const fields[] = {
		"Content-Length: x\r\n",
		"Content-Length: 1\r\nContent-Length: 2\r\n",
		"Content-Length: 1\r\n 2\r\n",
		"Content-Length : 1\r\n",
		"Transfer-Encoding: chunked\r\n x\r\n",
		"Transfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, gzip, "
		"gzip, gzip, gzip, gzip, chunked\r\n",
		"Transfer-Encoding: chunked\r\n\r\nx",
		"Transfer-Encoding: chunked\r\n\r\n1\r\nab",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), OK "%s" END, fields[i]);
		answer_bytes(0, text, strlen(text));
		check_lost_once(200);
	}
}

TEST(response_bytes_without_a_request_are_lost)
{
	static const uint8_t none;
	struct http1_feed feed = {
		.bytes = (const uint8_t *)OK LENGTH(0) END "x",
		.length = sizeof(OK LENGTH(0) END "x") - 1,
		.head_flags = &none,
	};

	answer_feed(&feed);
	check_lost_once(0);
	feed.requests = 1;
	answer_feed(&feed);
	CHECK_EQ(seen.count, 2);
	check_done(0, 200);
	check_event(1, HTTP1_RESPONSE_LOST, 200);
}

TEST(response_stream_is_taken_up_by_the_next_request)
{
	static const char text[] = OK LENGTH(0) END;
	struct http1_response_stream stream = {0};
	enum http1_response_event event;

	http1_response_begin(&stream, 0);
	CHECK_EQ(http1_response_feed(&stream, "xyz", 3, &event), 1);
	CHECK_EQ(event, HTTP1_RESPONSE_LOST);
	CHECK_EQ(http1_response_feed(&stream, "yz", 2, &event), 2);
	CHECK_EQ(event, HTTP1_RESPONSE_NONE);
	http1_response_skip(&stream, 9, &event);
	CHECK_EQ(event, HTTP1_RESPONSE_NONE);
	http1_response_begin(&stream, 0);
	http1_response_feed(&stream, text, sizeof(text) - 1, &event);
	CHECK_EQ(event, HTTP1_RESPONSE_DONE);
	CHECK_EQ(stream.status, 200);
	http1_response_begin(&stream, 0);
	CHECK_EQ(stream.status, 0);
	http1_response_skip(&stream, 0, &event);
	CHECK_EQ(event, HTTP1_RESPONSE_NONE);
}

TEST(response_pipeline_heeds_the_flags_of_each_request)
{
	static const uint8_t flags[] = {0, HTTP1_HEAD_IS_HEAD, 0,
					HTTP1_HEAD_IS_CONNECT};
	static const char text[] =
		OK LENGTH(2) END "ok" OK LENGTH(2) END OK CHUNKED END
		"0\r\n" END "HTTP/1.1 403 No\r\n" LENGTH(1) END "x";
	struct http1_feed feed = {
		.bytes = (const uint8_t *)text,
		.length = sizeof(text) - 1,
		.head_flags = flags,
		.requests = 4,
	};

	answer_feed(&feed);
	CHECK_EQ(seen.count, 4);
	check_done(0, 200);
	check_done(1, 200);
	check_done(2, 200);
	check_done(3, 403);
	CHECK_EQ(seen.events[3].end, seen.fed);
}

TEST(response_bytes_unseen_in_a_body_are_counted)
{
	answer_around(OK LENGTH(9) END "12", 5, "89" OK LENGTH(0) END);
	CHECK_EQ(seen.count, 2);
	answer_around(OK LENGTH(9) END, 9, "");
	check_done_once(200);
	answer_around(OK LENGTH(9) END, 8, "");
	CHECK_EQ(seen.count, 0);
	answer_around(OK CHUNKED END "9\r\n12", 7, "\r\n0\r\n\r\n");
	check_done_once(200);
	answer_around(OK END, 1000, OK);
	CHECK_EQ(seen.count, 0);
}

TEST(response_bytes_unseen_elsewhere_make_it_lost)
{
	answer_around("", 1, OK);
	check_lost_once(0);
	answer_around("HTTP/1.1 2", 1, "00 OK\r\n");
	check_lost_once(0);
	answer_around(OK, 1, END);
	check_lost_once(0);
	answer_around(OK LENGTH(9) END, 10, "");
	check_lost_once(200);
	answer_around(OK CHUNKED END, 1, "");
	check_lost_once(200);
	answer_around(OK CHUNKED END "1\r\n", 2, "");
	check_lost_once(200);
}
