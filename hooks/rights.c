/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives way to calls that change what a thread may do.
 * Runs on: the program's threads.
 */
#include "hooks/rights.h"

#include <linux/seccomp.h>
#include <sched.h>

#include "hooks/seccomp.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "sampler/timer.h"
#include "sampler/worker.h"

bool rights_hold_app(void)
{
	if (!agent.active || !process->pid)
		return false;
	worker_hold_app();
	return true;
}

void rights_release_app(bool held)
{
	if (held)
		worker_release_app();
}

void rights_left_namespaces_app(unsigned long flags)
{
	if (flags == 0 || flags & CLONE_NEWPID)
		agent.children_stand_aside = true;
}

static void disarm(struct thread *thread, void *unused)
{
	(void)unused;
	if (thread->state == THREAD_LIVE)
		timer_disarm_sig(thread);
}

static void arm(struct thread *thread, void *unused)
{
	(void)unused;
	if (thread->state == THREAD_LIVE && thread->timer < 0)
		timer_arm_sig(thread);
}

struct rights_sandbox rights_enter_sandbox_app(unsigned long mode,
					       const void *filter)
{
	struct rights_sandbox sandbox = {rights_hold_app(), false};

	if (!sandbox.held ||
	    (mode == SECCOMP_MODE_FILTER && seccomp_lets_us_sample_app(filter)))
		return sandbox;
	sandbox.aside = true;
	agent.active = false;
	thread_each_sig(disarm, 0);
	return sandbox;
}

void rights_entered_sandbox_app(struct rights_sandbox sandbox, bool refused)
{
	if (!sandbox.held)
		return;
	if (refused && sandbox.aside) {
		thread_each_sig(arm, 0);
		agent.active = true;
	}
	if (!refused)
		agent.sampler_thread_unwelcome = true;
	if (!refused && sandbox.aside)
		count_sig(RING_SANDBOXED);
	worker_release_app();
}
