/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans on threads: what is told of their begin and end, their exact CPU time,
 * ends by other threads, and ends that come twice.
 * Runs on: the test program's threads.
 */
#include "sampler/scope.h"

#include <pthread.h>

#include "sampler/ledger.h"
#include "sampler/timer.h"
#include "tests/lib/agent.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

static const struct scope_end complete = {SPAN_END_COMPLETE, 200};

static struct thread *self;

static void begin(void)
{
	agent_begin();
	self = agent_enter();
	self->accounted_ns = thread_cpu_sig(self->tid);
}

static span_handle open_span(uint8_t id)
{
	span_handle handle = span_open_app();
	struct span *span = span_get_sig(handle);

	CHECK(span != NULL);
	memset(&span->context, id, sizeof(span->context));
	strcpy(span->method, "PATCH");
	strcpy(span->path, "/orders/7");
	return handle;
}

static span_handle begin_span(uint8_t id)
{
	span_handle handle = open_span(id);

	scope_begin_app(self, handle);
	return handle;
}

/* The i-th end that was told. */
static const struct record_span_end *ended(size_t i)
{
	return records_get(RECORD_SPAN_END, i);
}

TEST(a_begin_is_told_with_ids_method_and_path)
{
	const struct record_span_begin *record;

	begin();
	begin_span(7);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_BEGIN), 1);
	record = records_get(RECORD_SPAN_BEGIN, 0);
	CHECK_EQ(record->head.tid, self->tid);
	CHECK_EQ(record->span.trace_id[0], 7);
	CHECK_EQ(record->span.parent_id[7], 7);
	CHECK_STR(record->method, "PATCH");
	CHECK_STR(record->path, "/orders/7");
	CHECK_EQ(agent_count(RING_SPANS), 1);
	CHECK_EQ(self->open_requests, 1);
}

TEST(a_begin_does_not_make_the_span_current)
{
	begin();
	begin_span(7);
	CHECK_EQ(self->span, 0);
}

TEST(an_end_is_told_with_reason_and_status)
{
	struct scope_end how = {SPAN_END_CLOSED, 404};
	span_handle span;

	begin();
	span = begin_span(7);
	scope_end_app(self, span, how);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_END), 1);
	CHECK_EQ(ended(0)->span.span_id[0], 7);
	CHECK_EQ(ended(0)->reason, SPAN_END_CLOSED);
	CHECK_EQ(ended(0)->http_status, 404);
	CHECK_EQ(ended(0)->cpu_ns, 0);
	CHECK_EQ(self->open_requests, 0);
	CHECK(!span_get_sig(span));
}

TEST(a_span_ends_once)
{
	span_handle span;

	begin();
	span = begin_span(7);
	scope_switch_app(self, span);
	scope_end_app(self, span, complete);
	scope_end_app(self, span, complete);
	scope_end_app(NULL, span, complete);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_END), 1);
	CHECK_EQ(self->open_requests, 0);
}

TEST(a_span_that_never_began_ends_in_silence)
{
	span_handle span;

	begin();
	span = open_span(7);
	scope_end_app(self, span, complete);
	scope_end_app(self, 0, complete);
	CHECK_EQ(records_take(), 0);
	CHECK(!span_get_sig(span));
	CHECK_EQ(self->open_requests, 0);
}

TEST(nothing_begins_under_a_span_that_has_ended)
{
	struct span last;
	span_handle span;

	begin();
	span = open_span(7);
	span_close_app(span, &last);
	scope_begin_app(self, span);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(self->open_requests, 0);
}

/* The truth lies between what is read inside of the span and outside. */
TEST(cpu_time_of_a_span_is_exact)
{
	int64_t outside;
	int64_t inside;
	span_handle span;

	begin();
	span = begin_span(7);
	outside = agent_cpu_ns();
	scope_switch_app(self, span);
	inside = agent_cpu_ns();
	agent_burn_ns(3 * MS);
	inside = agent_cpu_ns() - inside;
	scope_end_app(self, span, complete);
	outside = agent_cpu_ns() - outside;
	records_take();
	CHECK((int64_t)ended(0)->cpu_ns >= inside);
	CHECK((int64_t)ended(0)->cpu_ns <= outside);
}

