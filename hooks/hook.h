/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a function of a library is interposed.
 *
 *	HOOK(recv);
 *
 *	EXPORT ssize_t recv(int fd, void *buffer, size_t bytes, int flags)
 *	{
 *		ssize_t got = REAL(recv)(fd, buffer, bytes, flags);
 *		...
 *		return got;
 *	}
 *
 * The shim calls the real function exactly once and hands back its result and
 * errno: nothing of ours changes errno, since we make raw system calls only. A
 * thread cancelled inside the real function leaves nothing behind, since a shim
 * holds nothing while it is there.
 *
 * The real functions are looked up by the constructor; a call that comes
 * earlier (from another library's constructor) looks up its own.
 */
#ifndef HOOKS_HOOK_H
#define HOOKS_HOOK_H

#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

struct hook {
	const char *name;
	_Atomic(void *) real;
};

#define HOOK(function)                                     \
	static struct hook hook_##function __attribute__(( \
		section("spanprof_hooks"), used)) = {.name = #function}

#define REAL(function) ((__typeof__(&function))hook_real(&hook_##function))

/* Looks the real function up. Where there is none, the result is a function
 * that fails with ENOSYS. */
void *hook_resolve(struct hook *hook);

/* Looks all of them up. Called by the constructor. */
void hook_resolve_all(void);

static inline void *hook_real(struct hook *hook)
{
	void *real = atomic_load_explicit(&hook->real, memory_order_relaxed);

	return real ? real : hook_resolve(hook);
}

#endif
