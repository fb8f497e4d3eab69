/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that is rewritten while the program runs.
 *
 * Only where it was asked for, stderr is a terminal that can go back to the
 * line's beginning (TERM other than "dumb") and the program's output goes
 * elsewhere: on a terminal that both write to, one would overwrite the other.
 */
#ifndef SUPERVISOR_PROGRESS_H
#define SUPERVISOR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ring;

struct progress {
	bool on;
	bool shown;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t next_ns;
};

/* Says why if it was asked for and can't be. */
void progress_begin(struct progress *progress, bool wanted);

/* How long to wait for a signal until the line is due; -1: for ever. */
int progress_wait_ms(const struct progress *progress);

/* Rewrites the line when it is due. Without a ring (NULL) there is none. */
void progress_show(struct progress *progress, const struct ring *ring);

/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
