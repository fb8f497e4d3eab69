/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls by which a process changes its user and groups (glibc 2.2.5 and
 * later). The C library applies them to each thread it knows; the sampler
 * thread is none of these (hooks/rights.h).
 * Runs on: the program's threads.
 */
#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "hooks/hook.h"
#include "hooks/rights.h"

HOOK(setuid);
HOOK(setgid);
HOOK(seteuid);
HOOK(setegid);
HOOK(setreuid);
HOOK(setregid);
HOOK(setresuid);
HOOK(setresgid);
HOOK(setgroups);
HOOK(initgroups);

/* A shim of this kind: the parameters with their types, and as arguments. */
#define ALONE(name, parameters, arguments)         \
	EXPORT int name parameters                 \
	{                                          \
		bool held = rights_hold_app();     \
		int result = REAL(name) arguments; \
                                                   \
		rights_release_app(held);          \
		return result;                     \
	}

ALONE(setuid, (uid_t uid), (uid))
ALONE(setgid, (gid_t gid), (gid))
ALONE(seteuid, (uid_t effective), (effective))
ALONE(setegid, (gid_t effective), (effective))
ALONE(setreuid, (uid_t real, uid_t effective), (real, effective))
ALONE(setregid, (gid_t real, gid_t effective), (real, effective))
ALONE(setresuid, (uid_t real, uid_t effective, uid_t saved),
      (real, effective, saved))
ALONE(setresgid, (gid_t real, gid_t effective, gid_t saved),
      (real, effective, saved))
ALONE(setgroups, (size_t count, const gid_t *groups), (count, groups))
ALONE(initgroups, (const char *user, gid_t group), (user, group))
