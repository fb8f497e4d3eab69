/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded queue of uploads, and the thread that makes them.
 *
 * What a server does not take now is tried again (exporter/retry.h). When the
 * queue is full the oldest goes; nobody waits for the server except at the
 * end, and then for so long.
 */
#ifndef EXPORTER_UPLOAD_H
#define EXPORTER_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http.h"

#define UPLOAD_QUEUE_MAX 16u
#define UPLOAD_QUEUE_MAX_BYTES (32u << 20)
#define UPLOAD_TIMEOUT_MS 10000

struct upload_item {
	void *profile; /* of malloc */
	size_t profile_bytes;
	uint64_t start_ns; /* of the profile, since 1970 */
	uint64_t end_ns;
};

enum upload_loss {
	UPLOAD_REFUSED, /* the server will never take it */
	UPLOAD_TIRED,   /* too many tries */
	UPLOAD_OLD,     /* older than a server takes */
	UPLOAD_FULL,    /* pushed out of the queue */
	UPLOAD_END,     /* the exporter ended */
	UPLOAD_LOSSES
};

struct upload_counts {
	uint64_t sent;
	uint64_t retried; /* attempts after the first */
	uint64_t lost[UPLOAD_LOSSES];
};

/* What the thread calls; `context` is theirs. */
struct upload_calls {
	/* Before an attempt, and once at the start. */
	void (*prepare)(void *context);
	void (*send)(void *context, const struct upload_item *item,
		     long timeout_ms, struct http_answer *answer);
	void (*explain)(void *context, const struct http_answer *answer,
			const char *what_now);
	void *context;
};

struct upload;

/* Starts the thread. NULL when it can't be had. */
struct upload *upload_create(const struct upload_calls *calls);

/* Takes the item's profile. */
void upload_enqueue(struct upload *upload, const struct upload_item *item);

struct upload_counts upload_counts(struct upload *upload);

/* Waits until everything is delivered or given up, at most so long; what is
 * left then is counted as lost. Returns whether the thread has ended: if not,
 * it sits in a call, and neither the upload nor its context may be freed. */
bool upload_finish(struct upload *upload, long timeout_ms);

/* After upload_finish has returned true. */
void upload_destroy(struct upload *upload);

#endif
