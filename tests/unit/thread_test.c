/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of thread records: claims, cookies, walks, and threads that race.
 * Runs on: the test program's threads.
 */
#include "preload/thread.h"

#include <stdlib.h>

#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/steps.h"
#include "tests/lib/unit.h"

static struct thread *claimed[THREAD_POOL_SIZE];

static void claim_all(void)
{
	for (size_t i = 0; i < THREAD_POOL_SIZE; i++) {
		claimed[i] = thread_claim_sig();
		CHECK(claimed[i] != NULL);
	}
}

static struct thread *claim_live(void)
{
	struct thread *thread = thread_claim_sig();

	CHECK(thread != NULL);
	atomic_store(&thread->state, THREAD_LIVE);
	return thread;
}

TEST(a_claimed_record_is_empty_and_has_no_timer)
{
	struct thread *thread;

	agent_begin();
	thread = thread_claim_sig();
	CHECK(thread != NULL);
	CHECK_EQ(thread->state, THREAD_CLAIMED);
	CHECK_EQ(thread->timer, -1);
	CHECK_EQ(thread->tid, 0);
	CHECK_EQ(thread->span, 0);
	CHECK_EQ(thread->accounted_ns, 0);
}

TEST(a_record_that_was_given_back_is_claimed_again_and_empty)
{
	struct thread *first;
	struct thread *second;

	agent_begin();
	first = thread_claim_sig();
	second = thread_claim_sig();
	CHECK(first != second);
	first->tid = 7;
	first->timer = 3;
	first->accounted_ns = 99;
	first->owed_ns = 5;
	thread_release_sig(first);
	CHECK_EQ(first->state, THREAD_FREE);
	CHECK_EQ(first->tid, 0);
	CHECK(thread_claim_sig() == first);
	CHECK_EQ(first->timer, -1);
	CHECK_EQ(first->accounted_ns, 0);
	CHECK_EQ(first->owed_ns, 0);
}

static int by_address(const void *left, const void *right)
{
	const struct thread *const *a = left;
	const struct thread *const *b = right;

	return *a < *b ? -1 : *a > *b;
}

TEST(a_full_pool_refuses_until_one_is_given_back)
{
	struct thread *spare;

	agent_begin();
	claim_all();
	CHECK(!thread_claim_sig());
	spare = claimed[12345];
	thread_release_sig(spare);
	CHECK(thread_claim_sig() == spare);
	CHECK(!thread_claim_sig());
	qsort(claimed, THREAD_POOL_SIZE, sizeof(claimed[0]), by_address);
	for (size_t i = 1; i < THREAD_POOL_SIZE; i++)
		CHECK(claimed[i] != claimed[i - 1]);
}

TEST(a_cookie_is_believed_while_its_thread_is_live)
{
	struct thread *thread;

	agent_begin();
	thread = thread_claim_sig();
	CHECK(!thread_from_cookie_sig(thread));
	atomic_store(&thread->state, THREAD_LIVE);
	CHECK(thread_from_cookie_sig(thread) == thread);
	atomic_store(&thread->state, THREAD_CLAIMED);
	CHECK(!thread_from_cookie_sig(thread));
	thread_release_sig(thread);
	CHECK(!thread_from_cookie_sig(thread));
}

static const void *address(uintptr_t number)
{
	return (const void *)number;
}

TEST(any_other_pointer_is_no_cookie)
{
	uintptr_t first;
	uintptr_t behind;
	int on_stack = 0;

	agent_begin();
	first = (uintptr_t)claim_live();
	behind = first + sizeof(struct thread) * THREAD_POOL_SIZE;
	CHECK(!thread_from_cookie_sig(NULL));
	CHECK(!thread_from_cookie_sig(address(UINTPTR_MAX)));
	CHECK(!thread_from_cookie_sig(&on_stack));
	for (uintptr_t i = 1; i < sizeof(struct thread); i++) {
		CHECK(!thread_from_cookie_sig(address(first + i)));
		CHECK(!thread_from_cookie_sig(address(first - i)));
	}
	/* Far away, but at a whole number of records. */
	CHECK(!thread_from_cookie_sig(address(behind)));
	CHECK(!thread_from_cookie_sig(address(first - sizeof(struct thread))));
	CHECK(!thread_from_cookie_sig(
		address(behind + (sizeof(struct thread) << 20))));
	/* In the pool, but never used. */
	CHECK(!thread_from_cookie_sig(address(behind - sizeof(struct thread))));
}

