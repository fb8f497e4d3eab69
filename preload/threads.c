/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_create (glibc 2.2.5 and later) and thrd_create (2.28, which does not
 * pass through it): gives each new thread its record.
 * Runs on: the program's threads.
 */
#include <pthread.h>
#include <threads.h>

#include "hooks/hook.h"
#include "preload/lifecycle.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/thread.h"

HOOK(pthread_create);
HOOK(thrd_create);

/* Above the first frame of ours lie those of glibc's start_thread and clone3,
 * then thread-local data, which is none of our business. */
#define FRAMES_ABOVE_BYTES 2048u

/* Of the stack's size, what the guard page, the thread-local data and glibc's
 * own descriptor may take from it. */
static uint64_t usable(uint64_t stack_bytes)
{
	return stack_bytes > (128u << 10) ? stack_bytes - (64u << 10)
					  : stack_bytes / 2;
}

/* Begins the calling thread under the record that its creator claimed. */
static void begin(struct thread *thread)
{
	uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t descriptor = (uint64_t)pthread_self();
	uint64_t top = frame + FRAMES_ABOVE_BYTES;

	if (descriptor > frame && descriptor < top)
		top = descriptor;
	thread_begin_app(thread, frame - thread->stack_low, top);
	atomic_fetch_add(&process->threads_begun, 1);
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	void *(*start)(void *) = thread->start;
	void *start_argument = thread->argument;

	begin(thread);
	return start(start_argument);
}

static int thread_main_c11(void *argument)
{
	struct thread *thread = argument;
	thrd_start_t start = thread->start_c11;
	void *start_argument = thread->argument;

	begin(thread);
	return start(start_argument);
}

/* A record for a thread about to be made, or NULL: the thread is made without
 * one. stack_low holds the stack's extent until the thread is there to make a
 * bound of it. */
static struct thread *claim(const pthread_attr_t *attributes, void *argument)
{
	struct thread *self = thread_self_app();
	struct thread *thread = 0;

	if (agent.active && process->pid)
		thread = thread_claim_sig();
	if (!thread)
		return 0;
	thread->argument = argument;
	thread->blocks_signal = self && self->blocks_signal;
	thread->stack_low = usable(real_stack_size(attributes));
	atomic_fetch_add(&process->threads_created, 1);
	return thread;
}

static void give_back(struct thread *thread)
{
	atomic_fetch_add(&process->threads_begun, 1);
	thread_release_sig(thread);
}

EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument)
{
	struct thread *thread = claim(attributes, argument);
	int error;

	if (!thread)
		return REAL(pthread_create)(id, attributes, start, argument);
	thread->start = start;
	error = REAL(pthread_create)(id, attributes, thread_main, thread);
	if (error)
		give_back(thread);
	return error;
}

EXPORT int thrd_create(thrd_t *id, thrd_start_t start, void *argument)
{
	struct thread *thread = claim(0, argument);
	int result;

	if (!thread)
		return REAL(thrd_create)(id, start, argument);
	thread->start_c11 = start;
	result = REAL(thrd_create)(id, thread_main_c11, thread);
	if (result != thrd_success)
		give_back(thread);
	return result;
}
