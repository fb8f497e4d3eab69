/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program does about signals (sigaction, signal and its relatives of
 * System V and BSD, glibc 2.2.5 and later, which call sigaction inside libc).
 * Some set every signal to its default, in a child between fork and exec
 * (libuv) or as daemons; our timers would end them. So for the one signal that
 * samples the call is kept from the kernel, and the program reads back what it
 * set. Of the signals that tell a program to end we learn (hooks/ending.h).
 * Runs on: the program's threads.
 */
/* Programs still call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/ending.h"
#include "hooks/hook.h"
#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/handler.h"

sighandler_t __sysv_signal(int number, sighandler_t handler);
sighandler_t bsd_signal(int number, sighandler_t handler);

HOOK(sigaction);
HOOK(signal);
HOOK(__sysv_signal);
HOOK(sysv_signal);
HOOK(bsd_signal);
HOOK(ssignal);
HOOK(sigset);
HOOK(sigignore);

static bool is_ours(int number)
{
	return agent.active && number == agent.signal_number;
}

/* A child of vfork has dispositions of its own, but our memory. */
static void set(struct handler_action action)
{
	if (process->pid == (uint32_t)SYS0(SYS_getpid))
		handler_set_program_action_sig(action);
}

static void show(struct sigaction *to, struct handler_action from)
{
	zero_bytes_sig(to, sizeof(*to));
	to->sa_handler = (void (*)(int))from.handler;
	to->sa_flags = (int)from.flags;
	copy_bytes_sig(&to->sa_mask, &from.mask, sizeof(from.mask));
}

static struct handler_action take(const struct sigaction *from)
{
	struct handler_action action = {
		.handler = (void *)from->sa_handler,
		.flags = (uint64_t)(unsigned)from->sa_flags,
	};

	copy_bytes_sig(&action.mask, &from->sa_mask, sizeof(action.mask));
	return action;
}

/* `old` may be `action`. A pointer that can't be read is libc's to read, too.
 */
static int set_other(int number, const struct sigaction *action,
		     struct sigaction *old)
{
	struct sigaction set = {.sa_flags = 0};
	void *before;
	void *handler;
	int result;

	if (action)
		set = *action;
	handler = ending_set_app(number, (void *)set.sa_handler, &before);
	set.sa_handler = (void (*)(int))handler;
	result = REAL(sigaction)(number, action ? &set : 0, old);
	if (old && result == 0)
		old->sa_handler = (void (*)(int))ending_show_app(
			(void *)old->sa_handler, before);
	return result;
}

EXPORT int sigaction(int number, const struct sigaction *action,
		     struct sigaction *old)
{
	struct handler_action before;

	if (!is_ours(number))
		return set_other(number, action, old);
	before = handler_program_action_sig();
	if (action)
		set(take(action));
	if (old)
		show(old, before);
	return 0;
}

/* Ours, by one of the simple functions; flags as each of them means it. */
static sighandler_t set_simply(sighandler_t handler, int flags)
{
	struct handler_action action = {(void *)handler,
					(uint64_t)(unsigned)flags, 0};
	struct handler_action before = handler_program_action_sig();

	set(action);
	return (sighandler_t)before.handler;
}

/* Another one: `real` is the function that was called. */
static sighandler_t set_other_simply(sighandler_t (*real)(int, sighandler_t),
				     int number, sighandler_t handler)
{
	void *before;
	void *set = ending_set_app(number, (void *)handler, &before);
	sighandler_t shown = real(number, (sighandler_t)set);

	return (sighandler_t)ending_show_app((void *)shown, before);
}

/* A shim of this kind. */
#define SIMPLE(name, flags)                                           \
	EXPORT sighandler_t name(int number, sighandler_t handler)    \
	{                                                             \
		if (is_ours(number))                                  \
			return set_simply(handler, flags);            \
		return set_other_simply(REAL(name), number, handler); \
	}

SIMPLE(signal, SA_RESTART)
SIMPLE(bsd_signal, SA_RESTART)
SIMPLE(ssignal, SA_RESTART)
SIMPLE(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIMPLE(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIMPLE(sigset, 0)

EXPORT int sigignore(int number)
{
	if (!is_ours(number))
		return REAL(sigignore)(number);
	set_simply(SIG_IGN, 0);
	return 0;
}
