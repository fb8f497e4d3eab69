/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a detached exporter running.
 * Runs on: a process of its own, before anything is read from outside.
 */
#include "exporter/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/log.h"
#include "preload/config.h"
#include "supervisor/restart.h"

struct keeper {
	sigset_t watched;
	pid_t exporter; /* 0: none */
	bool ends;      /* told by SIGTERM */
	struct restart restart;
};

/* Everything is blocked in the keeper; these two it waits for. */
static void watch(struct keeper *keeper)
{
	sigset_t all;

	signal(SIGCHLD, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&keeper->watched);
	sigaddset(&keeper->watched, SIGCHLD);
	sigaddset(&keeper->watched, SIGTERM);
}

/* The end may come before the exporter is ready to be told of it. */
static void leave_mask(void)
{
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_SETMASK, &end, NULL);
}

/* Returns true in the exporter. */
static bool start(struct keeper *keeper)
{
	pid_t pid = fork();

	if (pid > 0) {
		keeper->exporter = pid;
		if (keeper->ends)
			kill(pid, SIGTERM);
		return false;
	}
	leave_mask();
	return true;
}

static void wait_for(struct keeper *keeper, uint64_t time_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t rest = time_ns > now ? time_ns - now : 0;
	struct timespec timeout = {(time_t)(rest / 1000000000u),
				   (long)(rest % 1000000000u)};

	if (sigtimedwait(&keeper->watched, NULL, &timeout) != SIGTERM)
		return;
	keeper->ends = true;
	if (keeper->exporter)
		kill(keeper->exporter, SIGTERM);
}

static int wait_for_end(struct keeper *keeper)
{
	int status = 0;

	while (waitpid(keeper->exporter, &status, WNOHANG) == 0)
		wait_for(keeper, UINT64_MAX / 2);
	keeper->exporter = 0;
	return status;
}

__attribute__((noreturn)) static void give_up(void)
{
	static struct config config;

	config_read(&config, environ, NULL, NULL);
	log_open(config.log, config.log_level);
	log_message(CONFIG_LOG_ERROR,
		    "the exporter died %u times within a minute and isn't "
		    "started again; the program runs without being profiled",
		    RESTARTS_MAX + 1);
	_exit(125);
}

void keeper_begin(void)
{
	static const char name[] = "spanprof-keeper";
	struct keeper keeper = {.exporter = 0};

	watch(&keeper);
	while (!start(&keeper)) {
		int status;
		int64_t delay_ns;
		uint64_t next_ns;

		prctl(PR_SET_NAME, name, 0, 0, 0);
		status = wait_for_end(&keeper);
		if (!WIFSIGNALED(status))
			_exit(WEXITSTATUS(status));
		delay_ns = restart_delay_ns(&keeper.restart,
					    now_ns(CLOCK_MONOTONIC));
		if (delay_ns < 0)
			give_up();
		next_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)delay_ns;
		while (now_ns(CLOCK_MONOTONIC) < next_ns)
			wait_for(&keeper, next_ns);
	}
	prctl(PR_SET_NAME, "spanprof-exporter", 0, 0, 0);
}
