/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the process of a unit test one that the agent knows.
 * Runs on: the test program's threads.
 */
#include "tests/lib/agent.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hooks/connection.h"
#include "preload/lifecycle.h"
#include "preload/real.h"
#include "preload/rendezvous.h"
#include "preload/span.h"
#include "sampler/handler.h"
#include "sampler/timer.h"
#include "sampler/worker.h"
#include "tests/lib/unit.h"

static struct ring *create_ring(void)
{
	int fd = rendezvous_create_ring();
	struct ring *ring;

	CHECK(fd >= 0);
	ring = rendezvous_map(fd);
	close(fd);
	CHECK(ring != NULL);
	return ring;
}

/* One signal for the whole program: each call would take another. */
static int signal_number(void)
{
	static int number;

	if (!number) {
		CHECK_EQ(handler_install(), 0);
		number = agent.signal_number;
	}
	return number;
}

static void map_tables(void)
{
	CHECK_EQ(process_map(), 0);
	CHECK_EQ(span_table_map(), 0);
	CHECK_EQ(thread_pool_map(), 0);
	CHECK_EQ(connection_table_map(), 0);
	for (unsigned fd = 0; fd < CONNECTION_LIMIT; fd++)
		connection_roles[fd] = CONNECTION_NONE;
}

static void end_last(void)
{
	if (agent.ring)
		munmap(agent.ring, sizeof(*agent.ring));
	if (thread_self_app())
		timer_disarm_sig(thread_self_app());
	thread_set_self_app(NULL);
}

static void begin(void)
{
	static char *nothing[] = {NULL};

	end_last();
	memset(&agent, 0, sizeof(agent));
	config_read(&agent.config, nothing, NULL, NULL);
	agent.period_ns = UINT64_C(1000000000) / agent.config.rate_hz;
	timer_measure_tick();
	agent.signal_number = signal_number();
	map_tables();
	agent.ring = create_ring();
	process->worker_refused = 1;
}

void agent_begin(void)
{
	begin();
	process->slot = AGENT_SLOT;
	process->generation = AGENT_GENERATION;
	process->id_seed = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	process->pid = (uint32_t)getpid();
	agent.active = true;
}

void agent_begin_alive(void)
{
	static bool installed;

	begin();
	if (!installed) {
		CHECK_EQ(real_resolve(), 0);
		CHECK_EQ(lifecycle_install(), 0);
		installed = true;
	}
	CHECK_EQ(process_begin_main_app(), 0);
	agent.active = true;
}

void agent_let_worker(void)
{
	process->worker_refused = 0;
	worker_wanted_sig();
}

void agent_end_worker(void)
{
	worker_hold_app();
}

void agent_begin_child(uint32_t slot)
{
	process->slot = slot;
	process->generation = AGENT_GENERATION;
	process->pid = (uint32_t)getpid();
	process->worker_refused = 1;
	thread_set_self_app(NULL);
}

static void find_stack(uint64_t *low, uint64_t *top)
{
	pthread_attr_t attributes;
	void *start = NULL;
	size_t bytes = 0;

	*low = *top = 0;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	pthread_attr_getstack(&attributes, &start, &bytes);
	pthread_attr_destroy(&attributes);
	*low = (uint64_t)(uintptr_t)start;
	*top = *low + bytes;
}

struct thread *agent_enter(void)
{
	struct thread *thread = thread_claim_sig();

	CHECK(thread != NULL);
	thread->tid = (uint32_t)gettid();
	find_stack(&thread->stack_low, &thread->stack_top);
	thread_set_self_app(thread);
	atomic_store(&thread->state, THREAD_LIVE);
	return thread;
}

void agent_leave(void)
{
	struct thread *thread = thread_self_app();

	thread_set_self_app(NULL);
	atomic_store(&thread->state, THREAD_CLAIMED);
	timer_disarm_sig(thread);
	thread_release_sig(thread);
}

struct thread *agent_enter_alive(void)
{
	struct thread *thread = thread_claim_sig();
	uint64_t low;
	uint64_t top;

	CHECK(thread != NULL);
	find_stack(&low, &top);
	thread_begin_app(thread, low, top);
	return thread;
}

uint64_t agent_count(enum ring_counter counter)
{
	return atomic_load(&agent.ring->header.counters[counter]);
}

int64_t agent_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void agent_burn_ns(int64_t ns)
{
	int64_t end = agent_cpu_ns() + ns;

	while (agent_cpu_ns() < end) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("" ::: "memory");
	}
}

void agent_run_first(bool first)
{
	struct sched_param param = {.sched_priority = first ? 1 : 0};

	sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &param);
}
