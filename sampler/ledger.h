/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: what samples say against what the thread's clock says.
 *
 * A sample stands for whole timer periods, the clock tells the truth. Over a
 * long life the two agree; a thread that lives less than a period is seen once
 * with a whole period or not at all. The ledger books the difference, at the
 * thread's end and once a window, as RECORD_UNSAMPLED; what samples claimed
 * beyond the clock becomes a debt of the process and is taken from its next
 * bookings. So at any time: sampled + unsampled - debt = CPU time of the
 * threads, but for less than a period each.
 */
#ifndef SAMPLER_LEDGER_H
#define SAMPLER_LEDGER_H

#include "preload/thread.h"

/* The time that one sample may stand for. Anything beyond (a thread that had
 * the signal blocked) is nobody's stack and is left to the ledger. */
uint32_t ledger_most_periods_sig(void);

/* Adds a sample of so many periods. In the handler. */
void ledger_sample_sig(struct thread *thread, uint32_t periods);

/* The thread's work changes from span `from` to another, at thread clock
 * `cpu_ns`: remembers which span is owed the most. On the thread itself. */
void ledger_switch_app(struct thread *thread, span_handle from, int64_t cpu_ns);

/* Books what is owed, under the span it is owed to. On the thread itself, or
 * when it cannot run any more. `last`: it will not be sampled again; before
 * that, what a live timer may still show is left to it. */
void ledger_book_app(struct thread *thread, bool last);

/* Books what the thread is owed under no span. From any thread. */
void ledger_book_other_sig(struct thread *thread);

/* The same for the last time: the process ends. */
void ledger_close_other_sig(struct thread *thread);

/* What this process owes is left to the others of the tree: it ends. */
void ledger_leave_debt_sig(void);

#endif
