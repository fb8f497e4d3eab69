/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks from several threads while the others allocate, and lets each child do
 * what hangs when a lock was held at the fork. Only children look names up: the
 * resolver's own locks are not made for a fork.
 *
 *	forks THREADS CHILDREN_A_THREAD
 *
 * Says at the end how many children ended well; one that takes more than ten
 * seconds is killed and isn't counted.
 * Runs on: a process of the tests.
 */
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 32
#define PATIENCE_MS 10000

static unsigned long children;
static _Atomic unsigned long well;

static void must(long result)
{
	if (result < 0) {
		perror("forks");
		exit(1);
	}
}

static int work(void)
{
	struct addrinfo *found = NULL;
	struct timespec now;
	char text[16] = "";
	int pair[2];
	char *memory = malloc(100000);

	if (!memory || getaddrinfo("localhost", "80", NULL, &found) != 0)
		return 1;
	freeaddrinfo(found);
	memset(memory, 1, 100000);
	free(memory);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    write(pair[0], "hello", 5) != 5 ||
	    read(pair[1], text, sizeof(text)) != 5)
		return 1;
	return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? 0 : 1;
}

/* Returns whether the child ended by itself, and well. */
static int await(pid_t child)
{
	struct pollfd end = {.events = POLLIN};
	int status;

	end.fd = (int)syscall(SYS_pidfd_open, child, 0);
	must(end.fd);
	if (poll(&end, 1, PATIENCE_MS) == 0)
		kill(child, SIGKILL);
	close(end.fd);
	must(waitpid(child, &status, 0));
	return status == 0;
}

static void *run(void *unused)
{
	(void)unused;
	for (unsigned long i = 0; i < children; i++) {
		pid_t child = fork();

		must(child);
		if (child == 0)
			_exit(work());
		for (size_t bytes = 1; bytes < 1u << 20; bytes *= 2)
			free(calloc(1, bytes));
		well += (unsigned long)await(child);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;

	if (count == 0 || count > THREADS_MAX) {
		fputs("usage: forks THREADS CHILDREN_A_THREAD\n", stderr);
		return 2;
	}
	children = strtoul(argv[2], NULL, 10);
	for (unsigned long i = 0; i < count; i++)
		must(-pthread_create(&threads[i], NULL, run, NULL));
	for (unsigned long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%lu children\n", (unsigned long)well);
	return 0;
}
