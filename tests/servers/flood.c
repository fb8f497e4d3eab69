/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with more requests than anybody wants to know of, and their only
 * client at once: each request has a span of its own and a method of its own.
 *
 *	flood THREADS REQUESTS_PER_SECOND SECONDS
 *
 * A request burns some us of CPU time. Says at the end how many there were.
 * Runs on: a process of the tests.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64u
#define BURN_NS 100000
#define METHODS 5000u

struct client {
	pthread_t thread;
	unsigned number;
	unsigned long requests;
	double per_second;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(long result)
{
	if (result < 0) {
		perror("flood");
		exit(1);
	}
}

static void connect_pair(int *near, int *far)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	must(bind(listener, (struct sockaddr *)&address, length));
	must(listen(listener, 1));
	must(getsockname(listener, (struct sockaddr *)&address, &length));
	*near = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(*near, (struct sockaddr *)&address, length));
	*far = accept(listener, NULL, NULL);
	must(*far);
	close(listener);
}

__attribute__((noinline)) static void flood_burn(void)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void serve_one(int near, int far, unsigned long number)
{
	static const char response[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char buffer[512];
	int length = snprintf(buffer, sizeof(buffer),
			      "M%lu /flood HTTP/1.1\r\nHost: a\r\ntraceparent: "
			      "00-%032lx-%016lx-01\r\n\r\n",
			      number % METHODS, number, number);

	must(write(near, buffer, (size_t)length));
	must(read(far, buffer, sizeof(buffer)));
	flood_burn();
	must(write(far, response, sizeof(response) - 1));
	must(read(near, buffer, sizeof(buffer)));
}

static void wait_until(double then)
{
	double left = then - now(CLOCK_MONOTONIC);
	struct timespec pause = {.tv_nsec = (long)left};

	if (left > 0)
		nanosleep(&pause, NULL);
}

static void *run(void *context)
{
	struct client *client = context;
	double start = now(CLOCK_MONOTONIC);
	int near;
	int far;

	connect_pair(&near, &far);
	for (unsigned long i = 0; i < client->requests; i++) {
		serve_one(near, far, 1 + i * THREADS_MAX + client->number);
		wait_until(start + (double)i / client->per_second * 1e9);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct client clients[THREADS_MAX];
	unsigned long threads = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long sum = 0;

	if (threads == 0 || threads > THREADS_MAX) {
		fputs("usage: flood THREADS REQUESTS_PER_SECOND SECONDS\n",
		      stderr);
		return 2;
	}
	for (unsigned i = 0; i < threads; i++) {
		struct client *client = &clients[i];

		client->number = i;
		client->per_second = strtod(argv[2], NULL) / (double)threads;
		client->requests = (unsigned long)(client->per_second *
						   strtod(argv[3], NULL));
		must(-pthread_create(&client->thread, NULL, run, client));
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(clients[i].thread, NULL);
		sum += clients[i].requests;
	}
	printf("%lu requests\n", sum);
	return 0;
}
