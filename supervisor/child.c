/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork and exec, with the error of exec told to the parent.
 * Runs on: the supervisor and its children.
 */
#include "supervisor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/rendezvous.h"

#ifndef SYS_close_range /* Linux 5.9 */
#define SYS_close_range 436
#endif
#define CLOSE_RANGE_ON_EXEC 4 /* linux/close_range.h, Linux 5.11 */

/* A pipe that closes when exec succeeds, or brings errno when it fails. */
static pid_t fork_with_pipe(int *fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	*fd = ends[pid == 0];
	close(ends[pid != 0]);
	if (pid < 0)
		close(*fd);
	return pid;
}

static int result_of(int fd)
{
	int error = 0;
	ssize_t got;

	do
		got = read(fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(fd);
	return got == sizeof(error) ? -error : 0;
}

__attribute__((noreturn)) static void report(int fd)
{
	int error = errno;

	if (write(fd, &error, sizeof(error)) < 0)
		_exit(125);
	_exit(127);
}

/* Out of the way of the numbers that they are to get. */
static int move_up(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

/* Not every image has devices, and the program's streams are not to be kept. */
static int open_nothing(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd < 0 ? memfd_create("null", MFD_CLOEXEC) : fd;
}

static void become_exporter(const struct child_exporter *what, int pipe_fd)
{
	char name[] = "spanprof-exporter";
	char supervised[] = "--supervised";
	char *program = strdup(what->program);
	char *arguments[] = {name, supervised, program, NULL};
	int null = move_up(open_nothing());
	int ring_fd = move_up(what->ring_fd);
	int listen_fd = move_up(what->listen_fd);
	int summary_fd = move_up(what->summary_fd);
	sigset_t end;

	pipe_fd = move_up(pipe_fd);
	setsid();
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	dup2(ring_fd, RENDEZVOUS_RING_FD);
	dup2(listen_fd, RENDEZVOUS_LISTEN_FD);
	dup2(summary_fd < 0 ? null : summary_fd, RENDEZVOUS_SUMMARY_FD);
	/* What the supervisor inherited is the program's. */
	syscall(SYS_close_range, RENDEZVOUS_SUMMARY_FD + 1, ~0u,
		CLOSE_RANGE_ON_EXEC);
	unsetenv("LD_PRELOAD");
	setenv(RENDEZVOUS_EXPORTER_MARK, "1", 1);
	setenv(RENDEZVOUS_REPORT, what->report, 1);
	/* The end may come before it is ready to be told of it. */
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_SETMASK, &end, NULL);
	execv(what->path, arguments);
	report(pipe_fd);
}

int child_start_exporter(const struct child_exporter *what, pid_t *pid)
{
	int fd;
	int error;

	*pid = fork_with_pipe(&fd);
	if (*pid < 0)
		return -errno;
	if (*pid == 0)
		become_exporter(what, fd);
	error = result_of(fd);
	if (error)
		*pid = 0;
	return error;
}

void child_give_back_signals(const struct child_signals *signals)
{
	sigaction(SIGCHLD, &signals->on_child, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

int child_start_program(char **command, const struct child_signals *signals,
			pid_t *pid)
{
	int fd;

	*pid = fork_with_pipe(&fd);
	if (*pid < 0)
		return -errno;
	if (*pid == 0) {
		child_give_back_signals(signals);
		execvp(command[0], command);
		report(fd);
	}
	return result_of(fd);
}
