/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: what is booked is exactly what the clock says beyond the samples,
 * under the span it is owed to, less the process's debt.
 * Runs on: the test program's threads.
 */
#include "sampler/ledger.h"

#include "sampler/timer.h"
#include "tests/lib/agent.h"
#include "tests/lib/records.h"
#include "tests/lib/steps.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

static struct thread *self;

/* A record of this thread whose account is `owed_ns` short of its clock, or
 * beyond it when that is negative. */
static void begin(int64_t owed_ns)
{
	agent_begin();
	self = agent_enter();
	self->accounted_ns = thread_cpu_sig(self->tid) - owed_ns;
}

static span_handle open_span(uint8_t id)
{
	span_handle handle = span_open_app();

	CHECK(handle != 0);
	memset(&span_get_sig(handle)->context, id, sizeof(struct span_context));
	return handle;
}

/* The i-th booking of those taken, checked to be of this span (0: none). */
static int64_t booked(size_t i, uint8_t id)
{
	const struct record_unsampled *record =
		records_get(RECORD_UNSAMPLED, i);

	CHECK_EQ(record->span.span_id[0], id);
	CHECK_EQ(record->span.trace_id[15], id);
	CHECK_EQ(record->head.tid, self->tid);
	return (int64_t)record->cpu_ns;
}

TEST(what_the_clock_says_beyond_the_samples_is_booked_exactly)
{
	int64_t before;

	begin(5 * MS);
	before = self->accounted_ns;
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK(booked(0, 0) >= 5 * MS);
	CHECK_EQ(booked(0, 0), self->accounted_ns - before);
	CHECK_EQ(process->debt_ns, 0);
}

TEST(a_second_booking_takes_only_what_came_since)
{
	int64_t before;

	begin(5 * MS);
	ledger_book_app(self, false);
	records_take();
	before = self->accounted_ns;
	agent_burn_ns(MS);
	ledger_book_app(self, true);
	CHECK_EQ(records_take(), 1);
	CHECK_EQ(booked(0, 0), self->accounted_ns - before);
	CHECK(booked(0, 0) >= MS);
	CHECK(booked(0, 0) < 5 * MS);
}

TEST(a_sample_counts_as_whole_periods)
{
	begin(0);
	self->accounted_ns = 1;
	ledger_sample_sig(self, 3);
	CHECK_EQ(self->accounted_ns, 1 + 30 * MS);
}

TEST(a_gap_counts_up_to_a_quarter_of_a_second)
{
	static const uint32_t rates[] = {1, 4, 10, 100, 250, 1000};

	agent_begin();
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		agent.period_ns = 1000000000u / rates[i];
		CHECK(ledger_most_periods_sig() >= 2);
		CHECK(ledger_most_periods_sig() * agent.period_ns <=
			      UINT64_C(250000000) ||
		      ledger_most_periods_sig() == 2);
	}
	CHECK_EQ(ledger_most_periods_sig(), 250);
}

/* A thread that goes on may catch up; one that ends leaves a debt. */
TEST(samples_beyond_the_clock_are_a_debt_at_the_end)
{
	int64_t before;

	begin(-50 * MS);
	before = self->accounted_ns;
	ledger_book_app(self, false);
	CHECK_EQ(self->accounted_ns, before);
	CHECK_EQ(process->debt_ns, 0);
	ledger_book_app(self, true);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(process->debt_ns, before - self->accounted_ns);
	CHECK(process->debt_ns > 0);
	CHECK(process->debt_ns <= 50 * MS);
}

TEST(a_debt_is_taken_from_the_next_booking)
{
	int64_t before;

	begin(20 * MS);
	before = self->accounted_ns;
	process->debt_ns = 7 * MS;
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK_EQ(booked(0, 0), self->accounted_ns - before - 7 * MS);
	CHECK_EQ(process->debt_ns, 0);
}

TEST(a_greater_debt_swallows_a_booking_and_shrinks_by_it)
{
	int64_t before;

	begin(MS);
	before = self->accounted_ns;
	process->debt_ns = 1000 * MS;
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(process->debt_ns, 1000 * MS - (self->accounted_ns - before));
	ledger_book_other_sig(self);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(process->debt_ns, 1000 * MS - (self->accounted_ns - before));
}

/* ---- which span it is owed to ---- */

/* The thread works under a span for so long, without a sample, by made-up
 * clocks; `sampled_ns` of it are shown. */
static void work_under(span_handle span, int64_t ns, int64_t sampled_ns)
{
	int64_t clock = self->switch_cpu_ns;

	ledger_switch_app(self, 0, clock);
	atomic_fetch_add(&self->accounted_ns, sampled_ns);
	ledger_switch_app(self, span, clock + ns);
}

TEST(a_booking_is_labelled_with_the_span_it_is_owed_to)
{
	int64_t before;

	begin(20 * MS);
	before = self->accounted_ns;
	work_under(open_span(7), 3 * MS, 0);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 2);
	CHECK_EQ(booked(0, 7), 3 * MS);
	CHECK_EQ(booked(0, 7) + booked(1, 0), self->accounted_ns - before);
}

TEST(what_samples_show_of_a_span_is_not_owed_to_it)
{
	begin(20 * MS);
	work_under(open_span(7), 15 * MS, 10 * MS);
	ledger_book_app(self, false);
	records_take();
	CHECK_EQ(booked(0, 7), 5 * MS);
}

