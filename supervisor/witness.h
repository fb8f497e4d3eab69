/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a signal that was sent to the supervisor was sent to others as
 * well.
 *
 * kill(2) says nothing about whether a signal went to one process or to a whole
 * group, and timeout(1) sends it to the one and then to all; systemd sends it
 * to each process of a unit. The program has got it already then, and must not
 * get it twice. So a process that does nothing sits in the supervisor's group:
 * whoever signals everybody signals it, too.
 */
#ifndef SUPERVISOR_WITNESS_H
#define SUPERVISOR_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
	pid_t pid; /* 0: none */
	int argc;  /* of the supervisor, to be wiped in the witness */
	char **argv;
};

/* With SIGCHLD at its default. Where there is no process to be had, nothing is
 * ever seen. */
void witness_start(struct witness *witness, int argc, char **argv);

/* A child of the supervisor was reaped: if it was the witness, another one
 * takes its place. */
void witness_reaped(struct witness *witness, pid_t pid);

/* Whether the witness has got this signal since it was last asked. Waits for a
 * moment for a sender who signals one after the other. */
bool witness_has_seen(struct witness *witness, int signal_number);

void witness_end(struct witness *witness);

#endif
