/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which spans come of the bytes on a connection: heads, pipelines, the next
 * head, the forms of answers, and bytes that are not seen. The life of
 * connections is tests/unit/connection_life_test.c's.
 * Runs on: the test program's main thread.
 */
#include "hooks/connection.h"

#include <stdio.h>

#include "tests/lib/agent.h"
#include "tests/lib/traffic.h"
#include "tests/lib/unit.h"

#define FD 7

static void begin(void)
{
	agent_begin();
	agent_enter();
	connection_accepted_app(FD);
}

TEST(a_request_is_a_span_from_its_head_to_its_answers_last_byte)
{
	begin();
	traffic_get(FD, "/a", "");
	CHECK_STR(traffic_current(), "/a");
	CHECK_STR(traffic_told(), "+/a");
	traffic_send(FD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1234");
	CHECK_STR(traffic_current(), "/a");
	traffic_send(FD, "5");
	CHECK_STR(traffic_current(), "");
	CHECK_STR(traffic_told(), "-/a:complete:200");
	CHECK_EQ(agent_count(RING_HEADS), 1);
	CHECK_EQ(agent_count(RING_SPANS), 1);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 0);
}

TEST(requests_follow_each_other_on_a_connection)
{
	begin();
	for (int i = 0; i < 3; i++) {
		traffic_get(FD, "/a", "");
		CHECK_STR(traffic_current(), "/a");
		traffic_send(FD, ANSWER);
		CHECK_STR(traffic_current(), "");
	}
	CHECK_STR(traffic_told(), "+/a -/a:complete:200 +/a -/a:complete:200 "
				  "+/a -/a:complete:200");
}

TEST(a_head_may_come_in_single_bytes)
{
	const char *text = "GET /a HTTP/1.1\r\nHost: x\r\n\r";

	begin();
	for (; *text; text++) {
		char byte[2] = {*text, '\0'};

		traffic_receive(FD, byte);
		CHECK_STR(traffic_current(), "");
	}
	traffic_receive(FD, "\n");
	CHECK_STR(traffic_current(), "/a");
}

TEST(of_parts_that_are_longer_than_the_read_only_its_bytes_count)
{
	char one[] = "GET /a HT";
	char two[] = "TP/1.1\r\n\r\nGET /not-read HTTP/1.1\r\n\r\n";
	struct iovec parts[3] = {{one, 9}, {two, sizeof(two) - 1}, {two, 10}};

	begin();
	connection_received_app(FD, parts, 3, 9 + 10);
	CHECK_STR(traffic_current(), "/a");
	CHECK_EQ(agent_count(RING_HEADS), 1);
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_current(), "");
}

TEST(an_answer_may_be_written_in_parts)
{
	char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
	char body[] = "body and what was not sent of it";
	struct iovec parts[2] = {{head, sizeof(head) - 1},
				 {body, sizeof(body)}};

	begin();
	traffic_get(FD, "/a", "");
	connection_sent_app(FD, parts, 2, sizeof(head) - 1 + 3);
	CHECK_STR(traffic_current(), "/a");
	connection_sent_app(FD, &parts[1], 1, 1);
	CHECK_STR(traffic_told(), "+/a -/a:complete:200");
}

/* ---- pipelines ---- */

#define THREE                                                   \
	"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 " \
	"HTTP/1.1\r\n\r\n"

TEST(heads_of_one_read_wait_for_their_turn)
{
	begin();
	traffic_receive(FD, THREE);
	CHECK_STR(traffic_told(), "+/1");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "-/1:complete:200 +/2");
	CHECK_STR(traffic_current(), "/2");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_current(), "/3");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_current(), "");
	CHECK_STR(traffic_told(), "-/2:complete:200 +/3 -/3:complete:200");
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 0);
}

TEST(answers_of_one_write_end_one_after_the_other)
{
	begin();
	traffic_receive(FD, THREE);
	traffic_send(FD, ANSWER ANSWER ANSWER);
	CHECK_STR(traffic_told(),
		  "+/1 -/1:complete:200 +/2 -/2:complete:200 +/3 "
		  "-/3:complete:200");
}

TEST(a_closed_pipeline_tells_only_what_had_begun)
{
	begin();
	traffic_receive(FD, THREE);
	connection_closed_app(FD);
	CHECK_STR(traffic_told(), "+/1 -/1:closed:0");
}