TEST(a_span_that_samples_show_more_than_whole_is_owed_nothing)
{
	begin(20 * MS);
	work_under(open_span(7), 5 * MS, 10 * MS);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK(booked(0, 0) > 0);
}

TEST(the_span_that_is_owed_most_gets_the_label)
{
	begin(50 * MS);
	work_under(open_span(1), 2 * MS, 0);
	work_under(open_span(2), 9 * MS, 0);
	work_under(open_span(3), 4 * MS, 0);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 2);
	CHECK_EQ(booked(0, 2), 9 * MS);
}

TEST(work_under_no_span_is_owed_to_none)
{
	begin(50 * MS);
	work_under(open_span(1), 2 * MS, 0);
	work_under(0, 30 * MS, 0);
	ledger_book_app(self, false);
	records_take();
	CHECK_EQ(booked(0, 1), 2 * MS);
}

TEST(a_label_never_exceeds_what_is_booked)
{
	int64_t before;

	begin(MS);
	before = self->accounted_ns;
	work_under(open_span(7), 1000 * MS, 0);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK_EQ(booked(0, 7), self->accounted_ns - before);
}

/* The debt is paid by what is booked, labelled or not. */
TEST(a_debt_comes_before_the_label)
{
	int64_t before;

	begin(20 * MS);
	before = self->accounted_ns;
	work_under(open_span(7), 15 * MS, 0);
	process->debt_ns = 10 * MS;
	ledger_book_app(self, false);
	records_take();
	CHECK(booked(0, 7) <= self->accounted_ns - before - 10 * MS);
}

TEST(what_was_booked_is_owed_no_more)
{
	begin(20 * MS);
	work_under(open_span(7), 15 * MS, 0);
	ledger_book_app(self, false);
	records_take();
	self->accounted_ns = self->accounted_ns - 5 * MS;
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK(booked(0, 0) >= 5 * MS);
}

TEST(a_span_that_has_ended_is_owed_nothing)
{
	span_handle span;
	struct span last;

	begin(20 * MS);
	span = open_span(7);
	span_close_app(span, &last);
	work_under(span, 15 * MS, 0);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK(booked(0, 0) > 0);
}

TEST(a_booking_from_outside_bears_no_span)
{
	int64_t before;

	begin(20 * MS);
	before = self->accounted_ns;
	work_under(open_span(7), 15 * MS, 0);
	ledger_book_other_sig(self);
	CHECK_EQ(records_take(), 1);
	CHECK_EQ(booked(0, 0), self->accounted_ns - before);
}

/* The thread slept for two windows, and the sampler thread booked for it: what
 * it does now is not the span's. */
TEST(what_others_booked_is_owed_to_no_span_any_more)
{
	begin(20 * MS);
	work_under(open_span(7), 15 * MS, 0);
	ledger_book_other_sig(self);
	records_take();
	self->accounted_ns = self->accounted_ns - 5 * MS;
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 1);
	CHECK(booked(0, 0) >= 5 * MS);
}

TEST(what_others_booked_before_takes_nothing_from_a_span)
{
	begin(20 * MS);
	ledger_book_other_sig(self);
	records_take();
	self->accounted_ns = self->accounted_ns - 5 * MS;
	work_under(open_span(7), 3 * MS, 0);
	ledger_book_app(self, false);
	CHECK_EQ(records_take(), 2);
	CHECK_EQ(booked(0, 7), 3 * MS);
}

/* ---- what comes between two instructions of a booking ---- */

static void book(void)
{
	ledger_book_app(self, false);
}

static void book_from_outside(void)
{
	ledger_book_other_sig(self);
}

static void take_sample(void)
{
	ledger_sample_sig(self, 1);
}

/* Bookings and `sampled_ns` are what the account grew by. */
static void check_sum(int64_t before_ns, int64_t sampled_ns)
{
	int64_t sum = 0;

	records_take();
	for (size_t i = 0; i < records_count(RECORD_UNSAMPLED); i++)
		sum += booked(i, 0);
	CHECK_EQ(sum + sampled_ns, self->accounted_ns - before_ns);
}

TEST(another_booker_that_comes_between_books_the_rest)
{
	int64_t before;

	begin(5 * MS);
	for (unsigned n = 0;; n += 2 * STEPS_STRIDE) {
		before = self->accounted_ns;
		if (!steps_interrupt(n, book, book_from_outside))
			break;
		check_sum(before, 0);
	}
	check_sum(before, 0);
}

TEST(a_sample_that_comes_between_is_no_part_of_the_booking)
{
	int64_t before;

	begin(5 * MS);
	for (unsigned n = 0;; n += 2 * STEPS_STRIDE) {
		before = thread_cpu_sig(self->tid) - 50 * MS;
		self->accounted_ns = before;
		if (!steps_interrupt(n, book, take_sample))
			break;
		check_sum(before, 10 * MS);
	}
	CHECK_EQ(process->debt_ns, 0);
}

TEST(a_thread_that_has_gone_is_not_booked)
{
	begin(5 * MS);
	self->tid = 0x3fffff;
	ledger_book_other_sig(self);
	ledger_book_app(self, true);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(process->debt_ns, 0);
}
