/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps through a function by the processor's trap flag.
 * Runs on: the test program's main thread, also in a signal handler.
 */
#include "tests/lib/steps.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "tests/lib/unit.h"

#define TRAP_FLAG 0x100

static volatile unsigned left;
static volatile int was_called;
static void (*volatile come_between)(void);

/* The kernel has cleared the flag for the handler and sets it again behind it,
 * as the saved flags say. */
static void trapped(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	if (left--)
		return;
	interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	was_called = 1;
	come_between();
}

/* The words below the stack pointer may be in use (the red zone). */
static inline __attribute__((always_inline)) void set_trap(void)
{
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

static inline __attribute__((always_inline)) void clear_trap(void)
{
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
}

static void nothing(void)
{
}

/* How many steps are left of `n` when run() is over. */
static unsigned step_through(unsigned n, void (*run)(void),
			     void (*between)(void))
{
	struct sigaction action = {.sa_sigaction = trapped,
				   .sa_flags = SA_SIGINFO};
	unsigned rest;

	CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
	left = n;
	was_called = 0;
	come_between = between;
	set_trap();
	run();
	rest = left;
	left = UINT_MAX;
	clear_trap();
	return rest;
}

bool steps_interrupt(unsigned n, void (*run)(void), void (*between)(void))
{
	step_through(n, run, between);
	return was_called != 0;
}

unsigned steps_count(void (*run)(void))
{
	return UINT_MAX - step_through(UINT_MAX, run, nothing);
}
