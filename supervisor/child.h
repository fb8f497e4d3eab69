/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the supervisor's two children.
 */
#ifndef SUPERVISOR_CHILD_H
#define SUPERVISOR_CHILD_H

#include <signal.h>
#include <sys/types.h>

struct child_exporter {
	const char *path;
	const char *program; /* what is profiled, for the service's name */
	int ring_fd;
	int listen_fd;
	int summary_fd;     /* a memfd that it writes its last words into */
	const char *report; /* how they call the report command */
};

/* The exporter, with its three descriptors in their places and no preload, in a
 * session of its own: what is sent to the program's group is not meant for it.
 * Returns 0, or the negative errno with which its execve failed. */
int child_start_exporter(const struct child_exporter *what, pid_t *pid);

/* What the supervisor was started with, and changed for itself. */
struct child_signals {
	sigset_t mask;
	struct sigaction on_child; /* SIGCHLD's disposition */
};

/* As they were. */
void child_give_back_signals(const struct child_signals *signals);

/* The program, looked up in PATH, with these signals. Returns 0 or the negative
 * errno of execvp. */
int child_start_program(char **command, const struct child_signals *signals,
			pid_t *pid);

#endif
