/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets newcomers have the ring, see preload/rendezvous.h.
 */
#ifndef EXPORTER_JOIN_H
#define EXPORTER_JOIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "exporter/newcomers.h"

struct join {
	int listen_fd;
	int ring_fd;
	struct newcomers *newcomers; /* who joined; NULL: not noted */
	pthread_t thread;
	_Atomic bool ending;
};

/*
 * Starts to answer, on a thread of its own: a newcomer waits in its
 * constructor, while the main thread may be busy with a window. The struct must
 * outlive the exporter. Returns 0 or a negative errno.
 */
int join_serve(struct join *join);

/* No further newcomer is let in; who was let in has the ring by now. */
void join_end(struct join *join);

#endif
