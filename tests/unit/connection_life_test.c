/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections and those who work on them: close, shutdown and accept; threads
 * that share one; forked children; threads that are loops; a full table of
 * spans; and what comes between two instructions.
 * Runs on: the test program's threads and children.
 */
#include "hooks/connection.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/steps.h"
#include "tests/lib/traffic.h"
#include "tests/lib/unit.h"

#define FD 7
#define OTHER 8

static void begin(void)
{
	agent_begin();
	agent_enter();
	connection_accepted_app(FD);
	connection_accepted_app(OTHER);
}

TEST(close_ends_the_request_and_the_following)
{
	begin();
	traffic_get(FD, "/a", "");
	connection_closed_app(FD);
	CHECK_STR(traffic_told(), "+/a -/a:closed:0");
	CHECK_EQ(connection_role_app(FD), CONNECTION_NONE);
	CHECK_STR(traffic_current(), "");
	connection_closed_app(FD);
	CHECK_STR(traffic_told(), "");
	CHECK(connection_is_followed_app(OTHER));
}

TEST(shutdown_ends_the_request)
{
	begin();
	traffic_get(FD, "/a", "");
	connection_shut_app(FD);
	CHECK_STR(traffic_told(), "+/a -/a:closed:0");
	CHECK_STR(traffic_current(), "");
}

TEST(accept_begins_afresh_whoever_had_the_number)
{
	begin();
	traffic_get(FD, "/a", "");
	traffic_receive(FD, "GET /half HT");
	/* It was closed by a raw system call. */
	connection_accepted_app(FD);
	CHECK_STR(traffic_told(), "+/a -/a:closed:0");
	traffic_get(FD, "/b", "");
	CHECK_STR(traffic_told(), "+/b");
}

TEST(accept_makes_of_any_number_a_connection)
{
	begin();
	connection_listening_app(FD);
	CHECK_EQ(connection_role_app(FD), CONNECTION_LISTENING);
	CHECK(!connection_is_followed_app(FD));
	connection_accepted_app(FD);
	CHECK(connection_is_followed_app(FD));
	connection_listening_app(FD);
	connection_closed_app(FD);
	CHECK_EQ(connection_role_app(FD), CONNECTION_NONE);
}

TEST(descriptors_beyond_the_table_are_counted_and_left_alone)
{
	const int beyond = (int)CONNECTION_LIMIT;

	begin();
	connection_accepted_app(beyond);
	connection_accepted_app(beyond + 1);
	connection_accepted_app(INT32_MAX);
	CHECK_EQ(agent_count(RING_DESCRIPTORS_BEYOND), 3);
	CHECK_EQ(connection_role_app(beyond), CONNECTION_NONE);
	CHECK_EQ(connection_role_app(-1), CONNECTION_NONE);
	connection_listening_app(beyond);
	connection_listening_app(-1);
	connection_closed_app(beyond);
	connection_closed_app(-1);
	connection_accepted_app(beyond - 1);
	CHECK(connection_is_followed_app(beyond - 1));
	traffic_get(beyond - 1, "/last", "");
	CHECK_STR(traffic_told(), "+/last");
}

/* ---- loops ---- */

TEST(two_open_requests_of_a_thread_label_nothing)
{
	begin();
	traffic_get(FD, "/1", "");
	CHECK_STR(traffic_current(), "/1");
	traffic_get(OTHER, "/2", "");
	CHECK_STR(traffic_current(), "");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_current(), "");
	traffic_send(OTHER, ANSWER);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 1);
	CHECK_STR(traffic_told(), "+/1 +/2 -/1:complete:200 -/2:complete:200");
	/* With nothing open it is as good as any thread. */
	traffic_get(FD, "/3", "");
	CHECK_STR(traffic_current(), "/3");
}

TEST(a_request_that_begins_while_a_loops_is_open_labels_nothing)
{
	begin();
	connection_accepted_app(9);
	traffic_get(FD, "/1", "");
	traffic_get(OTHER, "/2", "");
	traffic_send(FD, ANSWER);
	traffic_get(9, "/3", "");
	CHECK_STR(traffic_current(), "");
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 2);
}

