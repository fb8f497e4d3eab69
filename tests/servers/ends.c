/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Burns CPU time and then ends in one of the ways in which programs end.
 *
 *	ends CLOCK MS HOW
 *
 * CLOCK is a file that holds, at any time, what the program's CPU clock said
 * last (8 bytes, nanoseconds): it survives every death. HOW is
 *
 *	return, exit, quick_exit, _exit		with status 7
 *	abort, fault				a real SIGSEGV
 *	raise=N					a signal to itself
 *	exec=PROGRAM				another program, without
 *arguments
 *	thread					main leaves, a thread burns on
 *	on=N					at signal N: with status 33
 *	count=N					counts signal N for MS, then
 *tells daemon					in a child of a child
 *
 * Runs on: main, for "thread" on another one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* About 20 us of arithmetic. */
#define STEPS_BETWEEN_LOOKS 8000

#define STATUS 7
#define STATUS_TOLD 33

static _Atomic uint64_t *told_ns;
static uint64_t wanted_ns;
static volatile sig_atomic_t told;
static _Atomic uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void burn_until_the_end(void);

__attribute__((noinline)) void burn_until_the_end(void)
{
	uint64_t state = 1;

	while (*told_ns < wanted_ns && !told) {
		for (int i = 0; i < STEPS_BETWEEN_LOOKS; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
		}
		*told_ns = cpu_ns();
	}
	sink = state;
}

static int map_clock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(*told_ns)) != 0)
		return -1;
	at = mmap(NULL, sizeof(*told_ns), PROT_READ | PROT_WRITE, MAP_SHARED,
		  fd, 0);
	close(fd);
	told_ns = at;
	return at == MAP_FAILED ? -1 : 0;
}

static void *burn_on(void *unused)
{
	(void)unused;
	burn_until_the_end();
	exit(STATUS);
}

static void be_told(int number)
{
	(void)number;
	told = STATUS_TOLD;
}

static _Atomic int counted;

static void count(int number)
{
	(void)number;
	counted++;
}

static void become_daemon(void)
{
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
}

static void end_otherwise(const char *how)
{
	const char *value = strchr(how, '=');
	pthread_t thread;

	if (!strcmp(how, "exit"))
		exit(STATUS);
	if (!strcmp(how, "quick_exit"))
		quick_exit(STATUS);
	if (!strcmp(how, "_exit"))
		_exit(STATUS);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "fault")) {
		munmap((void *)(uintptr_t)told_ns, sizeof(*told_ns));
		*told_ns = 0;
	}
	if (!strncmp(how, "raise=", 6))
		kill(getpid(), atoi(value + 1));
	if (!strncmp(how, "exec=", 5))
		execl(value + 1, value + 1, (char *)NULL);
	if (!strcmp(how, "thread")) {
		wanted_ns *= 2;
		pthread_create(&thread, NULL, burn_on, NULL);
		pthread_exit(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "return";

	if (argc < 3 || map_clock(argv[1]) != 0)
		return 2;
	wanted_ns = strtoull(argv[2], NULL, 10) * 1000000u;
	if (!strncmp(how, "on=", 3))
		signal(atoi(how + 3), be_told);
	if (!strncmp(how, "count=", 6))
		signal(atoi(how + 6), count);
	if (!strcmp(how, "daemon"))
		become_daemon();
	burn_until_the_end();
	if (told)
		return told;
	if (!strncmp(how, "count=", 6)) {
		printf("counted %d\n", counted);
		return 0;
	}
	end_otherwise(how);
	return STATUS;
}
