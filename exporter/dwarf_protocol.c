/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with descriptors.
 * Runs on: the exporter's main thread; the process that reads DWARF.
 */
#include "exporter/dwarf_protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS 2

union control {
	struct cmsghdr head;
	uint8_t room[CMSG_SPACE(FDS * sizeof(int))];
};

static struct msghdr head_of(struct iovec *bytes, union control *control)
{
	return (struct msghdr){.msg_iov = bytes,
			       .msg_iovlen = 1,
			       .msg_control = control,
			       .msg_controllen = sizeof(*control)};
}

static void add_fds(struct msghdr *head, const int fds[FDS])
{
	struct cmsghdr *control = CMSG_FIRSTHDR(head);
	size_t count = fds[0] < 0 ? 0 : fds[1] < 0 ? 1 : 2;

	if (count == 0) {
		head->msg_control = NULL;
		head->msg_controllen = 0;
		return;
	}
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(control), fds, count * sizeof(int));
	head->msg_controllen = CMSG_SPACE(count * sizeof(int));
}

int dwarf_message_send(int socket, const struct dwarf_message *message)
{
	struct iovec bytes = {message->bytes, message->len_bytes};
	union control control = {.room = {0}};
	struct msghdr head = head_of(&bytes, &control);

	add_fds(&head, message->fds);
	if (sendmsg(socket, &head, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EINTR ? -EAGAIN : -errno;
}

static void take_fds(struct msghdr *head, int fds[FDS])
{
	struct cmsghdr *control = CMSG_FIRSTHDR(head);
	size_t bytes;

	fds[0] = fds[1] = -1;
	if (!control || control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_RIGHTS)
		return;
	bytes = control->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(control),
	       bytes < FDS * sizeof(int) ? bytes : FDS * sizeof(int));
}

static void close_fds(const int fds[FDS])
{
	for (unsigned int i = 0; i < FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int dwarf_message_receive(int socket, struct dwarf_message *message)
{
	struct iovec bytes = {message->bytes, message->len_bytes};
	union control control = {.room = {0}};
	struct msghdr head = head_of(&bytes, &control);
	ssize_t got = recvmsg(socket, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (got == 0)
		return -EPIPE;
	take_fds(&head, message->fds);
	if ((size_t)got == message->len_bytes)
		return 0;
	close_fds(message->fds);
	return -EBADMSG;
}
