/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of each thread's CPU time.
 * Runs on: the program's threads, the sampler thread (ledger_book_other_sig),
 * the handler (ledger_sample_sig).
 */
#include "sampler/ledger.h"

#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/ring.h"
#include "sampler/timer.h"

/* Timers are looked at when the kernel's tick interrupts their thread. Between
 * two looks may lie many periods: at a high rate, or where the host took the
 * processor away and the thread's clock went on. What is longer than this was
 * more likely a thread that had the signal blocked. */
#define LONGEST_GAP_NS UINT64_C(250000000)

/* Tells the process's next self, after exec, where it stands. */
static void note_leader_sig(const struct thread *thread)
{
	if (thread->tid == process->pid)
		atomic_store_explicit(&agent.ring->processes[process->slot]
					       .leader_accounted_ns,
				      atomic_load(&thread->accounted_ns),
				      memory_order_relaxed);
}

uint32_t ledger_most_periods_sig(void)
{
	uint64_t periods = LONGEST_GAP_NS / agent.period_ns;

	return periods < 2 ? 2 : (uint32_t)periods;
}

void ledger_sample_sig(struct thread *thread, uint32_t periods)
{
	atomic_fetch_add_explicit(&thread->accounted_ns,
				  (int64_t)(periods * agent.period_ns),
				  memory_order_relaxed);
	note_leader_sig(thread);
}

void ledger_switch_app(struct thread *thread, span_handle from, int64_t cpu_ns)
{
	int64_t accounted = atomic_load_explicit(&thread->accounted_ns,
						 memory_order_relaxed);
	int64_t owed = (cpu_ns - thread->switch_cpu_ns) -
		       (accounted - thread->switch_accounted_ns);

	if (from && owed > thread->owed_ns &&
	    span_context_sig(from, &thread->owed)) {
		thread->owed_ns = owed;
		thread->owed_taken_ns = thread->taken_ns;
	}
	thread->switch_cpu_ns = cpu_ns;
	thread->switch_accounted_ns = accounted;
}

static void emit_sig(struct thread *thread, const struct span_context *span,
		     int64_t cpu_ns)
{
	struct ring_grip grip;
	struct record_unsampled *record;

	if (cpu_ns <= 0)
		return;
	record = ring_open_sig(&grip, &thread->block_hint, thread->tid,
			       sizeof(*record));
	if (!record)
		return;
	if (span)
		copy_bytes_sig(&record->span, span, sizeof(*span));
	else
		zero_bytes_sig(&record->span, sizeof(record->span));
	record->cpu_ns = (uint64_t)cpu_ns;
	ring_close_sig(&grip, RECORD_UNSAMPLED, sizeof(*record));
}

static int64_t pay_sig(_Atomic int64_t *debt_ns, int64_t owed_ns)
{
	int64_t debt = atomic_load(debt_ns);
	int64_t paid;

	do {
		paid = debt < owed_ns ? debt : owed_ns;
		if (paid <= 0)
			return owed_ns;
	} while (!atomic_compare_exchange_weak(debt_ns, &debt, debt - paid));
	return owed_ns - paid;
}

/* What remains of `owed_ns` when the debts were paid from it: this process's,
 * then those that others left behind. */
static int64_t pay_debt_sig(int64_t owed_ns)
{
	owed_ns = pay_sig(&process->debt_ns, owed_ns);
	return pay_sig(&agent.ring->header.debt_ns, owed_ns);
}

/*
 * What a live timer will still show: an expiry waits for the next tick that
 * finds the thread running. Booked now, that time would be shown again by the
 * sample that comes.
 */
static int64_t pending_ns(const struct thread *thread)
{
	if (thread->timer < 0)
		return 0;
	return (int64_t)(agent.period_ns + LONGEST_GAP_NS);
}

/* Claims the difference between clock and account; of several callers one
 * gets it. May be negative. */
static int64_t settle_sig(struct thread *thread, bool last)
{
	int64_t cpu = thread_cpu_sig(thread->tid);
	int64_t accounted = atomic_load(&thread->accounted_ns);
	int64_t owed;

	do {
		owed = cpu - accounted;
		if (cpu < 0 || owed == 0 ||
		    (!last && owed <= pending_ns(thread)))
			return 0;
	} while (!atomic_compare_exchange_weak(&thread->accounted_ns,
					       &accounted, cpu));
	note_leader_sig(thread);
	return owed;
}

/* How much of a booking is the span's: what others have booked since may have
 * been its part. */
static int64_t labelled_part(const struct thread *thread, int64_t booked_ns)
{
	int64_t taken = thread->taken_ns - thread->owed_taken_ns;
	int64_t owed = thread->owed_ns - taken;

	if (owed < 0)
		return 0;
	return owed < booked_ns ? owed : booked_ns;
}

void ledger_book_app(struct thread *thread, bool last)
{
	int64_t owed = settle_sig(thread, last);
	int64_t labelled;

	atomic_store_explicit(&thread->booked_window,
			      atomic_load(&process->window),
			      memory_order_relaxed);
	if (owed < 0) {
		atomic_fetch_sub(&process->debt_ns, owed);
		return;
	}
	owed = pay_debt_sig(owed);
	labelled = labelled_part(thread, owed);
	emit_sig(thread, &thread->owed, labelled);
	emit_sig(thread, 0, owed - labelled);
	thread->owed_ns = 0;
	/* The account now says what the clock says. */
	thread->switch_accounted_ns = atomic_load(&thread->accounted_ns);
	thread->switch_cpu_ns = thread->switch_accounted_ns;
}

/* What is booked here may have been owed to a span; the thread itself is told
 * by taken_ns. */
static void book_unlabelled_sig(struct thread *thread, int64_t owed_ns)
{
	if (owed_ns <= 0)
		return;
	atomic_fetch_add(&thread->taken_ns, owed_ns);
	emit_sig(thread, 0, pay_debt_sig(owed_ns));
}

void ledger_book_other_sig(struct thread *thread)
{
	book_unlabelled_sig(thread, settle_sig(thread, false));
}

void ledger_close_other_sig(struct thread *thread)
{
	int64_t owed = settle_sig(thread, true);

	if (owed < 0)
		atomic_fetch_sub(&process->debt_ns, owed);
	else
		book_unlabelled_sig(thread, owed);
}

void ledger_leave_debt_sig(void)
{
	int64_t debt = atomic_exchange(&process->debt_ns, 0);

	atomic_fetch_add(&agent.ring->header.debt_ns, debt);
}
