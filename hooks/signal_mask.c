/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal masks of threads (pthread_sigmask and sigprocmask, glibc 2.2.5 and
 * later). Servers block every signal in their worker threads (Apache, by apr);
 * such a thread could not be sampled. So the signal that samples is left out of
 * what is really blocked, and the program is told the mask that it set: it
 * can't see the difference, since nobody but our timer sends that signal.
 * Runs on: the program's threads.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/hook.h"
#include "preload/process.h"
#include "preload/thread.h"

HOOK(pthread_sigmask);
HOOK(sigprocmask);

typedef int set_mask(int how, const sigset_t *set, sigset_t *old);

/* Signals 1 to 64 are the bits of the first word. */
static uint64_t *word_of(sigset_t *set)
{
	return (uint64_t *)(void *)set;
}

static uint64_t our_bit(void)
{
	return UINT64_C(1) << (agent.signal_number - 1);
}

/* What the program believes to be blocked afterwards. */
static bool believes(bool before, int how, bool named)
{
	if (how == SIG_BLOCK)
		return before || named;
	if (how == SIG_UNBLOCK)
		return before && !named;
	return named;
}

static int change(set_mask *real, int how, const sigset_t *set, sigset_t *old)
{
	struct thread *self = thread_self_app();
	bool before;
	bool named;
	sigset_t kept;
	int result;

	if (!agent.active || !self)
		return real(how, set, old);
	before = self->blocks_signal;
	if (set) {
		kept = *set;
		named = *word_of(&kept) & our_bit();
		if (how != SIG_UNBLOCK)
			*word_of(&kept) &= ~our_bit();
		result = real(how, &kept, old);
		if (result == 0)
			self->blocks_signal = believes(before, how, named);
	} else {
		result = real(how, 0, old);
	}
	if (result == 0 && old && before)
		*word_of(old) |= our_bit();
	return result;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change(REAL(pthread_sigmask), how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return change(REAL(sigprocmask), how, set, old);
}