TEST(each_answer_of_a_pipeline_is_read_by_its_own_request)
{
	begin();
	traffic_receive(FD, "HEAD /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
	traffic_send(FD, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n");
	CHECK_STR(traffic_current(), "/2");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "+/1 -/1:complete:200 +/2 -/2:complete:200");
}

/* ---- the next head ---- */

TEST(a_head_of_a_later_read_ends_what_was_not_answered)
{
	begin();
	traffic_get(FD, "/1", "");
	traffic_get(FD, "/2", "");
	CHECK_STR(traffic_current(), "/2");
	CHECK_STR(traffic_told(), "+/1 -/1:next:0 +/2");
	traffic_send(FD, "HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n");
	traffic_get(FD, "/3", "");
	CHECK_STR(traffic_told(), "-/2:next:404 +/3");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "-/3:complete:200");
}

TEST(a_head_of_a_later_read_ends_a_whole_pipeline)
{
	begin();
	traffic_receive(FD, THREE);
	traffic_get(FD, "/4", "");
	CHECK_STR(traffic_told(), "+/1 -/1:next:0 +/4");
	CHECK_STR(traffic_current(), "/4");
}

TEST(a_body_of_later_reads_ends_nothing)
{
	begin();
	traffic_receive(FD, "POST /a HTTP/1.1\r\nContent-Length: 20\r\n\r\n");
	traffic_receive(FD, "GET /b HT");
	traffic_receive(FD, "TP/1.1\r\n\r\n!");
	traffic_receive(FD, "x");
	CHECK_STR(traffic_told(), "+/a");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "-/a:complete:200");
}

TEST(an_answer_may_come_before_the_bodys_end)
{
	begin();
	traffic_receive(FD, "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
	traffic_send(FD, ANSWER);
	traffic_receive(FD, "cd");
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_told(), "+/a -/a:complete:200 +/b");
}

/* ---- the forms of answers ---- */

/* The status line and fields of an answer, after which nothing is due. */
static void check_done(const char *method, const char *answer, const char *told)
{
	char text[128];

	begin();
	snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\n\r\n", method);
	traffic_receive(FD, text);
	traffic_send(FD, answer);
	CHECK_STR(traffic_told(), told);
	CHECK_STR(traffic_current(), "");
}

TEST(answers_without_a_body_end_with_their_head)
{
	check_done("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
		   "+/a -/a:complete:200");
	check_done("GET", "HTTP/1.1 204 No\r\n\r\n", "+/a -/a:complete:204");
	check_done("GET", "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n",
		   "+/a -/a:complete:304");
	check_done("GET", "HTTP/1.1 500 E\r\nContent-Length: 0\r\n\r\n",
		   "+/a -/a:complete:500");
}

TEST(a_chunked_answer_ends_with_its_last_chunk)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_send(FD, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "3\r\nabc\r\n");
	traffic_send(FD, "0\r\n");
	CHECK_STR(traffic_current(), "/a");
	traffic_send(FD, "\r\n");
	CHECK_STR(traffic_told(), "+/a -/a:complete:200");
}

TEST(an_interim_answer_is_none)
{
	begin();
	traffic_receive(FD, "POST /a HTTP/1.1\r\nExpect: 100-continue\r\n"
			    "Content-Length: 1\r\n\r\n");
	traffic_send(FD, "HTTP/1.1 100 Continue\r\n\r\n");
	CHECK_STR(traffic_current(), "/a");
	traffic_receive(FD, "x");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "+/a -/a:complete:200");
}

TEST(an_answer_without_an_end_ends_with_the_connection)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_send(FD, "HTTP/1.0 200 OK\r\n\r\nso much");
	CHECK_STR(traffic_current(), "/a");
	connection_sent_unseen_app(FD, 1 << 20);
	CHECK_STR(traffic_current(), "/a");
	connection_closed_app(FD);
	CHECK_STR(traffic_told(), "+/a -/a:closed:200");
}

TEST(an_answer_that_is_no_http_loses_its_request_alone)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_send(FD, "SSH-2.0-what\r\n");
	CHECK_STR(traffic_told(), "+/a -/a:lost:0");
	traffic_send(FD, ANSWER);
	traffic_get(FD, "/b", "");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "+/b -/b:complete:200");
}

