/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that gets signals and never does anything about them: they stay
 * pending, and /proc says so.
 * Runs on: the supervisor; a child of it.
 */
#include "supervisor/witness.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between the two signals of timeout(1) lie some microseconds. */
#define MOMENT_NS 30000000

/* Who looks for the program or for the supervisor by name must not find the
 * witness. */
static void take_name(const struct witness *witness)
{
	static const char name[] = "spanprof-witness";

	prctl(PR_SET_NAME, name, 0, 0, 0);
	for (int i = 0; i < witness->argc; i++)
		memset(witness->argv[i], 0, strlen(witness->argv[i]));
}

__attribute__((noreturn)) static void be_witness(const struct witness *witness,
						 pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	take_name(witness);
	closefrom(0); /* the program's files are not to be kept open */
	while (getppid() == parent)
		pause();
	_exit(0);
}

static void start(struct witness *witness)
{
	pid_t parent = getpid();

	witness->pid = fork();
	if (witness->pid == 0)
		be_witness(witness, parent);
	if (witness->pid < 0)
		witness->pid = 0;
}

void witness_start(struct witness *witness, int argc, char **argv)
{
	witness->argc = argc;
	witness->argv = argv;
	start(witness);
}

void witness_reaped(struct witness *witness, pid_t pid)
{
	if (pid == witness->pid)
		start(witness);
}

/* SigPnd and ShdPnd of proc(5): masks in hexadecimal. */
static uint64_t pending(pid_t pid)
{
	char path[64];
	char line[256];
	uint64_t signals = 0;
	unsigned long long mask;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number. */
		if (sscanf(line, "SigPnd: %llx", &mask) == 1 ||
		    /* NOLINTNEXTLINE(cert-err34-c) */
		    sscanf(line, "ShdPnd: %llx", &mask) == 1)
			signals |= mask;
	}
	if (file)
		fclose(file);
	return signals;
}

static bool has(const struct witness *witness, int signal_number)
{
	return pending(witness->pid) >> (signal_number - 1) & 1;
}

void witness_end(struct witness *witness)
{
	if (!witness->pid)
		return;
	kill(witness->pid, SIGKILL);
	waitpid(witness->pid, NULL, 0);
	witness->pid = 0;
}

bool witness_has_seen(struct witness *witness, int signal_number)
{
	const struct timespec moment = {0, MOMENT_NS};

	if (!witness->pid)
		return false;
	if (!has(witness, signal_number)) {
		nanosleep(&moment, NULL);
		if (!has(witness, signal_number))
			return false;
	}
	/* The only way to be rid of what is pending elsewhere. */
	witness_end(witness);
	start(witness);
	return true;
}
