/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from and writes to sockets by each call that a server may use.
 * Runs on: the connection threads of the test servers.
 */
#include "tests/servers/io_calls.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* glibc declares these only when _FORTIFY_SOURCE asks for them. */
ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t room,
		       int flags, struct sockaddr *address, socklen_t *len);

#define PIECES 3

/* Cuts a buffer into 3 bytes, 7 bytes and the rest, so that the vectored calls
 * hand over heads in pieces. Returns the number of pieces. */
static int cut(struct iovec *pieces, void *buffer, size_t bytes)
{
	static const size_t sizes[PIECES] = {3, 7, SIZE_MAX};
	char *at = buffer;
	int count = 0;

	for (int i = 0; i < PIECES && bytes > 0; i++) {
		size_t part = bytes < sizes[i] ? bytes : sizes[i];

		pieces[count].iov_base = at;
		pieces[count++].iov_len = part;
		at += part;
		bytes -= part;
	}
	return count;
}

static ssize_t by_recv(int fd, void *buffer, size_t bytes)
{
	return recv(fd, buffer, bytes, 0);
}

static ssize_t by_recvfrom(int fd, void *buffer, size_t bytes)
{
	return recvfrom(fd, buffer, bytes, 0, NULL, NULL);
}

static ssize_t by_recvmsg(int fd, void *buffer, size_t bytes)
{
	struct iovec pieces[PIECES];
	struct msghdr message = {.msg_iov = pieces};

	message.msg_iovlen = (size_t)cut(pieces, buffer, bytes);
	return recvmsg(fd, &message, 0);
}

static ssize_t by_readv(int fd, void *buffer, size_t bytes)
{
	struct iovec pieces[PIECES];

	return readv(fd, pieces, cut(pieces, buffer, bytes));
}

static ssize_t by_read_chk(int fd, void *buffer, size_t bytes)
{
	return __read_chk(fd, buffer, bytes, bytes);
}

static ssize_t by_recv_chk(int fd, void *buffer, size_t bytes)
{
	return __recv_chk(fd, buffer, bytes, bytes, 0);
}

static ssize_t by_recvfrom_chk(int fd, void *buffer, size_t bytes)
{
	return __recvfrom_chk(fd, buffer, bytes, bytes, 0, NULL, NULL);
}

static ssize_t by_peek(int fd, void *buffer, size_t bytes)
{
	ssize_t n = recv(fd, buffer, bytes, MSG_PEEK);

	return n <= 0 ? n : recv(fd, buffer, bytes, 0);
}

static ssize_t by_writev(int fd, const void *buffer, size_t bytes)
{
	struct iovec pieces[PIECES];
	void *from;

	memcpy(&from, &buffer, sizeof(from));
	return writev(fd, pieces, cut(pieces, from, bytes));
}

static ssize_t by_send(int fd, const void *buffer, size_t bytes)
{
	return send(fd, buffer, bytes, MSG_NOSIGNAL);
}

static ssize_t by_sendto(int fd, const void *buffer, size_t bytes)
{
	return sendto(fd, buffer, bytes, MSG_NOSIGNAL, NULL, 0);
}

static ssize_t by_sendmsg(int fd, const void *buffer, size_t bytes)
{
	struct iovec pieces[PIECES];
	struct msghdr message = {.msg_iov = pieces};
	void *from;

	memcpy(&from, &buffer, sizeof(from));
	message.msg_iovlen = (size_t)cut(pieces, from, bytes);
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static const struct {
	const char *name;
	ssize_t (*call)(int, void *, size_t);
} readers[] = {
	{"read", read},
	{"recv", by_recv},
	{"recvfrom", by_recvfrom},
	{"recvmsg", by_recvmsg},
	{"readv", by_readv},
	{"read_chk", by_read_chk},
	{"recv_chk", by_recv_chk},
	{"recvfrom_chk", by_recvfrom_chk},
	{"peek", by_peek},
};

static const struct {
	const char *name;
	ssize_t (*call)(int, const void *, size_t);
} writers[] = {
	{"write", write},      {"writev", by_writev},   {"send", by_send},
	{"sendto", by_sendto}, {"sendmsg", by_sendmsg},
};

ssize_t (*io_reader(const char *name))(int, void *, size_t)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (strcmp(readers[i].name, name) == 0)
			return readers[i].call;
	return NULL;
}

ssize_t (*io_writer(const char *name))(int, const void *, size_t)
{
	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++)
		if (strcmp(writers[i].name, name) == 0)
			return writers[i].call;
	return NULL;
}