TEST(each_span_has_the_time_for_which_it_was_current)
{
	span_handle first;
	span_handle second;

	begin();
	first = begin_span(1);
	second = begin_span(2);
	scope_switch_app(self, first);
	agent_burn_ns(2 * MS);
	scope_switch_app(self, second);
	agent_burn_ns(12 * MS);
	scope_switch_app(self, first);
	agent_burn_ns(2 * MS);
	scope_switch_app(self, 0);
	agent_burn_ns(40 * MS);
	scope_end_app(self, first, complete);
	scope_end_app(self, second, complete);
	records_take();
	CHECK(ended(0)->cpu_ns >= 4 * MS);
	CHECK(ended(0)->cpu_ns < 12 * MS);
	CHECK(ended(1)->cpu_ns >= 12 * MS);
	CHECK(ended(1)->cpu_ns < 40 * MS);
}

TEST(a_switch_from_a_span_notes_what_is_owed_to_it)
{
	span_handle span;
	const struct record_unsampled *record;

	begin();
	span = begin_span(7);
	scope_switch_app(self, span);
	agent_burn_ns(3 * MS);
	scope_end_app(self, span, complete);
	ledger_book_app(self, false);
	records_take();
	record = records_get(RECORD_UNSAMPLED, 0);
	CHECK_EQ(record->span.span_id[0], 7);
	CHECK_EQ(record->cpu_ns, ended(0)->cpu_ns);
}

TEST(an_end_books_once_a_window)
{
	begin();
	agent_burn_ns(MS);
	scope_end_app(self, begin_span(1), complete);
	records_take();
	CHECK_EQ(records_count(RECORD_UNSAMPLED), 0);
	process->window++;
	scope_end_app(self, begin_span(2), complete);
	scope_end_app(self, begin_span(3), complete);
	records_take();
	CHECK_EQ(records_count(RECORD_UNSAMPLED), 1);
	CHECK_EQ(self->booked_window, process->window);
}

/* ---- another thread ends it ---- */

static span_handle shared_span;
static int64_t bearer_cpu_ns;

/* As in a server whose workers answer what another thread has read. */
static void *end_as_worker(void *with_record)
{
	struct thread *worker = NULL;

	if (with_record) {
		worker = thread_claim_sig();
		worker->tid = 1;
		thread_set_self_app(worker);
	}
	scope_end_app(worker, shared_span, complete);
	bearer_cpu_ns = thread_cpu_sig(self->tid);
	return NULL;
}

static void end_by_another(void *with_record)
{
	pthread_t thread;
	int64_t from;

	begin();
	shared_span = begin_span(7);
	from = agent_cpu_ns();
	scope_switch_app(self, shared_span);
	agent_burn_ns(3 * MS);
	CHECK_EQ(pthread_create(&thread, NULL, end_as_worker, with_record), 0);
	pthread_join(thread, NULL);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_END), 1);
	CHECK(ended(0)->cpu_ns >= 3 * MS);
	CHECK((int64_t)ended(0)->cpu_ns <= bearer_cpu_ns - from);
	CHECK_EQ(self->span, 0);
	CHECK_EQ(self->open_requests, 0);
}

TEST(an_end_by_another_thread_takes_the_span_off_its_bearer)
{
	end_by_another(&shared_span);
}

TEST(a_thread_without_a_record_can_end_a_span)
{
	end_by_another(NULL);
}

TEST(an_end_by_another_thread_leaves_the_bearers_next_span)
{
	span_handle next;
	pthread_t thread;

	begin();
	shared_span = begin_span(1);
	next = begin_span(2);
	scope_switch_app(self, next);
	CHECK_EQ(pthread_create(&thread, NULL, end_as_worker, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(self->span, next);
	CHECK_EQ(self->open_requests, 1);
}

/* The record of a thread that has gone may be another thread's by now. */
TEST(an_end_does_not_touch_whoever_has_the_bearers_record_now)
{
	struct thread *bearer;
	span_handle span;

	begin();
	bearer = thread_claim_sig();
	bearer->tid = 0x3ffffe;
	span = open_span(7);
	scope_begin_app(bearer, span);
	thread_release_sig(bearer);
	CHECK(thread_claim_sig() == bearer);
	bearer->tid = 0x3ffffd;
	bearer->open_requests = 5;
	scope_end_app(self, span, complete);
	records_take();
	CHECK_EQ(records_count(RECORD_SPAN_END), 1);
	CHECK_EQ(bearer->open_requests, 5);
}

TEST(a_full_ring_loses_the_record_and_not_the_span)
{
	span_handle span;

	begin();
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		atomic_store(&agent.ring->blocks[i].owner, 1);
	span = begin_span(7);
	CHECK_EQ(self->open_requests, 1);
	scope_switch_app(self, span);
	scope_end_app(self, span, complete);
	CHECK_EQ(self->open_requests, 0);
	CHECK_EQ(self->span, 0);
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), 2);
}
