/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of thread records.
 * Runs on: the program's threads; *_sig anywhere.
 */
#include "preload/thread.h"

#include <errno.h>

#include "preload/process.h"
#include "sampler/arch.h"

static struct thread *pool;

/*
 * First word of the pool's page: how many records were ever in use, so that
 * walks stay short. It is wiped by fork together with the records.
 */
struct pool_head {
	_Atomic uint32_t used;
	_Atomic uint32_t search; /* hint: no free record below it */
};
static struct pool_head *head;

/* Initial-exec: reserved at program start, reached without a call. */
static __thread struct thread *self __attribute__((tls_model("initial-exec")));

int thread_pool_map(void)
{
	head = process_memory(4096, true);
	pool = process_memory(sizeof(struct thread) * THREAD_POOL_SIZE, true);
	return head && pool ? 0 : -ENOMEM;
}

static void raise_used(uint32_t count)
{
	uint32_t used = atomic_load(&head->used);

	while (used < count &&
	       !atomic_compare_exchange_weak(&head->used, &used, count))
		;
}

static bool claim(struct thread *thread)
{
	uint32_t expected = THREAD_FREE;

	if (atomic_load_explicit(&thread->state, memory_order_relaxed) !=
	    THREAD_FREE)
		return false;
	return atomic_compare_exchange_strong_explicit(
		&thread->state, &expected, THREAD_CLAIMED, memory_order_acquire,
		memory_order_relaxed);
}

static struct thread *claim_from(uint32_t start)
{
	for (uint32_t i = start; i < THREAD_POOL_SIZE; i++) {
		struct thread *thread = &pool[i];

		if (!claim(thread))
			continue;
		atomic_store_explicit(&head->search, i + 1,
				      memory_order_relaxed);
		raise_used(i + 1);
		zero_bytes_sig((char *)thread + sizeof(thread->state),
			       sizeof(*thread) - sizeof(thread->state));
		thread->timer = -1;
		return thread;
	}
	return 0;
}

/* The hint is only a hint: two threads may move it past a record that was just
 * given back, so a search that finds nothing begins again at the start. */
struct thread *thread_claim_sig(void)
{
	uint32_t start =
		atomic_load_explicit(&head->search, memory_order_relaxed);
	struct thread *thread = claim_from(start);

	return thread || start == 0 ? thread : claim_from(0);
}

void thread_release_sig(struct thread *thread)
{
	uint32_t index = (uint32_t)(thread - pool);
	uint32_t search = atomic_load(&head->search);

	atomic_store_explicit(&thread->tid, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->state, THREAD_FREE,
			      memory_order_release);
	while (search > index &&
	       !atomic_compare_exchange_weak(&head->search, &search, index))
		;
}

bool thread_is_cookie_sig(const void *cookie)
{
	uintptr_t offset = (uintptr_t)cookie - (uintptr_t)pool;

	return pool && offset % sizeof(struct thread) == 0 &&
	       offset / sizeof(struct thread) < THREAD_POOL_SIZE;
}

struct thread *thread_from_cookie_sig(const void *cookie)
{
	struct thread *thread;

	if (!thread_is_cookie_sig(cookie))
		return 0;
	thread = (struct thread *)(uintptr_t)cookie;
	if (atomic_load_explicit(&thread->state, memory_order_acquire) !=
	    THREAD_LIVE)
		return 0;
	return thread;
}

void thread_each_sig(void (*visit)(struct thread *, void *), void *context)
{
	uint32_t used = atomic_load_explicit(&head->used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++) {
		if (atomic_load_explicit(&pool[i].state,
					 memory_order_acquire) != THREAD_FREE)
			visit(&pool[i], context);
	}
}

struct thread *thread_self_app(void)
{
	return self;
}

void thread_set_self_app(struct thread *thread)
{
	self = thread;
}
