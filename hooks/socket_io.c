/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read from and written to sockets (glibc 2.2.5 and later; the _chk
 * forms are what _FORTIFY_SOURCE makes of the plain ones). One request is a
 * head in the bytes of an accepted socket, see hooks/connection.h.
 * Runs on: the program's threads.
 */
#undef _FORTIFY_SOURCE
#include <stdbool.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hooks/connection.h"
#include "hooks/hook.h"

ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t size,
		       int flags, struct sockaddr *address, socklen_t *length);

HOOK(read);
HOOK(__read_chk);
HOOK(readv);
HOOK(recv);
HOOK(__recv_chk);
HOOK(recvfrom);
HOOK(__recvfrom_chk);
HOOK(recvmsg);
HOOK(write);
HOOK(writev);
HOOK(send);
HOOK(sendto);
HOOK(sendmsg);
HOOK(sendfile);
HOOK(sendfile64);

/* Peeked bytes come again; urgent ones and errors are no part of the stream. */
#define NOT_THE_STREAM (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)

static void received(int fd, const void *buffer, ssize_t got)
{
	struct iovec part = {(void *)(uintptr_t)buffer, (size_t)got};

	if (got > 0 && connection_is_followed_app(fd))
		connection_received_app(fd, &part, 1, (size_t)got);
}

static void received_with(int fd, const void *buffer, ssize_t got, int flags)
{
	if (got <= 0 || (flags & NOT_THE_STREAM) ||
	    !connection_is_followed_app(fd))
		return;
	if (flags & MSG_TRUNC)
		connection_received_unseen_app(fd, (size_t)got);
	else
		received(fd, buffer, got);
}

static void sent(int fd, const void *buffer, ssize_t done)
{
	struct iovec part = {(void *)(uintptr_t)buffer, (size_t)done};

	if (done > 0 && connection_is_followed_app(fd))
		connection_sent_app(fd, &part, 1, (size_t)done);
}

static void sent_parts(int fd, const struct iovec *parts, size_t count,
		       ssize_t done)
{
	if (done > 0 && connection_is_followed_app(fd))
		connection_sent_app(fd, parts, count, (size_t)done);
}

static void sent_unseen(int fd, ssize_t done)
{
	if (done > 0 && connection_is_followed_app(fd))
		connection_sent_unseen_app(fd, (size_t)done);
}

EXPORT ssize_t read(int fd, void *buffer, size_t bytes)
{
	ssize_t got = REAL(read)(fd, buffer, bytes);

	received(fd, buffer, got);
	return got;
}

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t size)
{
	ssize_t got = REAL(__read_chk)(fd, buffer, bytes, size);

	received(fd, buffer, got);
	return got;
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t got = REAL(readv)(fd, parts, count);

	if (got > 0 && connection_is_followed_app(fd))
		connection_received_app(fd, parts, (size_t)count, (size_t)got);
	return got;
}

EXPORT ssize_t recv(int fd, void *buffer, size_t bytes, int flags)
{
	ssize_t got = REAL(recv)(fd, buffer, bytes, flags);

	received_with(fd, buffer, got, flags);
	return got;
}

EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t size,
			  int flags)
{
	ssize_t got = REAL(__recv_chk)(fd, buffer, bytes, size, flags);

	received_with(fd, buffer, got, flags);
	return got;
}

EXPORT ssize_t recvfrom(int fd, void *buffer, size_t bytes, int flags,
			struct sockaddr *address, socklen_t *length)
{
	ssize_t got = REAL(recvfrom)(fd, buffer, bytes, flags, address, length);

	received_with(fd, buffer, got, flags);
	return got;
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t size,
			      int flags, struct sockaddr *address,
			      socklen_t *length)
{
	ssize_t got = REAL(__recvfrom_chk)(fd, buffer, bytes, size, flags,
					   address, length);

	received_with(fd, buffer, got, flags);
	return got;
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got = REAL(recvmsg)(fd, message, flags);

	if (got <= 0 || (flags & NOT_THE_STREAM) ||
	    !connection_is_followed_app(fd))
		return got;
	if (flags & MSG_TRUNC)
		connection_received_unseen_app(fd, (size_t)got);
	else
		connection_received_app(fd, message->msg_iov,
					message->msg_iovlen, (size_t)got);
	return got;
}

EXPORT ssize_t write(int fd, const void *buffer, size_t bytes)
{
	ssize_t done = REAL(write)(fd, buffer, bytes);

	sent(fd, buffer, done);
	return done;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t done = REAL(writev)(fd, parts, count);

	sent_parts(fd, parts, (size_t)count, done);
	return done;
}

EXPORT ssize_t send(int fd, const void *buffer, size_t bytes, int flags)
{
	ssize_t done = REAL(send)(fd, buffer, bytes, flags);

	if (!(flags & MSG_OOB))
		sent(fd, buffer, done);
	return done;
}

EXPORT ssize_t sendto(int fd, const void *buffer, size_t bytes, int flags,
		      const struct sockaddr *address, socklen_t length)
{
	ssize_t done = REAL(sendto)(fd, buffer, bytes, flags, address, length);

	if (!(flags & MSG_OOB))
		sent(fd, buffer, done);
	return done;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t done = REAL(sendmsg)(fd, message, flags);

	/* A message that could not be read is EFAULT, not ours to read. */
	if (done > 0 && !(flags & MSG_OOB))
		sent_parts(fd, message->msg_iov, message->msg_iovlen, done);
	return done;
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t bytes)
{
	ssize_t done = REAL(sendfile)(to, from, offset, bytes);

	sent_unseen(to, done);
	return done;
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes)
{
	ssize_t done = REAL(sendfile64)(to, from, offset, bytes);

	sent_unseen(to, done);
	return done;
}
