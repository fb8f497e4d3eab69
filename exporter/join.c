/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers each connection with the ring's descriptor.
 * Runs on: a thread of its own in the exporter.
 */
#include "exporter/join.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/log.h"
#include "preload/rendezvous.h"

/* The same user, or root, who may see everything anyway. */
static bool is_trusted(int fd, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &bytes) != 0)
		return false;
	return peer->uid == 0 || peer->uid == geteuid();
}

static void welcome(int fd, int ring_fd)
{
	struct rendezvous_welcome text = {
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.total_bytes = sizeof(struct ring),
	};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {&text, sizeof(text)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &ring_fd, sizeof(int));
	/* The newcomer is there and has an empty queue: this never waits. */
	if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_message(CONFIG_LOG_WARN,
			    "a process could not be given the ring: %s",
			    strerror(errno));
}

static void greet(const struct join *join, int fd)
{
	struct ucred peer;

	if (!is_trusted(fd, &peer))
		return;
	welcome(fd, join->ring_fd);
	if (join->newcomers)
		newcomers_note(join->newcomers, (uint32_t)peer.pid);
}

static void *serve(void *argument)
{
	struct join *join = argument;

	while (!join->ending) {
		int fd = accept4(join->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			if (join->ending)
				break;
			/* Out of descriptors or memory: newcomers wait. */
			usleep(10000);
			continue;
		}
		greet(join, fd);
		close(fd);
	}
	return NULL;
}

int join_serve(struct join *join)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&join->thread, NULL, serve, join);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

void join_end(struct join *join)
{
	join->ending = true;
	/* accept returns. */
	shutdown(join->listen_fd, SHUT_RDWR);
	pthread_join(join->thread, NULL);
}