TEST(random_pointers_are_no_cookies)
{
	agent_begin();
	claim_live();
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		uintptr_t value = (uintptr_t)random() << 33 ^
				  (uintptr_t)random() << 11 ^
				  (uintptr_t)random();

		CHECK(!thread_from_cookie_sig(address(value)));
	}
}

static void count_visit(struct thread *thread, void *context)
{
	unsigned *visits = context;

	CHECK(thread->state != THREAD_FREE);
	visits[thread == claimed[0] ? 0 : thread == claimed[2] ? 2 : 1]++;
}

TEST(a_walk_visits_each_record_in_use_once)
{
	unsigned visits[3] = {0, 0, 0};

	agent_begin();
	thread_each_sig(count_visit, visits);
	CHECK_EQ(visits[0] + visits[1] + visits[2], 0);
	for (int i = 0; i < 3; i++)
		claimed[i] = thread_claim_sig();
	thread_release_sig(claimed[1]);
	atomic_store(&claimed[2]->state, THREAD_LIVE);
	thread_each_sig(count_visit, visits);
	CHECK_EQ(visits[0], 1);
	CHECK_EQ(visits[1], 0);
	CHECK_EQ(visits[2], 1);
}

/* Each thread claims and gives back at random and marks what it holds. */
#define HELD 24u

static long claim_and_release(unsigned number, void *unused)
{
	struct thread *held[HELD] = {NULL};
	unsigned seed = number + 1;
	long bad = 0;

	(void)unused;
	for (int i = 0; i < 50000; i++) {
		struct thread **place = &held[(unsigned)rand_r(&seed) % HELD];

		if (!*place) {
			*place = thread_claim_sig();
			if (!*place)
				return 1000000;
			bad += (*place)->argument != NULL;
			(*place)->argument = place;
			continue;
		}
		bad += (*place)->argument != place;
		thread_release_sig(*place);
		*place = NULL;
	}
	for (unsigned i = 0; i < HELD; i++) {
		if (held[i])
			thread_release_sig(held[i]);
	}
	return bad;
}

TEST(racing_threads_share_no_record_and_lose_none)
{
	agent_begin();
	CHECK_EQ(crowd_run(4, claim_and_release, NULL), 0);
	claim_all();
	CHECK(!thread_claim_sig());
}

/* A lower record is given back between any two instructions of a claim, which
 * may leave the hint above it. */
static struct thread *claimed_here;

static void claim_one(void)
{
	claimed_here = thread_claim_sig();
}

static void give_back_lower(void)
{
	thread_release_sig(claimed[THREAD_POOL_SIZE - 2]);
}

TEST(a_record_given_back_during_a_claim_is_found)
{
	struct thread *other;

	agent_begin();
	claim_all();
	qsort(claimed, THREAD_POOL_SIZE, sizeof(claimed[0]), by_address);
	for (unsigned n = 0;; n += STEPS_STRIDE) {
		thread_release_sig(claimed[THREAD_POOL_SIZE - 1]);
		if (!steps_interrupt(n, claim_one, give_back_lower))
			break;
		CHECK(claimed_here != NULL);
		other = thread_claim_sig();
		CHECK(other != NULL);
		CHECK(other != claimed_here);
	}
}

static long own_record(unsigned number, void *unused)
{
	struct thread *thread = thread_claim_sig();
	long bad;

	(void)number;
	(void)unused;
	bad = thread_self_app() != NULL;
	thread_set_self_app(thread);
	bad += thread_self_app() != thread;
	thread_set_self_app(NULL);
	return bad;
}

TEST(each_thread_finds_its_own_record)
{
	struct thread *mine;

	agent_begin();
	mine = thread_claim_sig();
	thread_set_self_app(mine);
	CHECK_EQ(crowd_run(4, own_record, NULL), 0);
	CHECK(thread_self_app() == mine);
}

static int look_in_child(void *context)
{
	unsigned visits[3] = {0, 0, 0};
	struct thread *thread = context;

	thread_each_sig(count_visit, visits);
	return thread_from_cookie_sig(thread) ||
	       visits[0] + visits[1] + visits[2] != 0 ||
	       thread_claim_sig() != thread;
}

TEST(a_forked_child_begins_with_an_empty_pool)
{
	struct thread *thread;

	agent_begin();
	thread = claim_live();
	CHECK_EQ(crowd_wait(crowd_fork(look_in_child, thread)), 0);
	CHECK(thread_from_cookie_sig(thread) == thread);
}
