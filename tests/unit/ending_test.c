/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the signals that tell a program to end: called as they would be,
 * read back as they were set, and noticed.
 * Runs on: the test program's main thread.
 */
#include "hooks/ending.h"

#include <signal.h>
#include <unistd.h>

#include "tests/lib/agent.h"
#include "tests/lib/unit.h"

static int called;
static int called_with;
static const void *seen_info;

static void simple(int number)
{
	called++;
	called_with = number;
}

static void informed(int number, siginfo_t *info, void *context)
{
	called++;
	called_with = number;
	seen_info = context ? info : NULL;
}

/* What the kernel is given for a handler. */
static struct sigaction set(int number, void *handler, int flags)
{
	struct sigaction action = {.sa_flags = flags};
	void *before;

	action.sa_handler =
		(void (*)(int))ending_set_app(number, handler, &before);
	CHECK_EQ(sigaction(number, &action, NULL), 0);
	return action;
}

static void begin(void)
{
	agent_begin();
	called = 0;
	seen_info = NULL;
}

TEST(a_handler_is_called_as_it_would_be_and_leaves_a_note)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGQUIT};

	for (size_t i = 0; i < 3; i++) {
		begin();
		set(numbers[i], (void *)simple, 0);
		CHECK_EQ(agent.ring->header.told_to_end_ns, 0);
		raise(numbers[i]);
		CHECK_EQ(called, 1);
		CHECK_EQ(called_with, numbers[i]);
		CHECK(agent.ring->header.told_to_end_ns != 0);
		signal(numbers[i], SIG_DFL);
	}
}

TEST(a_handler_with_three_arguments_gets_them)
{
	begin();
	set(SIGTERM, (void *)informed, SA_SIGINFO);
	raise(SIGTERM);
	CHECK_EQ(called, 1);
	CHECK(seen_info != NULL);
	signal(SIGTERM, SIG_DFL);
}

TEST(the_program_reads_its_own_handler)
{
	void *before;
	void *given;

	begin();
	given = ending_set_app(SIGTERM, (void *)simple, &before);
	CHECK(given != (void *)simple);
	/* Another one is set: the old one is shown for what the kernel has. */
	CHECK(ending_set_app(SIGTERM, (void *)informed, &before) == given);
	CHECK(ending_show_app(given, before) == (void *)simple);
	/* A question. */
	CHECK(!ending_set_app(SIGTERM, NULL, &before));
	CHECK(ending_show_app(given, before) == (void *)informed);
	/* What the kernel has is none of ours. */
	CHECK(ending_show_app((void *)SIG_IGN, before) == (void *)SIG_IGN);
}

TEST(other_signals_and_no_functions_are_left_alone)
{
	void *const others[] = {(void *)SIG_DFL, (void *)SIG_IGN,
				(void *)SIG_HOLD, (void *)SIG_ERR};
	void *before;

	begin();
	for (int i = 0; i < 4; i++)
		CHECK(ending_set_app(SIGTERM, others[i], &before) == others[i]);
	CHECK(ending_set_app(SIGUSR1, (void *)simple, &before) ==
	      (void *)simple);
	CHECK(ending_set_app(SIGHUP, (void *)simple, &before) ==
	      (void *)simple);
	CHECK(ending_set_app(-1, (void *)simple, &before) == (void *)simple);
	/* In a child of vfork, and without the agent. */
	process->pid = 1;
	CHECK(ending_set_app(SIGTERM, (void *)simple, &before) ==
	      (void *)simple);
	process->pid = (uint32_t)getpid();
	agent.active = false;
	CHECK(ending_set_app(SIGTERM, (void *)simple, &before) ==
	      (void *)simple);
}
