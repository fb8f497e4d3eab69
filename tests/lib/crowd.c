/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs functions of a test on threads and in children.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"

struct member {
	pthread_t thread;
	pthread_barrier_t *start;
	unsigned number;
	long (*run)(unsigned number, void *context);
	void *context;
	long result;
};

static void *member_main(void *argument)
{
	struct member *member = argument;

	pthread_barrier_wait(member->start);
	member->result = member->run(member->number, member->context);
	return NULL;
}

long crowd_run(unsigned threads, long (*run)(unsigned number, void *context),
	       void *context)
{
	struct member members[CROWD_MAX];
	pthread_barrier_t start;
	long sum = 0;

	CHECK(threads <= CROWD_MAX);
	pthread_barrier_init(&start, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		members[i] = (struct member){
			.start = &start,
			.number = i,
			.run = run,
			.context = context,
		};
		CHECK_EQ(pthread_create(&members[i].thread, NULL, member_main,
					&members[i]),
			 0);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(members[i].thread, NULL);
		sum += members[i].result;
	}
	pthread_barrier_destroy(&start);
	return sum;
}

pid_t crowd_fork(int (*run)(void *context), void *context)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(run(context));
	return child;
}

int crowd_wait(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) != child)
		CHECK_EQ(errno, EINTR);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}
