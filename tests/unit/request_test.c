/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as spans: their identity with and without a caller, and which
 * thread bears them.
 * Runs on: the test program's main thread.
 */
#include "hooks/request.h"

#include "tests/lib/agent.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

static struct http1_head head;

static void begin(void)
{
	agent_begin();
	agent_enter();
	memset(&head, 0, sizeof(head));
	strcpy(head.method, "PUT");
	strcpy(head.path, "/a/b");
}

static void set_caller(uint8_t flags)
{
	head.traceparent = HTTP1_TRACEPARENT_VALID;
	memset(head.parent.trace_id, 0x11, TRACE_ID_BYTES);
	memset(head.parent.parent_id, 0x22, SPAN_ID_BYTES);
	head.parent.flags = flags;
}

static const struct span *open_request(void)
{
	const struct span *span = span_get_sig(request_open_app(&head));

	CHECK(span != NULL);
	return span;
}

static bool is_zero(const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (id[i])
			return false;
	}
	return true;
}

TEST(a_request_with_a_caller_is_a_child_in_the_callers_trace)
{
	const struct span_context *context;

	begin();
	set_caller(0xff);
	context = &open_request()->context;
	CHECK(!memcmp(context->trace_id, head.parent.trace_id, TRACE_ID_BYTES));
	CHECK(!memcmp(context->parent_id, head.parent.parent_id,
		      SPAN_ID_BYTES));
	CHECK(!is_zero(context->span_id, SPAN_ID_BYTES));
	CHECK(memcmp(context->span_id, context->parent_id, SPAN_ID_BYTES));
	CHECK(!memcmp(context->span_id, context->root_id, SPAN_ID_BYTES));
	CHECK_EQ(context->flags, SPAN_REMOTE_PARENT | SPAN_SAMPLED);
}

TEST(the_callers_flag_says_whether_the_trace_is_kept)
{
	begin();
	set_caller(0xfe);
	CHECK_EQ(open_request()->context.flags, SPAN_REMOTE_PARENT);
	set_caller(TRACE_PARENT_SAMPLED);
	CHECK_EQ(open_request()->context.flags,
		 SPAN_REMOTE_PARENT | SPAN_SAMPLED);
}

static void check_own_trace(void)
{
	const struct span_context *context = &open_request()->context;

	CHECK(!is_zero(context->trace_id, 8));
	CHECK(!is_zero(context->trace_id + 8, 8));
	CHECK(!is_zero(context->span_id, SPAN_ID_BYTES));
	CHECK(!memcmp(context->span_id, context->root_id, SPAN_ID_BYTES));
	CHECK(is_zero(context->parent_id, SPAN_ID_BYTES));
	CHECK_EQ(context->flags, SPAN_SAMPLED);
}

TEST(without_a_caller_it_is_the_root_of_a_new_trace)
{
	begin();
	check_own_trace();
	set_caller(0);
	head.traceparent = HTTP1_TRACEPARENT_INVALID;
	check_own_trace();
	head.traceparent = HTTP1_TRACEPARENT_ABSENT;
	check_own_trace();
}

TEST(each_request_has_ids_of_its_own)
{
	struct span_context first;
	struct span_context second;

	begin();
	first = open_request()->context;
	second = open_request()->context;
	CHECK(memcmp(first.span_id, second.span_id, SPAN_ID_BYTES));
	CHECK(memcmp(first.trace_id, second.trace_id, TRACE_ID_BYTES));
}

TEST(method_path_and_flags_are_the_heads)
{
	const struct span *span;

	begin();
	head.flags = HTTP1_HEAD_IS_HEAD;
	span = open_request();
	CHECK_STR(span->method, "PUT");
	CHECK_STR(span->path, "/a/b");
	CHECK_EQ(span->request_flags, HTTP1_HEAD_IS_HEAD);
	CHECK(!span->begun);
}

TEST(a_full_table_is_counted)
{
	begin();
	for (unsigned i = 0; i < SPAN_TABLE_SIZE; i++)
		CHECK(request_open_app(&head) != 0);
	CHECK_EQ(request_open_app(&head), 0);
	CHECK_EQ(agent_count(RING_SPANS_NO_RECORD), 1);
}

TEST(a_request_alone_on_its_thread_is_current)
{
	struct thread *self;
	span_handle request;

	begin();
	self = thread_self_app();
	request = request_open_app(&head);
	request_begin_app(self, request, 12);
	CHECK_EQ(self->span, request);
	CHECK_EQ(self->span_fd, 12);
	CHECK_EQ(self->open_requests, 1);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_BEGIN), 1);
}

TEST(a_second_request_takes_the_label_from_both)
{
	struct thread *self;
	span_handle first;
	span_handle second;

	begin();
	self = thread_self_app();
	first = request_open_app(&head);
	second = request_open_app(&head);
	request_begin_app(self, first, 12);
	request_begin_app(self, second, 13);
	CHECK_EQ(self->span, 0);
	CHECK_EQ(self->open_requests, 2);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 1);
	/* Both are spans all the same. */
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_BEGIN), 2);
	CHECK(span_get_sig(first) && span_get_sig(second));
}

TEST(a_wait_for_other_work_takes_the_label)
{
	struct thread *self;

	begin();
	self = thread_self_app();
	request_wait_app(self);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 0);
	request_begin_app(self, request_open_app(&head), 12);
	request_wait_app(self);
	CHECK_EQ(self->span, 0);
	CHECK_EQ(self->open_requests, 1);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 1);
	request_wait_app(self);
	CHECK_EQ(agent_count(RING_AMBIGUOUS), 1);
}
