/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped into processes that have just joined: they may be gone before
 * the main thread looks at the ring. The joining thread reads it, while the
 * newcomer is still in its constructor, and the main thread takes it.
 */
#ifndef EXPORTER_NEWCOMERS_H
#define EXPORTER_NEWCOMERS_H

#include <pthread.h>
#include <stdint.h>

#include "exporter/proc_maps.h"

/* Between two looks; the oldest goes first. */
#define NEWCOMERS_MAX 256u

struct newcomer {
	uint32_t pid; /* 0: none */
	struct proc_maps maps;
};

struct newcomers {
	pthread_mutex_t newcomers_lock; /* of all that follows */
	struct newcomer row[NEWCOMERS_MAX];
	uint32_t next;
};

/* Zeros and this make an empty one. */
#define NEWCOMERS_INIT                                      \
	{                                                   \
		.newcomers_lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Reads what is mapped into a process now. */
void newcomers_note(struct newcomers *newcomers, uint32_t pid);

/* What was read of this process last, which is the caller's then; without a
 * text if there is none. */
struct proc_maps newcomers_take(struct newcomers *newcomers, uint32_t pid);

#endif
