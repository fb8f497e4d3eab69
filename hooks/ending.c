/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands between the kernel and the program's handlers of three signals.
 * Runs on: the program's threads, in handlers too.
 */
#include "hooks/ending.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/ring.h"

static const int numbers[] = {SIGTERM, SIGINT, SIGQUIT};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* The program's. Written by its threads, read in handlers. Children of fork
 * inherit them with the dispositions. */
static _Atomic(void *) handlers[NUMBERS];

static size_t index_of_sig(int number)
{
	size_t i = 0;

	while (i < NUMBERS && numbers[i] != number)
		i++;
	return i;
}

/* The kernel hands over three arguments whatever the program asked for, and the
 * last call is a jump: the program's handler may throw, jump or not return. */
static void told_to_end_sig(int number, siginfo_t *info, void *context)
{
	void *handler = atomic_load(&handlers[index_of_sig(number)]);

	atomic_store(&agent.ring->header.told_to_end_ns, clock_monotonic_sig());
	((void (*)(int, siginfo_t *, void *))handler)(number, info, context);
}

/* A child of vfork has dispositions of its own, but our memory. */
static bool is_process_of_ours(void)
{
	return agent.active && process->pid == (uint32_t)SYS0(SYS_getpid);
}

/* SIG_DFL, SIG_IGN, SIG_HOLD and SIG_ERR. */
static bool is_function(const void *handler)
{
	uintptr_t value = (uintptr_t)handler;

	return value > (uintptr_t)SIG_HOLD && value != (uintptr_t)SIG_ERR;
}

void *ending_set_app(int number, void *handler, void **before)
{
	size_t i = index_of_sig(number);

	*before = i < NUMBERS ? atomic_load(&handlers[i]) : 0;
	if (i == NUMBERS || !is_function(handler) || !is_process_of_ours())
		return handler;
	atomic_store(&handlers[i], handler);
	return (void *)told_to_end_sig;
}

void *ending_show_app(void *shown, void *before)
{
	return shown == (void *)told_to_end_sig ? before : shown;
}
