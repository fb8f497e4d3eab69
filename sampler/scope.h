/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans on threads: begins and ends a span, tells the exporter, and keeps the
 * exact CPU time of the span and the thread's ledger.
 */
#ifndef SAMPLER_SCOPE_H
#define SAMPLER_SCOPE_H

#include "preload/span.h"
#include "preload/thread.h"

/* Makes `to` (0: none) the span whose work this thread does. Costs a reading of
 * the thread's clock, about 0.4 us. */
void scope_switch_app(struct thread *self, span_handle to);

/* Tells the exporter that the span, whose context is filled in, begins now, and
 * counts it as open on this thread. Does not make it current. */
void scope_begin_app(struct thread *self, span_handle handle);

struct scope_end {
	enum span_end_reason reason;
	uint32_t http_status;
};

/* Ends the span, wherever it is current, and tells the exporter. A span that
 * has ended before is left alone; one that never began ends in silence. `self`
 * is the calling thread, or NULL when it has no record. */
void scope_end_app(struct thread *self, span_handle handle,
		   struct scope_end how);

#endif
