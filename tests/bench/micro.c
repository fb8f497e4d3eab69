/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small measurements of what the agent costs the program it lives in. Run once
 * as it is and once preloaded; prints one number.
 *
 *	micro read|recv|request|thread|gap
 *
 * read: ns a read(2) of a descriptor that is no socket; recv: ns a recv(2) of a
 * connection that is not accepted; request: ns of thread CPU a keep-alive
 * request, 300 bytes of head, both ends in one thread; thread: us to create and
 * join a thread; gap: ms a second that a spinning thread, 30 frames deep, is
 * kept from running by interruptions of less than 2 ms.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int result)
{
	if (result < 0) {
		perror("micro");
		exit(1);
	}
}

static double measure_read(void)
{
	enum {
		TURNS = 2000000
	};
	int fd = open("/dev/zero", O_RDONLY);
	double start;
	char byte;

	must(fd);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < TURNS; i++)
		must((int)read(fd, &byte, 1));
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / TURNS;
}

static double measure_recv(void)
{
	enum {
		TURNS = 500000
	};
	int fds[2];
	double start;
	char byte = 0;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < TURNS; i++) {
		must((int)send(fds[0], &byte, 1, 0));
		must((int)recv(fds[1], &byte, 1, 0));
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / TURNS;
}

static void connect_pair(int *client, int *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr =
					      htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	must(listener);
	must(bind(listener, (struct sockaddr *)&address, length));
	must(listen(listener, 1));
	must(getsockname(listener, (struct sockaddr *)&address, &length));
	*client = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(*client, (struct sockaddr *)&address, length));
	*server = accept(listener, NULL, NULL);
	must(*server);
	close(listener);
}

static double measure_request(void)
{
	enum {
		TURNS = 100000
	};
	static const char request[] =
		"GET /tenants/initech/blocks/0c414017 HTTP/1.1\r\n"
		"Host: store.example\r\nUser-Agent: bench/1.0\r\n"
		"Accept: application/json\r\nAccept-Encoding: gzip\r\n"
		"Cookie: session=0123456789abcdef0123456789abcdef\r\n"
		"traceparent: "
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
		"Connection: keep-alive\r\n\r\n";
	static const char response[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char buffer[1024];
	double start;
	int client;
	int server;

	connect_pair(&client, &server);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < TURNS; i++) {
		must((int)write(client, request, sizeof(request) - 1));
		must((int)read(server, buffer, sizeof(buffer)));
		must((int)write(server, response, sizeof(response) - 1));
		must((int)read(client, buffer, sizeof(buffer)));
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / TURNS;
}

static void *nothing(void *argument)
{
	return argument;
}

static double measure_thread(void)
{
	enum {
		TURNS = 10000
	};
	double start = now(CLOCK_MONOTONIC);
	pthread_t thread;

	for (int i = 0; i < TURNS; i++) {
		must(-pthread_create(&thread, NULL, nothing, NULL));
		pthread_join(thread, NULL);
	}
	return (now(CLOCK_MONOTONIC) - start) / TURNS / 1e3;
}

/* Adds up the gaps in a loop that reads the time-stamp counter. */
static double spin(double seconds)
{
	double start = now(CLOCK_MONOTONIC);
	uint64_t first = __rdtsc();
	uint64_t last = first;
	uint64_t stolen = 0;
	double tick_ns;
	double taken;

	while (now(CLOCK_MONOTONIC) < start + seconds * 1e9) {
		for (int i = 0; i < 10000; i++) {
			uint64_t next = __rdtsc();

			if (next - last > 1000 && next - last < 5000000)
				stolen += next - last;
			last = next;
		}
		last = __rdtsc();
	}
	taken = now(CLOCK_MONOTONIC) - start;
	tick_ns = taken / (double)(last - first);
	return (double)stolen * tick_ns / taken * 1e3;
}

__attribute__((noinline)) static double deeper(int frames)
{
	volatile double result = frames ? deeper(frames - 1) : spin(1.5);

	return result;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double (*run)(void);
	} all[] = {{"read", measure_read},
		   {"recv", measure_recv},
		   {"request", measure_request},
		   {"thread", measure_thread}};
	const char *wanted = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(wanted, all[i].name) == 0) {
			printf("%.3f\n", all[i].run());
			return 0;
		}
	}
	if (strcmp(wanted, "gap") == 0) {
		printf("%.3f\n", deeper(30));
		return 0;
	}
	fputs("usage: micro read|recv|request|thread|gap\n", stderr);
	return 2;
}
