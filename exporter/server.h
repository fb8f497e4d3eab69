/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Pyroscope, as it is spoken with.
 */
#ifndef EXPORTER_SERVER_H
#define EXPORTER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http.h"
#include "exporter/series.h"

struct server;

/* To be called before there is a second thread. `environment` outlives the
 * server. NULL when none is set, or when it can't be had, which is logged. */
struct server *server_create(char *const *environment);
void server_destroy(struct server *server);

/* Delivers a profile, by push.v1.PusherService or, where there is none, by
 * /ingest; what has worked is gone on with, and the better way tried again now
 * and then. 200 with a web page is no answer of a Pyroscope's: its status
 * becomes HTTP_STATUS_NEVER. */
struct server_profile {
	const struct series *series;
	const void *bytes; /* a pprof, gzip'ed */
	size_t len_bytes;
	uint64_t start_ns; /* since 1970 */
	uint64_t end_ns;
};
void server_push(struct server *server, const struct server_profile *profile,
		 long timeout_ms, struct http_answer *answer);

/* Asks for its version, unless it has answered before or has often been silent.
 * Takes two seconds at most. */
void server_ask_version(struct server *server);

/* Whether it is known to keep a trace_id on the sample: 2.1 or later; before
 * that each would become a series. May be called by any thread. */
bool server_keeps_trace_id(const struct server *server);

/* Logs an answer that is no success, and what to do about it; each kind
 * once. */
void server_explain(struct server *server, const struct http_answer *answer,
		    const char *what_now);

/* Whether a version, as buildinfo has it, is 2.1 or later. */
bool server_version_keeps_trace_id(const char *version);

#endif
