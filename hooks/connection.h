/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of this process, by descriptor: follows the bytes of accepted
 * sockets and turns requests into spans.
 *
 * Each function is called by a hook beside the real call. A descriptor that is
 * not followed costs connection_role_app, one load.
 */
#ifndef HOOKS_CONNECTION_H
#define HOOKS_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Descriptors above are not followed, and counted. */
#define CONNECTION_LIMIT 65536u

enum connection_role {
	CONNECTION_NONE, /* no socket of ours */
	CONNECTION_ACCEPTED,
	CONNECTION_LISTENING
};

/* One byte a descriptor, zeros before the constructor. Written by the hooks of
 * listen, accept and close, read by all. */
extern _Atomic uint8_t connection_roles[CONNECTION_LIMIT];

/* Maps the table. Returns 0 or -ENOMEM. Called by the constructor. */
int connection_table_map(void);

static inline enum connection_role connection_role_app(int fd)
{
	if ((unsigned)fd >= CONNECTION_LIMIT)
		return CONNECTION_NONE;
	return (enum connection_role)atomic_load_explicit(&connection_roles[fd],
							  memory_order_relaxed);
}

static inline bool connection_is_followed_app(int fd)
{
	return connection_role_app(fd) == CONNECTION_ACCEPTED;
}

/* listen succeeded. */
void connection_listening_app(int fd);

/* accept gave this descriptor. */
void connection_accepted_app(int fd);

/* The descriptor is about to be closed, or was replaced (dup2). */
void connection_closed_app(int fd);

/* No further response byte will be sent (shutdown). */
void connection_shut_app(int fd);

/* `length` bytes were read into, or written from, these parts, which may be
 * longer. fd is followed. */
void connection_received_app(int fd, const struct iovec *parts, size_t count,
			     size_t length);
void connection_sent_app(int fd, const struct iovec *parts, size_t count,
			 size_t length);

/* Bytes whose contents are not known (MSG_TRUNC, sendfile). */
void connection_received_unseen_app(int fd, size_t length);
void connection_sent_unseen_app(int fd, size_t length);

#endif
