/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections on 127.0.0.1 and runs a pool of threads, or a thread a
 * connection, to serve them.
 * Runs on: the main thread and the connection threads of the test servers.
 */
#include "tests/servers/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A descriptor above this is refused; the servers never come near it. */
#define DESCRIPTORS 1024

static const struct service *current;
static int listener = -1;
static volatile sig_atomic_t stopping;
static sem_t stop_asked;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t thread_ended = PTHREAD_COND_INITIALIZER;
static bool open_connections[DESCRIPTORS];
static unsigned threads_alive;

/* Threads that ended and wait to be joined. */
struct ended {
	pthread_t thread;
	struct ended *next;
};
static struct ended *ended_threads;

/* sem_post() and shutdown() are async-signal-safe. The second wakes every
 * thread in accept(), which setting a flag alone would not. */
static void on_stop(int signal_number)
{
	(void)signal_number;
	stopping = 1;
	shutdown(listener, SHUT_RD);
	sem_post(&stop_asked);
}

static bool connection_begin(int fd)
{
	int on = 1;

	if (fd >= DESCRIPTORS) {
		close(fd);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	pthread_mutex_lock(&state_lock);
	open_connections[fd] = true;
	if (stopping)
		shutdown(fd, SHUT_RD);
	pthread_mutex_unlock(&state_lock);
	return true;
}

void service_close(int fd)
{
	pthread_mutex_lock(&state_lock);
	open_connections[fd] = false;
	close(fd);
	pthread_mutex_unlock(&state_lock);
}

static void serve_connection(int fd)
{
	if (connection_begin(fd))
		current->serve(fd);
}

/* Ends the reading side of every connection: a thread that waits for a request
 * sees the end of the stream, one that answers can finish. */
static void stop_connections(void)
{
	pthread_mutex_lock(&state_lock);
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (open_connections[fd])
			shutdown(fd, SHUT_RD);
	pthread_mutex_unlock(&state_lock);
}

/* Returns a connected socket, or -1 once the service stops. */
static int accept_connection(void)
{
	while (!stopping) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			return fd;
		if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
	return -1;
}

/* The last thing that a thread does: says that it has gone. */
static void thread_leave(struct ended *self)
{
	pthread_mutex_lock(&state_lock);
	if (self) {
		self->next = ended_threads;
		ended_threads = self;
	}
	threads_alive--;
	pthread_cond_signal(&thread_ended);
	pthread_mutex_unlock(&state_lock);
}

struct start {
	int fd; /* -1: accepts connections itself */
	struct ended *self;
};

static void *thread_main(void *argument)
{
	struct start start = *(struct start *)argument;
	int fd;

	free(argument);
	if (start.self)
		start.self->thread = pthread_self();
	if (start.fd >= 0)
		serve_connection(start.fd);
	else
		while ((fd = accept_connection()) >= 0)
			serve_connection(fd);
	thread_leave(start.self);
	return NULL;
}

static int thread_start(int fd)
{
	struct start *start = malloc(sizeof(*start));
	pthread_t thread;
	int rc;

	if (!start)
		return -ENOMEM;
	start->fd = fd;
	start->self = current->detached ? NULL : malloc(sizeof(*start->self));
	pthread_mutex_lock(&state_lock);
	threads_alive++;
	pthread_mutex_unlock(&state_lock);
	rc = pthread_create(&thread, NULL, thread_main, start);
	if (rc == 0) {
		if (current->detached)
			pthread_detach(thread);
		return 0;
	}
	free(start->self);
	free(start);
	thread_leave(NULL);
	return -rc;
}

static void join_ended(void)
{
	struct ended *list;

	pthread_mutex_lock(&state_lock);
	list = ended_threads;
	ended_threads = NULL;
	pthread_mutex_unlock(&state_lock);
	while (list) {
		struct ended *next = list->next;

		pthread_join(list->thread, NULL);
		free(list);
		list = next;
	}
}

static void wait_for_threads(void)
{
	pthread_mutex_lock(&state_lock);
	while (threads_alive > 0)
		pthread_cond_wait(&thread_ended, &state_lock);
	pthread_mutex_unlock(&state_lock);
	join_ended();
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(address);
	int on = 1;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return -errno;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&address, bytes) < 0 ||
	    listen(listener, 128) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &bytes) < 0)
		return -errno;
	printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return 0;
}

static void handle_signals(void)
{
	struct sigaction stop = {.sa_handler = on_stop};

	sem_init(&stop_asked, 0, 0);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int serve_with_pool(void)
{
	int rc = 0;

	for (unsigned i = 0; i < current->threads && rc == 0; i++)
		rc = thread_start(-1);
	while (!stopping && rc == 0)
		sem_wait(&stop_asked);
	return rc;
}

static int serve_with_threads(void)
{
	int fd;

	while ((fd = accept_connection()) >= 0) {
		if (thread_start(fd) < 0)
			close(fd);
		join_ended();
	}
	return 0;
}

int service_run(const struct service *service)
{
	int rc;

	current = service;
	handle_signals();
	rc = listen_on(service->port);
	if (rc < 0)
		return rc;
	rc = service->threads ? serve_with_pool() : serve_with_threads();
	stopping = 1;
	shutdown(listener, SHUT_RD);
	stop_connections();
	wait_for_threads();
	close(listener);
	return rc;
}
