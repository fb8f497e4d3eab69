/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal storms, by a timer a thread.
 * Runs on: the test program's threads.
 */
#include "tests/lib/storm.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* Far from those that handler_install takes. */
#define STORM_SIGNAL (SIGRTMIN + 2)
#define STORM_PERIOD_NS 50000

static void (*_Atomic strike_now)(void);
static _Atomic uint64_t strikes;

static void struck(int number)
{
	int saved = errno;

	(void)number;
	strikes++;
	strike_now();
	errno = saved;
}

int storm_begin(struct storm *storm, void (*strike)(void))
{
	struct sigaction action = {.sa_handler = struck,
				   .sa_flags = SA_RESTART};
	struct itimerspec when = {
		.it_value.tv_nsec = STORM_PERIOD_NS,
		.it_interval.tv_nsec = STORM_PERIOD_NS,
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = STORM_SIGNAL,
	};

	event._sigev_un._tid = gettid();
	strike_now = strike;
	if (sigaction(STORM_SIGNAL, &action, NULL) != 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &storm->timer) != 0)
		return -errno;
	return timer_settime(storm->timer, 0, &when, NULL) == 0 ? 0 : -errno;
}

void storm_end(struct storm *storm)
{
	timer_delete(storm->timer);
}

uint64_t storm_strikes(void)
{
	return strikes;
}
