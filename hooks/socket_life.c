/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When sockets begin and end (glibc 2.2.5 and later; accept4 2.10, close_range
 * and closefrom 2.34). A number means a new thing from accept on, whoever
 * closed it before: some close by a raw system call that nobody sees.
 * Runs on: the program's threads.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hooks/connection.h"
#include "hooks/hook.h"
#include "hooks/request.h"

/* linux/close_range.h */
#define ONLY_CLOSE_ON_EXEC 4

int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

HOOK(listen);
HOOK(accept);
HOOK(accept4);
HOOK(close);
HOOK(fclose);
HOOK(shutdown);
HOOK(dup2);
HOOK(dup3);
HOOK(close_range);
HOOK(closefrom);

EXPORT int listen(int fd, int backlog)
{
	int result = REAL(listen)(fd, backlog);

	if (result == 0)
		connection_listening_app(fd);
	return result;
}

/* Who waits for the next connection has done with the request before. */
static void waits_for_connection(void)
{
	struct thread *self = thread_self_app();

	if (self)
		request_wait_app(self);
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	int accepted;

	waits_for_connection();
	accepted = REAL(accept)(fd, address, length);
	if (accepted >= 0)
		connection_accepted_app(accepted);
	return accepted;
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length,
		   int flags)
{
	int accepted;

	waits_for_connection();
	accepted = REAL(accept4)(fd, address, length, flags);
	if (accepted >= 0)
		connection_accepted_app(accepted);
	return accepted;
}

/* Before the real call: after it the number may be someone else's. */
EXPORT int close(int fd)
{
	connection_closed_app(fd);
	return REAL(close)(fd);
}

/* The stream closes its descriptor inside the C library. */
EXPORT int fclose(FILE *stream)
{
	int saved = errno;

	connection_closed_app(fileno(stream));
	/* A stream without a descriptor is EBADF for fileno, none for fclose.
	 */
	errno = saved;
	return REAL(fclose)(stream);
}

EXPORT int shutdown(int fd, int how)
{
	if (how != SHUT_RD && connection_is_followed_app(fd))
		connection_shut_app(fd);
	return REAL(shutdown)(fd, how);
}

EXPORT int dup2(int from, int to)
{
	int result = REAL(dup2)(from, to);

	if (result >= 0 && from != to)
		connection_closed_app(to);
	return result;
}

EXPORT int dup3(int from, int to, int flags)
{
	int result = REAL(dup3)(from, to, flags);

	if (result >= 0)
		connection_closed_app(to);
	return result;
}

static void closed_range(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < CONNECTION_LIMIT; fd++)
		connection_closed_app((int)fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (!(flags & ONLY_CLOSE_ON_EXEC))
		closed_range(first, last);
	return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
	closed_range(first < 0 ? 0 : (unsigned)first, CONNECTION_LIMIT);
	REAL(closefrom)(first);
}
