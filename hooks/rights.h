/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent does around calls that change what a thread may do.
 *
 * The sampler thread is none of the threads that the C library knows: it would
 * keep the rights that the program gives up, and some calls refuse to work
 * while it is there. So it is gone during such a call, and comes back with the
 * next sample, under the new rights.
 *
 * After a seccomp filter of the program's own it does not come back: it makes
 * system calls that the filter need not expect. Whether the program is sampled
 * at all from then on is the filter's decision (hooks/seccomp.h).
 */
#ifndef HOOKS_RIGHTS_H
#define HOOKS_RIGHTS_H

#include <stdbool.h>

/* Ends the sampler thread and keeps it away. False where there is nothing to
 * keep away. */
bool rights_hold_app(void);

/* Takes what rights_hold_app returned. */
void rights_release_app(bool held);

/* After unshare(2) or setns(2): children of a process that has left its pid
 * namespace are numbered anew, and the exporter could not tell them apart.
 * They stand aside. `flags` are those of the call; 0 stands for any. */
void rights_left_namespaces_app(unsigned long flags);

struct rights_sandbox {
	bool held;
	bool aside; /* sampling has been stopped */
};

/*
 * Before the calling thread enters seccomp's `mode`, SECCOMP_MODE_STRICT or
 * SECCOMP_MODE_FILTER with a struct sock_fprog of the program's, which may be
 * any pointer. Stops all sampling when the calls that sampling needs would not
 * be allowed any more.
 */
struct rights_sandbox rights_enter_sandbox_app(unsigned long mode,
					       const void *filter);

/* After it. Sampling goes on when the call was refused. */
void rights_entered_sandbox_app(struct rights_sandbox sandbox, bool refused);

#endif