TEST(a_loop_that_serves_one_request_after_the_other_labels_each)
{
	begin();
	for (int i = 0; i < 4; i++) {
		int fd = i % 2 ? FD : OTHER;

		traffic_get(fd, "/a", "");
		CHECK_STR(traffic_current(), "/a");
		traffic_send(fd, ANSWER);
	}
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 0);
}

/* ---- threads ---- */

static void *answer_as_worker(void *with_record)
{
	if (with_record)
		agent_enter();
	traffic_send(FD, ANSWER);
	if (with_record)
		agent_leave();
	return NULL;
}

static void answer_on_thread(void *with_record)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, answer_as_worker, with_record),
		 0);
	pthread_join(thread, NULL);
}

TEST(another_threads_answer_ends_the_readers_request)
{
	for (int with_record = 0; with_record < 2; with_record++) {
		begin();
		traffic_get(FD, "/a", "");
		answer_on_thread(with_record ? &with_record : NULL);
		CHECK_STR(traffic_current(), "");
		CHECK_EQ(thread_self_app()->open_requests, 0);
		CHECK_STR(traffic_told(), "+/a -/a:complete:200");
	}
}

/* The next one of the pipeline begins where the answer was written. */
TEST(a_pipelined_request_begins_on_the_thread_that_answers)
{
	begin();
	traffic_receive(FD, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
	answer_on_thread(&(int){1});
	CHECK_STR(traffic_current(), "");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "+/1 -/1:complete:200 +/2 -/2:complete:200");
}

TEST(a_thread_without_a_record_has_requests_without_spans)
{
	begin();
	agent_leave();
	traffic_get(FD, "/a", "");
	traffic_send(FD, ANSWER);
	connection_closed_app(FD);
	CHECK_STR(traffic_told(), "");
	CHECK_EQ(agent_count(RING_HEADS), 1);
}

/* A reader and a writer that know nothing of each other. */
static long read_or_write(unsigned number, void *unused)
{
	(void)unused;
	agent_enter();
	for (int i = 0; i < 2000; i++) {
		if (number == 0)
			traffic_get(FD, "/a", "");
		else
			traffic_send(FD, ANSWER);
		if (!connection_is_followed_app(FD))
			connection_accepted_app(FD);
	}
	return 0;
}

static size_t ends_of(const struct record_span_begin *begin)
{
	size_t ends = 0;

	for (size_t i = 0; i < records_count(RECORD_SPAN_END); i++) {
		const struct record_span_end *end =
			records_get(RECORD_SPAN_END, i);

		ends += !memcmp(begin->span.span_id, end->span.span_id,
				SPAN_ID_BYTES);
	}
	return ends;
}

/* Who can't wait for the other gives the connection up, but every request that
 * begins ends once. */
TEST(threads_that_race_on_a_connection_leave_nothing_open)
{
	const struct record_span_begin *begun;

	begin();
	crowd_run(2, read_or_write, NULL);
	connection_accepted_app(FD);
	records_take();
	CHECK(records_count(RECORD_SPAN_BEGIN) > 0);
	CHECK_EQ(records_count(RECORD_SPAN_BEGIN),
		 records_count(RECORD_SPAN_END));
	for (size_t i = 0; i < 100; i++) {
		size_t some = i * records_count(RECORD_SPAN_BEGIN) / 100;

		begun = records_get(RECORD_SPAN_BEGIN, some);
		CHECK_EQ(ends_of(begun), 1);
	}
}

/* ---- children ---- */

#define CHILD_SLOT 9u

static int close_all_in_child(void *unused)
{
	(void)unused;
	agent_begin_child(CHILD_SLOT);
	agent_enter();
	for (int fd = 0; fd < 100; fd++)
		connection_closed_app(fd);
	return traffic_current()[0] != '\0';
}

