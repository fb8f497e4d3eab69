/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining an exporter over its socket: the exporter's own server, and servers
 * that answer wrongly.
 * Runs on: the test program's main thread, a server's thread, and children.
 */
#include "exporter/join.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/rendezvous.h"
#include "tests/lib/crowd.h"
#include "tests/lib/unit.h"

/* A name of this program's own. */
static const char *new_name(void)
{
	static char name[RENDEZVOUS_NAME_BYTES];
	static unsigned count;
	char run[64];
	char *environment[] = {run, NULL};

	snprintf(run, sizeof(run), "SPANPROF_RUN=test %d %u", (int)getpid(),
		 ++count);
	CHECK_EQ(rendezvous_name(name, environment), 0);
	return name;
}

TEST(joining_nobody_is_refused_at_once)
{
	CHECK_EQ(rendezvous_join(new_name()), -ECONNREFUSED);
}

TEST(a_name_has_one_listener)
{
	const char *name = new_name();
	int fd = rendezvous_listen(name);

	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQ(rendezvous_listen(name), -EADDRINUSE);
	close(fd);
	fd = rendezvous_listen(name);
	CHECK(fd >= 0);
	close(fd);
}

/* Joins twice and finds what the server's side wrote into the ring. */
TEST(newcomers_get_the_rings_descriptor)
{
	static struct join join; /* outlives the test, as it demands */
	const char *name = new_name();
	struct ring *ours;

	join.listen_fd = rendezvous_listen(name);
	join.ring_fd = rendezvous_create_ring();
	CHECK(join.listen_fd >= 0 && join.ring_fd >= 0);
	ours = rendezvous_map(join.ring_fd);
	CHECK(ours != NULL);
	CHECK_EQ(join_serve(&join), 0);
	for (unsigned i = 1; i < 4; i++) {
		int fd = rendezvous_join(name);
		struct ring *theirs;

		CHECK(fd >= 0);
		CHECK(fd != join.ring_fd);
		CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		theirs = rendezvous_map(fd);
		close(fd);
		CHECK(theirs != NULL);
		ours->header.live_processes = i;
		CHECK_EQ(theirs->header.live_processes, i);
		munmap(theirs, sizeof(*theirs));
	}
	munmap(ours, sizeof(*ours));
}

/* ---- servers that do it wrong ---- */

struct answer {
	const char *name;
	int listen_fd;
	struct rendezvous_welcome text;
	size_t text_bytes;
	int fds[2];
	unsigned fd_count;
};

static void send_answer(int fd, struct answer *answer)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec data = {&answer->text, answer->text_bytes};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	size_t bytes = answer->fd_count * sizeof(int);

	memset(&control, 0, sizeof(control));
	if (bytes) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.head), answer->fds, bytes);
	}
	sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void *serve_once(void *context)
{
	struct answer *answer = context;
	int fd = accept(answer->listen_fd, NULL, NULL);

	if (answer->text_bytes)
		send_answer(fd, answer);
	close(fd);
	return NULL;
}

/* What rendezvous_join says to a server that answers so. */
static int join_answer(struct answer *answer)
{
	pthread_t server;
	int result;

	answer->name = new_name();
	answer->listen_fd = rendezvous_listen(answer->name);
	CHECK(answer->listen_fd >= 0);
	CHECK_EQ(pthread_create(&server, NULL, serve_once, answer), 0);
	result = rendezvous_join(answer->name);
	pthread_join(server, NULL);
	close(answer->listen_fd);
	return result;
}

static struct answer right_answer(int fd)
{
	struct answer answer = {
		.text = {.magic = RING_MAGIC,
			 .version = RING_VERSION,
			 .total_bytes = sizeof(struct ring)},
		.text_bytes = sizeof(struct rendezvous_welcome),
		.fds = {fd, fd},
		.fd_count = 1,
	};

	return answer;
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(a_server_that_answers_right_is_joined)
{
	struct answer answer = right_answer(0);
	int fd = join_answer(&answer);

	CHECK(fd > 0);
	close(fd);
}

TEST(a_server_that_answers_otherwise_is_no_exporter)
{
	struct answer wrong[5];

	for (int i = 0; i < 5; i++)
		wrong[i] = right_answer(0);
	wrong[0].text.magic++;
	wrong[1].text.version++;
	wrong[2].text_bytes -= 8;
	wrong[3].fd_count = 0;
	wrong[4].text_bytes = 0; /* closes without a word */
	for (int i = 0; i < 5; i++)
		CHECK_EQ(join_answer(&wrong[i]), -EPROTO);
}

/* A descriptor that came with a wrong answer must not stay open: the program
 * would have one more than it knows of. */
TEST(refusing_an_answer_leaves_no_descriptor)
{
	unsigned before = open_descriptors();
	struct answer wrong[2] = {right_answer(0), right_answer(0)};

	wrong[0].text.magic++;
	wrong[1].fd_count = 2;
	CHECK_EQ(join_answer(&wrong[0]), -EPROTO);
	CHECK_EQ(join_answer(&wrong[1]), -EPROTO);
	CHECK_EQ(open_descriptors(), before);
}

TEST(a_silent_server_is_waited_for_within_a_bound)
{
	const char *name = new_name();
	int fd = rendezvous_listen(name);

	CHECK(fd >= 0);
	CHECK_EQ(rendezvous_join(name), -ETIMEDOUT);
	close(fd);
}

/* ---- another user's server ---- */

static int serve_as_stranger(void *context)
{
	struct answer *answer = context;
	char byte = 'x';

	if (syscall(SYS_setresuid, 65534, 65534, 65534) != 0)
		return 2;
	answer->listen_fd = rendezvous_listen(answer->name);
	if (answer->listen_fd < 0 || write(answer->fds[1], &byte, 1) != 1)
		return 3;
	serve_once(answer);
	return 0;
}

TEST(a_server_of_another_user_is_not_trusted)
{
	struct answer answer = right_answer(0);
	int pipes[2];
	pid_t child;
	char byte;

	if (geteuid() != 0)
		unit_skip("changing the user needs root");
	CHECK_EQ(pipe(pipes), 0);
	answer.fds[1] = pipes[1];
	answer.name = new_name();
	child = crowd_fork(serve_as_stranger, &answer);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	CHECK_EQ(rendezvous_join(answer.name), -EPERM);
	crowd_wait(child);
	close(pipes[0]);
	close(pipes[1]);
}
