/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes pushes of windows.
 * Runs on: the exporter's main thread; the calls for the upload on the
 * uploading one.
 */
#include "exporter/pusher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "exporter/log.h"
#include "exporter/series.h"
#include "exporter/server.h"
#include "preload/version.h"

/* Less than the supervisor waits for the last delivery. */
#define FINISH_MS 3000

struct pusher {
	const struct config *config;
	char *const *environment;
	struct server *server;
	/* Empty until the service has its name; the main thread's until the
	 * first profile is queued, then const. */
	struct series series;
	struct upload *upload;
};

static void prepare(void *context)
{
	const struct pusher *pusher = context;

	if (pusher->config->trace_id == CONFIG_TRACE_ID_AUTO)
		server_ask_version(pusher->server);
}

static void send_item(void *context, const struct upload_item *item,
		      long timeout_ms, struct http_answer *answer)
{
	const struct pusher *pusher = context;
	struct server_profile profile = {
		.series = &pusher->series,
		.bytes = item->profile,
		.len_bytes = item->profile_bytes,
		.start_ns = item->start_ns,
		.end_ns = item->end_ns,
	};

	server_push(pusher->server, &profile, timeout_ms, answer);
}

static void explain(void *context, const struct http_answer *answer,
		    const char *what_now)
{
	const struct pusher *pusher = context;

	server_explain(pusher->server, answer, what_now);
}

static void warn_label(const char *label, const char *reason)
{
	log_message(CONFIG_LOG_WARN, "label \"%s\" is not used: %s", label,
		    reason);
}

static void add_user_labels(struct pusher *pusher)
{
	struct series_list list = {
		config_lookup(pusher->environment, "SPANPROF_LABELS"), 0};

	if (!list.text) {
		list.text =
			config_lookup(pusher->environment, "PYROSCOPE_LABELS");
		list.colon = 1;
	}
	if (list.text)
		series_add_list(&pusher->series, &list, warn_label);
}

/* __name__ makes it the CPU profile that Grafana looks for from a trace, the
 * scope is by which servers count their clients, and service_namespace is what
 * Grafana selects by when spans bear service.namespace. */
static void name_series(struct pusher *pusher, const char *service)
{
	struct series *series = &pusher->series;
	char namespace[CONFIG_SERVICE_BYTES];
	const char *fault;

	series_add(series, "__name__", "process_cpu");
	fault = series_add(series, "service_name", service);
	if (fault) {
		log_message(CONFIG_LOG_WARN, "the service's name: %s", fault);
		series_add(series, "service_name", "unknown_service");
	}
	series_add(series, "otel.scope.name", "spanprof");
	series_add(series, "otel.scope.version", SPANPROF_VERSION);
	series_add(series, "process.runtime.name", "native");
	if (config_resource_attribute(pusher->environment, "service.namespace",
				      namespace))
		series_add(series, "service_namespace", namespace);
	add_user_labels(pusher);
}

static enum pprof_ids which_ids(const struct pusher *pusher)
{
	enum config_trace_id wish = pusher->config->trace_id;

	if (wish == CONFIG_TRACE_ID_TRUE ||
	    (wish == CONFIG_TRACE_ID_AUTO &&
	     server_keeps_trace_id(pusher->server)))
		return PPROF_IDS_PUSHED_ALL;
	return PPROF_IDS_PUSHED;
}

struct pusher *pusher_create(const struct config *config,
			     char *const *environment)
{
	struct server *server = server_create(environment);
	struct pusher *pusher = server ? calloc(1, sizeof(*pusher)) : NULL;
	struct upload_calls calls = {prepare, send_item, explain, pusher};

	if (!pusher) {
		server_destroy(server);
		return NULL;
	}
	pusher->config = config;
	pusher->environment = environment;
	pusher->server = server;
	pusher->upload = upload_create(&calls);
	if (pusher->upload)
		return pusher;
	log_message(CONFIG_LOG_ERROR, "nothing is pushed: no thread for it");
	server_destroy(server);
	free(pusher);
	return NULL;
}

int pusher_take(struct pusher *pusher, const struct pusher_profile *profile)
{
	struct pprof_times times = profile->times;
	struct upload_item item = {
		.start_ns = times.start_ns,
		.end_ns = times.start_ns + times.duration_ns,
	};
	int error;

	if (!pusher->series.count)
		name_series(pusher, profile->service);
	times.ids = which_ids(pusher);
	error = pprof_encode(profile->window, &times, profile->comments,
			     &item.profile, &item.profile_bytes);
	if (!error)
		upload_enqueue(pusher->upload, &item);
	return error;
}

struct upload_counts pusher_counts(struct pusher *pusher)
{
	return upload_counts(pusher->upload);
}

bool pusher_finish(struct pusher *pusher, struct upload_counts *counts)
{
	bool ended = upload_finish(pusher->upload, FINISH_MS);
	const uint64_t *lost = counts->lost;

	*counts = upload_counts(pusher->upload);
	log_message(CONFIG_LOG_INFO,
		    "pushed %" PRIu64 " profiles, %" PRIu64
		    " tries more; lost: %" PRIu64 " refused, %" PRIu64
		    " after too many tries, %" PRIu64 " too old, %" PRIu64
		    " for lack of room, %" PRIu64 " at the end",
		    counts->sent, counts->retried, lost[UPLOAD_REFUSED],
		    lost[UPLOAD_TIRED], lost[UPLOAD_OLD], lost[UPLOAD_FULL],
		    lost[UPLOAD_END]);
	if (!ended)
		return false;
	upload_destroy(pusher->upload);
	server_destroy(pusher->server);
	series_fini(&pusher->series);
	free(pusher);
	return true;
}
