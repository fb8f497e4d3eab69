/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a sample: who works (span), where (registers and stack), how much
 * (timer periods), into the ring.
 * Runs on: any thread, in the signal handler.
 */
#include "sampler/handler.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include "preload/process.h"
#include "preload/thread.h"
#include "sampler/arch.h"
#include "sampler/ledger.h"
#include "sampler/probe.h"
#include "sampler/ring.h"
#include "sampler/worker.h"

/* struct sigaction of the kernel, x86-64. */
struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* The real-time signals that the C library keeps for itself are 32 and 33
 * (SIGCANCEL, SIGSETXID); search from the far end, which few programs use. */
#define FIRST_SIGNAL 35
#define LAST_SIGNAL 60

/* Bytes below the stack pointer that functions may use (psABI 3.2.2, the red
 * zone): OpenSSL's unwind information reads the CFA from there. */
#define RED_ZONE_BYTES 128u

struct extent {
	uint64_t from;
	size_t bytes;
	uint32_t flags;
};

#define PAGE_BYTES 4096u

/*
 * A stack that nobody announced (a coroutine's, an alternate one, a raw
 * clone's): read page by page as far as the kernel says that it is there, at
 * most to the end of the mapping that it was last seen in. The stack pointer
 * itself may stand at the very end of a mapping.
 */
static struct extent probed_stack_sig(uint64_t sp, uint64_t top)
{
	uint64_t from = (sp - RED_ZONE_BYTES) & ~UINT64_C(7);
	struct extent extent = {from, 0, 0};
	uint64_t end;

	if (!probe_readable_sig(from))
		extent.from = from = sp & ~UINT64_C(7);
	end = from;
	while (end < top && end - from <= SAMPLE_STACK_MAX_BYTES &&
	       probe_readable_sig(end))
		end = (end | (PAGE_BYTES - 1)) + 1;
	if (end > top)
		end = top;
	extent.bytes = end - from;
	return extent;
}

static struct extent cut_sig(struct extent extent)
{
	if (extent.bytes > SAMPLE_STACK_MAX_BYTES) {
		extent.bytes = SAMPLE_STACK_MAX_BYTES;
		extent.flags |= SAMPLE_STACK_CUT;
		count_sig(RING_STACKS_CUT);
	}
	return extent;
}

/* Which part of the stack to copy. */
static struct extent stack_extent_sig(struct thread *thread, uint64_t sp)
{
	struct extent extent;
	uint64_t top = thread->stack_top;
	bool is_within = sp >= thread->stack_low + RED_ZONE_BYTES && sp < top;

	if (!is_within) {
		extent = probed_stack_sig(sp, (sp | (PAGE_BYTES - 1)) + 1);
		extent.flags = SAMPLE_STACK_UNKNOWN;
		if (thread->found)
			thread->lost_stack = sp;
		return extent;
	}
	/* What was found in a list of mappings may have changed since. */
	if (thread->found)
		return cut_sig(probed_stack_sig(sp, top));
	extent.from = (sp - RED_ZONE_BYTES) & ~UINT64_C(7);
	extent.bytes = top - extent.from;
	extent.flags = 0;
	return cut_sig(extent);
}

static void write_sample_sig(struct thread *thread, uint32_t periods,
			     const ucontext_t *context)
{
	struct extent extent =
		stack_extent_sig(thread, stack_pointer_of_sig(context));
	struct ring_grip grip;
	struct record_sample *sample;

	sample = ring_open_sig(&grip, &thread->block_hint, thread->tid,
			       sizeof(*sample) + extent.bytes);
	if (!sample)
		return;
	if (!span_context_sig(thread->span, &sample->span))
		zero_bytes_sig(&sample->span, sizeof(sample->span));
	sample->cpu_ns = periods * agent.period_ns;
	sample->count = periods;
	sample->flags = extent.flags;
	save_registers_sig(context, sample->registers);
	sample->stack_address = extent.from;
	sample->stack_bytes = (uint32_t)extent.bytes;
	copy_bytes_sig(sample->stack, (const void *)(uintptr_t)extent.from,
		       extent.bytes);
	ring_close_sig(&grip, RECORD_SAMPLE, sizeof(*sample) + extent.bytes);
	/* Only what was written counts as shown; the ledger books the rest. */
	ledger_sample_sig(thread, periods);
	count_sig(RING_SAMPLES);
}

