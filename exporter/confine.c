/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the exporter a modest process.
 * Runs on: the exporter, first of all.
 */
#include "exporter/confine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NICENESS 10
#define MEMORY_MAX_BYTES (UINT64_C(2) << 30)

static void be_killed_first(void)
{
	static const char most[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, most, sizeof(most) - 1) < 0)
		(void)0; /* nothing depends on it */
	close(fd);
}

/* The program may be bound to some processors or run in real time. */
static void reset_scheduling(void)
{
	struct sched_param normal = {0};
	cpu_set_t all;

	sched_setscheduler(0, SCHED_OTHER, &normal);
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	setpriority(PRIO_PROCESS, 0, NICENESS);
}

static void raise_to_hard(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

void confine(void)
{
	struct rlimit memory = {MEMORY_MAX_BYTES, MEMORY_MAX_BYTES};
	struct rlimit none = {0, 0};

	reset_scheduling();
	be_killed_first();
	raise_to_hard(RLIMIT_NOFILE); /* one a process of the tree */
	raise_to_hard(RLIMIT_CPU);    /* that of the program is not ours */
	setrlimit(RLIMIT_AS, &memory);
	/* A core would hold credentials. One that goes to a pipe minds no
	 * limit; and what isn't dumpable shows its environment to root alone.
	 */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	umask(022);
}
