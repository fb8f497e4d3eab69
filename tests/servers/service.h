/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket on 127.0.0.1 and the threads that serve its connections,
 * for the servers of the tests and of the demo.
 */
#ifndef TESTS_SERVERS_SERVICE_H
#define TESTS_SERVERS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct service {
	uint16_t port;    /* 0: the kernel picks one */
	unsigned threads; /* a pool of that many; 0: one a connection */
	bool detached;    /* threads are detached, not joined */

	/* Serves a connection to its end, on a thread of the service, and
	 * closes it by service_close(), once. The reading side of the socket is
	 * shut when the service stops. */
	void (*serve)(int fd);
};

/*
 * Prints "listening on 127.0.0.1:PORT" to stdout and serves until SIGTERM or
 * SIGINT; requests that are being answered then are answered first. Returns 0
 * when no thread of the service is left, or a negative errno when it couldn't
 * begin. Once in a process.
 */
int service_run(const struct service *service);

/* Closes the connection that a `serve` was given. */
void service_close(int fd);

#endif
