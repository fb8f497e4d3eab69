/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions behind the hooks.
 * Runs on: the program's threads.
 */
#include "hooks/hook.h"

#include <errno.h>

#include "preload/real.h"

/* Bounds of the section, made by the linker. */
extern struct hook __start_spanprof_hooks[]
	__attribute__((visibility("hidden")));
extern struct hook __stop_spanprof_hooks[]
	__attribute__((visibility("hidden")));

/* For a program that found our definition of a function which its C library
 * does not have. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *hook_resolve(struct hook *hook)
{
	void *real = real_next(hook->name);

	if (!real)
		real = (void *)missing;
	atomic_store_explicit(&hook->real, real, memory_order_relaxed);
	return real;
}

void hook_resolve_all(void)
{
	struct hook *hook;

	for (hook = __start_spanprof_hooks; hook < __stop_spanprof_hooks;
	     hook++)
		hook_resolve(hook);
}
