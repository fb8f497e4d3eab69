/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that change what a thread may do, by their functions (glibc
 * 2.2.5 and later; setns 2.14) and by their numbers, for which most of them
 * have been called: syscall(2). See hooks/rights.h.
 * Runs on: the program's threads.
 *
 * In their headers prctl and syscall are variadic. Here they take what the
 * kernel may take, as the C library's own do: what the program didn't pass is
 * passed on as it lies there.
 */
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "hooks/hook.h"
#include "hooks/rights.h"

#ifndef SYS_landlock_restrict_self /* Linux 5.13 */
#define SYS_landlock_restrict_self 446
#endif

/* Their headers declare what the names below must not be. */
EXPORT long syscall(long number, long a, long b, long c, long d, long e,
		    long f);
EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d);
EXPORT int capset(void *header, const void *data);
EXPORT int setns(int fd, int type);
EXPORT int unshare(int flags);

HOOK(syscall);
HOOK(prctl);
HOOK(capset);
HOOK(setns);
HOOK(unshare);

struct call {
	long number;
	long a;
	long b;
	long c;
	long d;
	long e;
	long f;
};

static long make(const struct call *call)
{
	return REAL(syscall)(call->number, call->a, call->b, call->c, call->d,
			     call->e, call->f);
}

/* ---- seccomp ---- */

/* Its mode, and where the filter stands; 0 for anything else. */
static unsigned long sandbox_of(const struct call *call, const void **filter)
{
	if (call->number == SYS_prctl && call->a == PR_SET_SECCOMP) {
		*filter = (const void *)call->c;
		return (unsigned long)call->b;
	}
	if (call->number != SYS_seccomp)
		return SECCOMP_MODE_DISABLED;
	*filter = (const void *)call->c;
	if (call->a == SECCOMP_SET_MODE_STRICT)
		return SECCOMP_MODE_STRICT;
	return call->a == SECCOMP_SET_MODE_FILTER ? SECCOMP_MODE_FILTER
						  : SECCOMP_MODE_DISABLED;
}

static long enter_sandbox(const struct call *call, unsigned long mode,
			  const void *filter)
{
	struct rights_sandbox sandbox = rights_enter_sandbox_app(mode, filter);
	long result = make(call);

	/* With TSYNC it may be the number of a thread that stood against it. */
	rights_entered_sandbox_app(sandbox, result != 0);
	return result;
}

/* ---- the others ---- */

static bool option_changes_rights(long option)
{
	switch (option) {
	case PR_SET_KEEPCAPS:
	case PR_SET_SECCOMP:
	case PR_CAPBSET_DROP:
	case PR_SET_SECUREBITS:
	case PR_SET_NO_NEW_PRIVS:
	case PR_CAP_AMBIENT:
		return true;
	default:
		return false;
	}
}

static bool changes_rights(long number, long option)
{
	switch (number) {
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_capset:
	case SYS_unshare:
	case SYS_setns:
	case SYS_seccomp:
	case SYS_landlock_restrict_self:
		return true;
	case SYS_prctl:
		return option_changes_rights(option);
	default:
		return false;
	}
}

static long give_way(const struct call *call)
{
	const void *filter = 0;
	unsigned long mode = sandbox_of(call, &filter);
	bool held;
	long result;

	if (mode != SECCOMP_MODE_DISABLED)
		return enter_sandbox(call, mode, filter);
	held = rights_hold_app();
	result = make(call);
	if (result == 0 && call->number == SYS_unshare)
		rights_left_namespaces_app((unsigned long)call->a);
	if (result == 0 && call->number == SYS_setns)
		rights_left_namespaces_app((unsigned long)call->b);
	rights_release_app(held);
	return result;
}

/* ---- shims ---- */

/* NOLINTNEXTLINE(readability-function-size): as many as the kernel's. */
EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	struct call call = {number, a, b, c, d, e, f};

	if (!changes_rights(number, a))
		return REAL(syscall)(number, a, b, c, d, e, f);
	return give_way(&call);
}

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d)
{
	struct call call = {SYS_prctl, option,  (long)a, (long)b,
			    (long)c,   (long)d, 0};

	if (!option_changes_rights(option))
		return REAL(prctl)(option, a, b, c, d);
	return (int)give_way(&call);
}

EXPORT int capset(void *header, const void *data)
{
	struct call call = {SYS_capset, (long)header, (long)data, 0, 0, 0, 0};

	return (int)give_way(&call);
}

EXPORT int setns(int fd, int type)
{
	struct call call = {SYS_setns, fd, type, 0, 0, 0, 0};

	return (int)give_way(&call);
}

EXPORT int unshare(int flags)
{
	struct call call = {SYS_unshare, flags, 0, 0, 0, 0, 0};

	return (int)give_way(&call);
}