/* Overruns as the kernel counts them: further expiries since this signal was
 * queued. */
static uint32_t periods_of_sig(const siginfo_t *info)
{
	uint32_t most = ledger_most_periods_sig();
	uint32_t periods = 1 + (uint32_t)info->si_overrun;

	return periods < most ? periods : most;
}

/* Each word is whole; that the three belong together matters to nobody who
 * changes them while the signal arrives. Written by sigaction's hook, read by
 * the handler. */
static _Atomic(void *) program_handler;
static _Atomic uint64_t program_flags;
static _Atomic uint64_t program_mask;

struct handler_action handler_program_action_sig(void)
{
	struct handler_action action = {
		atomic_load(&program_handler),
		atomic_load(&program_flags),
		atomic_load(&program_mask),
	};

	return action;
}

void handler_set_program_action_sig(struct handler_action action)
{
	atomic_store(&program_mask, action.mask);
	atomic_store(&program_flags, action.flags);
	atomic_store(&program_handler, action.handler);
}

/* The default of a real-time signal is the end of the program. */
static void end_by_default_sig(int number)
{
	struct kernel_sigaction none = {.flags = ARCH_SA_RESTORER,
					.restorer = arch_sigreturn};

	SYS4(SYS_rt_sigaction, number, &none, 0, 8);
	handler_block_sig(0);
	SYS3(SYS_tgkill, SYS0(SYS_getpid), SYS0(SYS_gettid), number);
}

/* A signal that somebody sent. */
static void pass_on_sig(int number, siginfo_t *info, void *context)
{
	struct handler_action action = handler_program_action_sig();

	if (action.handler == (void *)SIG_IGN)
		return;
	if (action.handler == (void *)SIG_DFL) {
		end_by_default_sig(number);
		return;
	}
	if (action.flags & SA_RESETHAND)
		atomic_store(&program_handler, (void *)SIG_DFL);
	if (action.flags & SA_SIGINFO)
		((void (*)(int, siginfo_t *, void *))action.handler)(
			number, info, context);
	else
		((void (*)(int))action.handler)(number);
}

static void handle_sig(int number, siginfo_t *info, void *context)
{
	struct thread *thread = 0;

	if (info->si_code == SI_TIMER)
		thread = thread_from_cookie_sig(info->si_value.sival_ptr);
	if (thread) {
		write_sample_sig(thread, periods_of_sig(info), context);
		atomic_fetch_add_explicit(&process->activity, 1,
					  memory_order_relaxed);
		worker_wanted_sig();
	} else if (!thread_is_cookie_sig(info->si_value.sival_ptr) ||
		   info->si_code != SI_TIMER) {
		pass_on_sig(number, info, context);
	}
}

static bool is_free(int number)
{
	struct kernel_sigaction now;

	return SYS4(SYS_rt_sigaction, number, 0, &now, 8) == 0 && !now.handler;
}

/*
 * SA_RESTART and a CPU clock: a sleeping thread is not interrupted. SA_ONSTACK:
 * Go's threads demand it, and it is harmless elsewhere. Every signal waits
 * while a sample is taken, so that no handler of the program's runs inside
 * ours.
 */
int handler_install(void)
{
	struct kernel_sigaction ours = {
		.handler = handle_sig,
		.flags =
			SA_SIGINFO | SA_RESTART | SA_ONSTACK | ARCH_SA_RESTORER,
		.restorer = arch_sigreturn,
		.mask = UINT64_MAX,
	};

	for (int number = LAST_SIGNAL; number >= FIRST_SIGNAL; number--) {
		if (!is_free(number))
			continue;
		if (SYS4(SYS_rt_sigaction, number, &ours, 0, 8) != 0)
			continue;
		agent.signal_number = number;
		return 0;
	}
	return -EBUSY;
}

int handler_block_sig(int block)
{
	uint64_t bit = UINT64_C(1) << (agent.signal_number - 1);
	uint64_t before = 0;

	SYS4(SYS_rt_sigprocmask, block ? SIG_BLOCK : SIG_UNBLOCK, &bit, &before,
	     8);
	return (before & bit) != 0;
}
