/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the process that reads DWARF and talks to it.
 * Runs on: the exporter's main thread.
 */
#include "exporter/dwarf_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/line_index.h"
#include "exporter/log.h"
#include "exporter/regular_file.h"

#define ARGUMENTS_MAX 16u
#define UNITS_BYTES_MAX (DWARF_RANGES_MAX * sizeof(struct dwarf_unit_range))

static void fill_arguments(const struct dwarf_client *client,
			   char *to[ARGUMENTS_MAX + 2])
{
	unsigned int count = 0;

	while (client->arguments && client->arguments[count] &&
	       count < ARGUMENTS_MAX) {
		to[count] = client->arguments[count];
		count++;
	}
	if (count == 0)
		to[count++] = (char *)(uintptr_t)client->program;
	to[count++] = (char *)(uintptr_t)DWARF_READER_ARGUMENT;
	to[count] = NULL;
}

/* The socket takes the place of the exporter's ring; all else is closed. Of the
 * environment, which may hold credentials, nothing is left but that the library
 * shall stay off there, too. */
static int spawn(struct dwarf_client *client, int socket)
{
	char *arguments[ARGUMENTS_MAX + 2];
	char *const environment[] = {
		(char *)(uintptr_t) "SPANPROF_DISABLED=true", NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	fill_arguments(client, arguments);
	error = posix_spawn_file_actions_adddup2(&actions, socket,
						 DWARF_READER_FD);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(
			&actions, DWARF_READER_FD + 1);
	if (!error)
		error = posix_spawn(&client->pid, client->program, &actions,
				    NULL, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int start(struct dwarf_client *client)
{
	int sockets[2];
	int error;

	if (client->pid)
		return 0;
	if (!client->program || client->deaths >= DWARF_CLIENT_DEATHS_MAX)
		return -ENOTSUP;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	error = spawn(client, sockets[1]);
	close(sockets[1]);
	if (!error) {
		client->socket = sockets[0];
		return 0;
	}
	close(sockets[0]);
	client->pid = 0;
	client->deaths = DWARF_CLIENT_DEATHS_MAX;
	log_message(CONFIG_LOG_WARN, "%s can't be started: no source lines",
		    client->program);
	return error;
}

static struct dwarf_asked pop(struct dwarf_client *client)
{
	struct dwarf_asked asked = client->asked[client->first];

	client->first = (client->first + 1) % DWARF_CLIENT_QUESTIONS;
	client->count--;
	return asked;
}

static void tell(const struct dwarf_asked *asked, int error, void *bytes,
		 size_t len_bytes)
{
	if (asked->asker)
		asked->answered(asked->asker, &asked->request, error, bytes,
				len_bytes);
	else
		free(bytes);
}

/* Whether it ended by itself, as it does when it is not asked for long. */
static bool reap(struct dwarf_client *client)
{
	int status = 0;
	pid_t got;

	close(client->socket);
	do
		got = waitpid(client->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	client->pid = 0;
	return got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The process is gone, or says what makes no sense. */
static void lose(struct dwarf_client *client)
{
	bool is_first = client->count > 0;

	if (client->pid)
		kill(client->pid, SIGKILL);
	if (reap(client))
		is_first = false;
	else
		client->deaths++;
	if (client->deaths == DWARF_CLIENT_DEATHS_MAX)
		log_message(CONFIG_LOG_WARN,
			    "the debug information of %u files can't be read: "
			    "no further source lines",
			    DWARF_CLIENT_DEATHS_MAX);
	for (uint32_t n = client->count; n > 0; n--) {
		struct dwarf_asked asked = pop(client);

		tell(&asked, is_first ? -EFAULT : -EAGAIN, NULL, 0);
		is_first = false;
	}
}

/* Copies what the process can't change any more. NULL when it can't be had. */
static void *read_all(int fd, size_t len_bytes)
{
	char *bytes = malloc(len_bytes ? len_bytes : 1);
	size_t at = 0;

	while (bytes && at < len_bytes) {
		ssize_t got = pread(fd, bytes + at, len_bytes - at, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(bytes);
			return NULL;
		}
		at += (size_t)got;
	}
	return bytes;
}

static bool is_sane(const struct dwarf_request *request,
		    const struct dwarf_answer *answer, int fd)
{
	size_t most = request->question == DWARF_INDEX ? LINE_INDEX_BYTES_MAX
						       : UNITS_BYTES_MAX;

	if (answer->error)
		return answer->error > -4096 && answer->error < 0;
	return fd >= 0 && answer->len_bytes <= most && regular_file_is(fd);
}

/* 0 when an answer was taken. */
static int take_one(struct dwarf_client *client)
{
	struct dwarf_answer answer;
	struct dwarf_message message = {&answer, sizeof(answer), {-1, -1}};
	int error = dwarf_message_receive(client->socket, &message);
	struct dwarf_asked asked;
	void *bytes = NULL;

	if (error)
		return error;
	if (client->count == 0)
		return -EPROTO;
	if (!is_sane(&client->asked[client->first].request, &answer,
		     message.fds[0]))
		error = -EPROTO;
	else if (!answer.error)
		bytes = read_all(message.fds[0], answer.len_bytes);
	for (unsigned int i = 0; i < 2; i++)
		if (message.fds[i] >= 0)
			close(message.fds[i]);
	if (error)
		return error;
	asked = pop(client);
	if (!answer.error && !bytes)
		answer.error = -ENOMEM;
	tell(&asked, answer.error, bytes, answer.len_bytes);
	return 0;
}

bool dwarf_client_take(struct dwarf_client *client, int timeout_ms)
{
	struct pollfd answer = {client->socket, POLLIN, 0};
	bool is_told = false;
	int error;

	if (!client->pid)
		return false;
	if (timeout_ms)
		poll(&answer, 1, timeout_ms);
	while ((error = take_one(client)) == 0)
		is_told = true;
	if (error != -EAGAIN) {
		lose(client);
		is_told = true;
	}
	return is_told;
}

int dwarf_client_ask(struct dwarf_client *client,
		     const struct dwarf_asked *question, const int fds[2])
{
	struct dwarf_asked *next =
		&client->asked[(client->first + client->count) %
			       DWARF_CLIENT_QUESTIONS];
	struct dwarf_message message = {
		&next->request, sizeof(next->request), {fds[0], fds[1]}};
	int error;

	if (client->count == DWARF_CLIENT_QUESTIONS)
		return -EAGAIN;
	error = start(client);
	if (error)
		return error;
	*next = *question;
	error = dwarf_message_send(client->socket, &message);
	/* It has just ended: that is seen when its answer is to be taken. */
	if (error == -EPIPE || error == -ECONNRESET)
		return -EAGAIN;
	if (!error)
		client->count++;
	return error;
}

void dwarf_client_forget(struct dwarf_client *client, const void *asker)
{
	for (uint32_t i = 0; i < client->count; i++) {
		struct dwarf_asked *asked =
			&client->asked[(client->first + i) %
				       DWARF_CLIENT_QUESTIONS];

		if (asked->asker == asker)
			asked->asker = NULL;
	}
}

uint32_t dwarf_client_number(struct dwarf_client *client)
{
	if (++client->next_file == 0)
		client->next_file = 1;
	return client->next_file;
}

void dwarf_client_fini(struct dwarf_client *client)
{
	client->program = NULL; /* nothing is asked again */
	if (client->pid)
		lose(client);
}
