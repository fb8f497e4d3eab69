/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps through calls and completes the stack at each instruction.
 * Runs on: the test program's threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_LAZY */
#endif
#include "exporter/complete.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/lib/snapshot.h"
#include "tests/lib/unit.h"
#include "tests/lib/walked.h"

/* Snapshots of each instruction of a thread while it runs `stepped`. */
#define STEPS_MAX 5000u
#define STEP_BYTES 8192u

union step {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + STEP_BYTES];
};

static union step *steps;
static uint32_t step_count;
static uint64_t below_bytes;

static void on_step(int number, siginfo_t *info, void *context)
{
	static union snapshot s;
	union step *step = &steps[step_count];

	(void)number, (void)info;
	if (step_count == STEPS_MAX)
		return;
	snapshot_fill(&s, context, below_bytes);
	if (s.sample.stack_bytes > STEP_BYTES)
		return;
	memcpy(step, &s, sizeof(s.sample) + s.sample.stack_bytes);
	step_count++;
}

static void set_trap_flag(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
				 : "memory", "cc");
}

static void clear_trap_flag(void)
{
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
				 : "memory", "cc");
}

static void *step_body(void *arg)
{
	void (*stepped)(void) = NULL;

	*(void **)&stepped = arg;
	snapshot_prepare();
	set_trap_flag();
	stepped();
	clear_trap_flag();
	return NULL;
}

static void step_through(void (*stepped)(void), uint64_t below)
{
	struct sigaction action = {.sa_sigaction = on_step,
				   .sa_flags = SA_SIGINFO};
	pthread_attr_t attributes;
	pthread_t thread;

	steps = mmap(NULL, STEPS_MAX * sizeof(*steps), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(steps != MAP_FAILED);
	step_count = 0;
	below_bytes = below;
	sigaction(SIGTRAP, &action, NULL);
	pthread_attr_init(&attributes);
	CHECK_EQ(pthread_create(&thread, &attributes, step_body,
				*(void **)&stepped),
		 0);
	pthread_join(thread, NULL);
	signal(SIGTRAP, SIG_DFL);
}

struct tally {
	uint32_t all;
	uint32_t complete; /* to the thread's start, through step_body */
	uint32_t cut;
	uint32_t loader; /* of all, those whose leaf is in the loader */
};

static bool leaf_is_in_loader(void)
{
	const struct module *leaf = walked.stack.frames[0].module;

	return leaf && strncmp(leaf->name, "ld-linux", 8) == 0;
}

/* Without those in step_body itself, whose assembler moves the stack pointer
 * behind the unwind table's back. */
static struct tally count_steps(void)
{
	struct tally tally = {0, 0, 0, 0};

	for (uint32_t i = 0; i < step_count; i++) {
		enum complete_result result = walked_walk(&steps[i].sample);
		uint32_t at = walked_find("step_body", 0);

		if (at == 0)
			continue;
		tally.all++;
		tally.loader += leaf_is_in_loader();
		tally.complete += result == COMPLETE && at < walked.stack.count;
		tally.cut += result == TRUNCATED_STACK_CUT;
		if (result != COMPLETE && result != TRUNCATED_STACK_CUT)
			printf("  step %u: %s+0x%llx: %u frames, %d\n", i,
			       walked.stack.frames[0].module->name,
			       (unsigned long long)walked.stack.frames[0].vaddr,
			       walked.stack.count, result);
	}
	munmap(steps, STEPS_MAX * sizeof(*steps));
	return tally;
}

NEVER_INLINED int add_up(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NEVER_INLINED void sort_some(void)
{
	int numbers[] = {3, 1, 2, 5, 4};
	char text[64];

	qsort(numbers, 5, sizeof(numbers[0]), add_up);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 1.5);
	KEEP_FRAME();
}

TEST(each_instruction_of_a_call_is_a_complete_leaf)
{
	struct tally tally;

	walked_open();
	sort_some(); /* what is bound lazily is bound */
	step_through(sort_some, 128);
	tally = count_steps();
	CHECK(tally.all > 500);
	CHECK_EQ(tally.complete, tally.all);
	walked_close();
}

/* Between the pops of an epilogue and its end, the unwind table may still find
 * registers where they were saved, which is now below the stack pointer. */
TEST(without_the_red_zone_the_few_that_need_it_say_so)
{
	struct tally tally;

	walked_open();
	step_through(sort_some, 0);
	tally = count_steps();
	printf("  %u of %u need it\n", tally.cut, tally.all);
	CHECK_EQ(tally.complete + tally.cut, tally.all);
	walked_close();
}

static void (*library_call)(void);

NEVER_INLINED void call_library(void)
{
	library_call();
	KEEP_FRAME();
}

TEST(lazy_binding_is_complete_at_each_instruction)
{
	void *library =
		walked_library("liblazy.so",
			       "int strverscmp(const char *, const char *);"
			       "volatile int sink; void lazy(void)"
			       "{ sink = strverscmp(\"a1\", \"a2\"); sink++; }",
			       "-Wl,-z,lazy -fno-builtin -fcf-protection=none");
	struct tally tally;

	CHECK(library != NULL);
	*(void **)&library_call = dlsym(library, "lazy");
	walked_open();
	step_through(call_library, 128);
	tally = count_steps();
	/* Bound beforehand, none of the 90 would be; how many it takes
	 * depends on the libraries that are searched. */
	CHECK(tally.loader > 100);
	CHECK_EQ(tally.complete, tally.all);
	walked_close();
}