TEST(answers_that_nobody_asked_for_are_passed_over)
{
	begin();
	traffic_send(FD, "HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n");
	traffic_get(FD, "/a", "");
	traffic_send(FD, ANSWER "and more");
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_told(), "+/a -/a:complete:200 +/b");
}

/* ---- other protocols ---- */

TEST(an_upgrade_ends_its_request_and_the_following)
{
	begin();
	traffic_get(FD, "/chat", "Upgrade: websocket\r\n");
	traffic_send(FD, "HTTP/1.1 101 Switching\r\nUpgrade: w\r\n\r\n\x81");
	CHECK_STR(traffic_told(), "+/chat -/chat:complete:101");
	CHECK(!connection_is_followed_app(FD));
	CHECK_EQ(agent_count(RING_UNPARSABLE), 0);
}

TEST(an_upgrade_that_is_refused_changes_nothing)
{
	begin();
	traffic_get(FD, "/chat", "Upgrade: websocket\r\n");
	traffic_send(FD, ANSWER);
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_told(), "+/chat -/chat:complete:200 +/b");
}

TEST(a_tunnel_ends_its_request_and_the_following)
{
	begin();
	traffic_receive(FD, "CONNECT example:1 HTTP/1.1\r\n\r\n");
	traffic_receive(FD, "GET /inside HTTP/1.1\r\n\r\n");
	traffic_send(FD, "HTTP/1.1 200 Yes\r\n\r\n");
	CHECK_STR(traffic_told(), "+ -:complete:200");
	CHECK(!connection_is_followed_app(FD));
}

TEST(a_tunnel_that_is_refused_leaves_the_connection)
{
	begin();
	traffic_receive(FD, "CONNECT example:1 HTTP/1.1\r\n\r\n");
	traffic_send(FD, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
	traffic_get(FD, "/b", "");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "+ -:complete:403 +/b -/b:complete:200");
}

TEST(what_is_no_http_is_not_followed)
{
	begin();
	traffic_receive(FD, "\x16\x03\x01\x02");
	CHECK(!connection_is_followed_app(FD));
	CHECK_STR(traffic_told(), "");
	CHECK_EQ(agent_count(RING_UNPARSABLE), 1);
	CHECK_EQ(agent_count(RING_HEADS), 0);
}

TEST(a_head_that_becomes_no_http_loses_what_is_open)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_receive(FD, "\r\n\x01\x02");
	CHECK_STR(traffic_told(), "+/a -/a:lost:0");
	CHECK(!connection_is_followed_app(FD));
}

/* ---- bytes that are not seen ---- */

TEST(a_counted_body_may_go_unseen)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_send(FD, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
	connection_sent_unseen_app(FD, 8);
	CHECK_STR(traffic_current(), "/a");
	connection_sent_unseen_app(FD, 1);
	CHECK_STR(traffic_told(), "+/a -/a:complete:200");
}

TEST(an_unseen_head_loses_the_request_but_not_the_connection)
{
	begin();
	traffic_get(FD, "/a", "");
	connection_sent_unseen_app(FD, 100);
	CHECK_STR(traffic_told(), "+/a -/a:lost:0");
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_current(), "/b");
	CHECK_EQ(agent_count(RING_UNPARSABLE), 0);
}

TEST(unseen_bytes_without_a_request_are_nothing)
{
	begin();
	connection_sent_unseen_app(FD, 100);
	traffic_get(FD, "/a", "");
	CHECK_STR(traffic_told(), "+/a");
}

TEST(a_counted_request_body_may_come_unseen)
{
	begin();
	traffic_receive(FD, "POST /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
	connection_received_unseen_app(FD, 9);
	traffic_send(FD, ANSWER);
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_told(), "+/a -/a:complete:200 +/b");
}

TEST(a_request_head_that_comes_unseen_loses_the_connection)
{
	begin();
	traffic_get(FD, "/a", "");
	connection_received_unseen_app(FD, 30);
	CHECK_STR(traffic_told(), "+/a -/a:lost:0");
	CHECK(!connection_is_followed_app(FD));
	CHECK_EQ(agent_count(RING_UNPARSABLE), 1);
}
