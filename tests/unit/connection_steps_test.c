/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may happen between two instructions of following a read: a signal
 * handler of the program, or another thread, writes to, closes or accepts the
 * same connection. It must not wait for ever, and whatever becomes of the
 * request, it must not stay current.
 * Runs on: the test program's main thread, and its signal handler.
 */
#include "hooks/connection.h"

#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/steps.h"
#include "tests/lib/traffic.h"
#include "tests/lib/unit.h"

#define FD 7

static void begin_with(const char *text)
{
	connection_accepted_app(FD);
	traffic_receive(FD, text);
}

/* A request is open, and its body comes byte by byte. */
static void begin_body(void)
{
	begin_with("POST /a HTTP/1.1\r\nContent-Length: 9999\r\n\r\n");
}

static void receive_byte(void)
{
	traffic_receive(FD, "x");
}

/* All of a head but its last byte. */
static void begin_head(void)
{
	begin_with("GET /a HTTP/1.1\r\n\r");
}

static void end_head(void)
{
	traffic_receive(FD, "\n");
}

static void answer(void)
{
	traffic_send(FD, ANSWER);
}

static void close_it(void)
{
	connection_closed_app(FD);
}

static void accept_it(void)
{
	connection_accepted_app(FD);
}

/* As many ends as begins, and nobody is thought to be a loop. */
static void check_all_ended(void)
{
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_BEGIN),
		 records_count(RECORD_SPAN_END));
	CHECK_EQ(thread_self_app()->open_requests, 0);
	CHECK_STR(traffic_current(), "");
}

/* After each: a connection that is not followed has nothing open, and its
 * number can be used again. */
static void check_and_begin(void (*again)(void))
{
	if (!connection_is_followed_app(FD))
		check_all_ended();
	accept_it();
	check_all_ended();
	again();
}

static void check_each_place(void (*between)(void))
{
	agent_begin();
	agent_enter();
	begin_body();
	for (unsigned n = 0; steps_interrupt(n, receive_byte, between);
	     n += STEPS_STRIDE)
		check_and_begin(begin_body);
}

TEST(an_answer_that_comes_between_leaves_nothing_behind)
{
	check_each_place(answer);
}

TEST(a_close_that_comes_between_leaves_nothing_open)
{
	check_each_place(close_it);
}

TEST(an_accept_that_comes_between_leaves_one_connection)
{
	check_each_place(accept_it);
}

/* The bytes were read before the close, and are looked at behind it. */
TEST(no_request_begins_on_a_connection_that_was_closed_meanwhile)
{
	agent_begin();
	agent_enter();
	begin_head();
	for (unsigned n = 0; n < 150 * STEPS_STRIDE; n += STEPS_STRIDE) {
		CHECK(steps_interrupt(n, end_head, close_it));
		CHECK(!connection_is_followed_app(FD));
		check_and_begin(begin_head);
	}
}

/* ---- a thread forks while another one follows a read ---- */

static pid_t child;

static int serve_in_child(void *unused)
{
	(void)unused;
	agent_begin_child(9);
	agent_enter();
	accept_it();
	traffic_get(FD, "/child", "");
	return strcmp(traffic_current(), "/child") != 0;
}

static void fork_server(void)
{
	child = crowd_fork(serve_in_child, NULL);
}

TEST(a_child_can_use_what_a_thread_held_when_it_was_forked)
{
	agent_begin();
	agent_enter();
	begin_body();
	for (unsigned n = 20; steps_interrupt(n, receive_byte, fork_server);
	     n += 11 * STEPS_STRIDE)
		CHECK_EQ(crowd_wait(child), 0);
}
