/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program does about signals (sigaction and signal, glibc 2.2.5 and
 * later). Some set every signal to its default, in a child between fork and
 * exec (libuv) or as daemons; our timers would end them. So for the one signal
 * that samples the call is kept from the kernel, and the program reads back
 * what it set.
 * Runs on: the program's threads.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/hook.h"
#include "preload/process.h"
#include "sampler/arch.h"
#include "sampler/handler.h"

HOOK(sigaction);
HOOK(signal);

static bool is_ours(int number)
{
	return agent.active && number == agent.signal_number;
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

EXPORT int sigaction(int number, const struct sigaction *action,
		     struct sigaction *old)
{
	struct handler_action before;

	if (!is_ours(number))
		return REAL(sigaction)(number, action, old);
	before = handler_program_action_sig();
	if (action)
		handler_set_program_action_sig(take(action));
	if (old)
		show(old, before);
	return 0;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	struct handler_action action = {(void *)handler, SA_RESTART, 0};
	struct handler_action before;

	if (!is_ours(number))
		return REAL(signal)(number, handler);
	before = handler_program_action_sig();
	handler_set_program_action_sig(action);
	return (sighandler_t)before.handler;
}
