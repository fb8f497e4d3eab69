/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans on threads.
 * Runs on: the program's threads.
 */
#include "sampler/scope.h"

#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/ledger.h"
#include "sampler/ring.h"
#include "sampler/timer.h"

static void add_cpu(span_handle handle, int64_t cpu_ns)
{
	struct span *span = span_get_sig(handle);

	if (span && cpu_ns > 0)
		atomic_fetch_add_explicit(&span->cpu_ns, (uint64_t)cpu_ns,
					  memory_order_relaxed);
}

void scope_switch_app(struct thread *self, span_handle to)
{
	int64_t cpu_ns = thread_cpu_sig(self->tid);
	span_handle from = atomic_exchange(&self->span, to);

	add_cpu(from, cpu_ns - self->span_cpu_ns);
	self->span_cpu_ns = cpu_ns;
	ledger_switch_app(self, from, cpu_ns);
}

void scope_begin_app(struct thread *self, span_handle handle)
{
	struct span *span = span_get_sig(handle);
	struct ring_grip grip;
	struct record_span_begin *record;

	if (!span)
		return;
	span->begun = true;
	span->bearer = self;
	span->bearer_tid = self->tid;
	atomic_fetch_add(&self->open_requests, 1);
	count_sig(RING_SPANS);
	record = ring_open_sig(&grip, &self->block_hint, self->tid,
			       sizeof(*record));
	if (!record)
		return;
	copy_bytes_sig(&record->span, &span->context, sizeof(record->span));
	copy_bytes_sig(record->method, span->method, sizeof(record->method));
	copy_bytes_sig(record->path, span->path, sizeof(record->path));
	ring_close_sig(&grip, RECORD_SPAN_BEGIN, sizeof(*record));
}

/* Takes the span off the thread that bears it. Whoever swaps the handle out
 * adds the time: this thread by its own clock, another one by reading the
 * bearer's. */
static void take_off(struct thread *self, span_handle handle)
{
	struct span *span = span_get_sig(handle);
	struct thread *bearer = span ? span->bearer : 0;
	uint64_t expected = handle;

	if (self && atomic_load(&self->span) == handle) {
		scope_switch_app(self, 0);
		return;
	}
	if (bearer && bearer != self &&
	    atomic_compare_exchange_strong(&bearer->span, &expected, 0))
		add_cpu(handle,
			thread_cpu_sig(bearer->tid) - bearer->span_cpu_ns);
}

static void tell_end(struct thread *self, const struct span *last,
		     struct scope_end how)
{
	struct ring_grip grip;
	struct record_span_end *record;
	uint32_t hint = 0;

	record = ring_open_sig(&grip, self ? &self->block_hint : &hint,
			       (uint32_t)SYS0(SYS_gettid), sizeof(*record));
	if (!record)
		return;
	copy_bytes_sig(&record->span, &last->context, sizeof(record->span));
	record->cpu_ns = last->cpu_ns;
	record->http_status = how.http_status;
	record->reason = how.reason;
	ring_close_sig(&grip, RECORD_SPAN_END, sizeof(*record));
}

static void book_if_due(struct thread *self)
{
	if (self &&
	    atomic_load_explicit(&self->booked_window, memory_order_relaxed) !=
		    atomic_load_explicit(&process->window,
					 memory_order_relaxed))
		ledger_book_app(self, false);
}

void scope_end_app(struct thread *self, span_handle handle,
		   struct scope_end how)
{
	struct span last;

	take_off(self, handle);
	if (!span_close_app(handle, &last) || !last.begun)
		return;
	if (last.bearer->tid == last.bearer_tid)
		atomic_fetch_sub(&last.bearer->open_requests, 1);
	tell_end(self, &last, how);
	book_if_due(self);
}