TEST(a_child_that_closes_everything_ends_nothing_of_its_parents)
{
	begin();
	traffic_receive(FD, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
	CHECK_EQ(crowd_wait(crowd_fork(close_all_in_child, NULL)), 0);
	CHECK_STR(traffic_told(), "+/1");
	CHECK_STR(traffic_current(), "/1");
	traffic_send(FD, ANSWER ANSWER);
	CHECK_STR(traffic_told(), "-/1:complete:200 +/2 -/2:complete:200");
}

/* As in a server that forks for each connection. */
static int serve_in_child(void *unused)
{
	(void)unused;
	agent_begin_child(CHILD_SLOT);
	agent_enter();
	traffic_get(FD, "/child", "");
	if (strcmp(traffic_current(), "/child") != 0)
		return 1;
	traffic_send(FD, ANSWER);
	return traffic_current()[0] != '\0';
}

TEST(a_child_follows_the_connections_that_it_inherits)
{
	begin();
	CHECK_EQ(crowd_wait(crowd_fork(serve_in_child, NULL)), 0);
	CHECK_STR(traffic_told(), "+/child -/child:complete:200");
	CHECK_STR(traffic_current(), "");
}

/* Handles of the parent's spans are numbers that the child's may have again. */
static int reuse_parents_handle(void *context)
{
	span_handle parents = *(span_handle *)context;
	struct span last;
	span_handle own;

	agent_begin_child(CHILD_SLOT);
	agent_enter();
	for (unsigned i = 0; i < 2 * SPAN_TABLE_SIZE; i++) {
		own = span_open_app();
		if (own == parents)
			break;
		span_close_app(own, &last);
	}
	if (own != parents)
		return 2;
	connection_closed_app(FD);
	return span_get_sig(own) == NULL;
}

TEST(a_child_does_not_take_its_own_span_for_its_parents)
{
	span_handle handle;

	begin();
	traffic_get(FD, "/a", "");
	handle = thread_self_app()->span;
	CHECK_EQ(crowd_wait(crowd_fork(reuse_parents_handle, &handle)), 0);
}

/* A child of vfork has its parent's memory and a table of its own. */
TEST(a_vfork_childs_close_is_not_its_parents)
{
	pid_t child;

	begin();
	traffic_get(FD, "/a", "");
	child = vfork();
	if (child == 0) {
		connection_closed_app(FD);
		_exit(0);
	}
	CHECK_EQ(crowd_wait(child), 0);
	CHECK(connection_is_followed_app(FD));
	CHECK_STR(traffic_current(), "/a");
	CHECK_STR(traffic_told(), "+/a");
}

/* A child of raw clone, of which nobody told us, has no process yet. */
static int serve_without_process(void *unused)
{
	(void)unused;
	traffic_get(FD, "/a", "");
	traffic_send(FD, ANSWER);
	return connection_is_followed_app(FD);
}

TEST(a_child_that_nobody_told_us_of_is_not_followed)
{
	begin();
	CHECK_EQ(crowd_wait(crowd_fork(serve_without_process, NULL)), 0);
	CHECK_STR(traffic_told(), "");
	CHECK(connection_is_followed_app(FD));
}

/* ---- a full table of spans ---- */

static span_handle spans[SPAN_TABLE_SIZE];

/* The search will go on at the first of them. */
static void crowd_spans(void)
{
	for (size_t i = 0; i < SPAN_TABLE_SIZE; i++)
		spans[i] = span_open_app();
}

TEST(requests_beyond_the_table_have_no_span)
{
	begin();
	crowd_spans();
	traffic_get(FD, "/a", "");
	traffic_send(FD, ANSWER);
	CHECK_STR(traffic_told(), "");
	CHECK_EQ(agent_count(RING_SPANS_NO_RECORD), 1);
	CHECK(connection_is_followed_app(FD));
}

/* The answers come in the order of the requests: what comes behind the one
 * without a span must not be taken for the next to be answered. */
TEST(a_pipeline_that_has_lost_a_request_labels_no_further_one)
{
	static const size_t room[] = {0, 300, 400, 500};
	struct span last;

	begin();
	crowd_spans();
	/* The second search ends in front of the second place. */
	for (size_t i = 0; i < 4; i++)
		CHECK(span_close_app(spans[room[i]], &last));
	traffic_receive(FD, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"
			    "GET /3 HTTP/1.1\r\n\r\n");
	CHECK_STR(traffic_current(), "");
	CHECK_STR(traffic_told(), "+/1 -/1:lost:0");
	CHECK_EQ(agent_count(RING_SPANS_NO_RECORD), 2);
	traffic_send(FD, ANSWER ANSWER ANSWER);
	/* The next read is understood again. */
	traffic_get(FD, "/4", "");
	CHECK_STR(traffic_current(), "/4");
	CHECK_STR(traffic_told(), "+/4");
}
