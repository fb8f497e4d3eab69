/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes windows to a Pyroscope.
 *
 * The profiles are encoded here and now; a thread delivers them.
 */
#ifndef EXPORTER_PUSHER_H
#define EXPORTER_PUSHER_H

#include <stdbool.h>

#include "exporter/pprof.h"
#include "exporter/upload.h"
#include "preload/config.h"

struct pusher;

/* Starts the thread. NULL when no server is set, or when it can't be had, which
 * is logged. `environment` outlives the pusher. */
struct pusher *pusher_create(const struct config *config,
			     char *const *environment);

struct pusher_profile {
	struct window *window;
	struct pprof_times times;
	const char *const *comments; /* ended by NULL */
	const char *service;
};

/* Encodes the window and queues it. Returns 0 or -ENOMEM. */
int pusher_take(struct pusher *pusher, const struct pusher_profile *profile);

struct upload_counts pusher_counts(struct pusher *pusher);

/* Delivers what is queued, for three seconds at most, and tells what became of
 * it all. If it returns false, a thread still sits in a call to the server: the
 * process must end without running anything at exit. */
bool pusher_finish(struct pusher *pusher, struct upload_counts *counts);

#endif
