/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talks with a Pyroscope, and explains what it answers.
 * Runs on: the exporter's uploading thread, once it is made.
 */
#include "exporter/server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporter/clock.h"
#include "exporter/ingest.h"
#include "exporter/json.h"
#include "exporter/log.h"
#include "exporter/push.h"
#include "exporter/utf8.h"

#define EXPLAINED_MAX 32u
/* Less than the end of the exporter has: a profile waits meanwhile. */
#define ASK_TIMEOUT_MS 2000
#define ASK_MAX 5u

/* After so many profiles by /ingest a push is tried again: ten minutes of them,
 * at the usual interval. */
#define PUSH_AGAIN 60u

struct server {
	struct destination destination;
	struct http *http;
	unsigned by_ingest; /* since it turned out that there is no push, and
			       /ingest works; 0: there is */
	bool told_ingest;
	bool has_answered; /* about its version */
	unsigned asked;
	_Atomic bool keeps_trace_id; /* written by the uploading thread, read
					by the main one */
	uint64_t explained[EXPLAINED_MAX];
	unsigned explained_count;
};

static void warn(const char *name, const char *reason)
{
	log_message(CONFIG_LOG_WARN, "%s: %s", name, reason);
}

static const char *fix_for(const struct http_answer *answer)
{
	int status = answer->status;

	if (status >= 300 && status < 400)
		return "redirects are not followed; set SPANPROF_SERVER to "
		       "where it leads";
	switch (status) {
	case 401:
	case 403:
		return "check PYROSCOPE_AUTH_TOKEN or "
		       "PYROSCOPE_BASIC_AUTH_USER and _PASSWORD, and the "
		       "tenant (SPANPROF_TENANT_ID)";
	case 404:
	case 405:
	case 501:
		return "neither push.v1.PusherService nor /ingest is at this "
		       "URL; check SPANPROF_SERVER";
	case 407:
		return "check the user and the password in the proxy's URL";
	case 413:
		return "profiles are too large for it or for a proxy before "
		       "it; lower SPANPROF_INTERVAL or raise their limits";
	case 429:
		return "raise the tenant's ingestion limits or lower "
		       "SPANPROF_RATE";
	case HTTP_STATUS_NEVER:
		return "check SPANPROF_SERVER; for a private certificate "
		       "authority set SSL_CERT_FILE";
	case HTTP_STATUS_IO:
		return "check SPANPROF_SERVER, and that the server runs";
	default:
		return "see the server's log";
	}
}

/* {"code": "...", "message": "..."}, as Connect answers. */
static void read_message(const struct http_answer *answer, char code[64],
			 char message[512])
{
	static const char *const code_path[] = {"code", NULL};
	static const char *const message_path[] = {"message", NULL};

	if (answer->status <= 0) {
		snprintf(code, 64, "curl %d", answer->fault);
		utf8_copy(message, 512, answer->error, strlen(answer->error));
		return;
	}
	if (!json_text(answer->body, code_path, code, 64))
		snprintf(code, 64, "status %d", answer->status);
	if (!json_text(answer->body, message_path, message, 512))
		utf8_copy(message, 200, answer->body, answer->body_bytes);
}

/* FNV-1a. Messages differ by numbers and times, the kind is status and code. */
static uint64_t kind_of(int status, const char *code)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (unsigned)status;

	while (*code)
		hash = (hash ^ (unsigned char)*code++) *
		       UINT64_C(0x100000001b3);
	return hash;
}

static bool is_new(struct server *server, uint64_t kind)
{
	for (unsigned i = 0; i < server->explained_count; i++) {
		if (server->explained[i] == kind)
			return false;
	}
	if (server->explained_count == EXPLAINED_MAX)
		return false;
	server->explained[server->explained_count++] = kind;
	return true;
}

struct server *server_create(char *const *environment)
{
	struct server *server = calloc(1, sizeof(*server));
	int error = server ? destination_init(&server->destination, environment,
					      warn)
			   : -ENOMEM;

	if (!error) {
		server->http = http_create(&server->destination);
		if (server->http) {
			log_message(CONFIG_LOG_INFO, "profiles go to %s",
				    server->destination.url);
			return server;
		}
		destination_fini(&server->destination);
		error = -ENOMEM;
	}
	free(server);
	if (error != -ENOENT)
		log_message(CONFIG_LOG_ERROR,
			    "nothing is pushed: no memory for a client");
	return NULL;
}

void server_destroy(struct server *server)
{
	if (!server)
		return;
	http_destroy(server->http);
	destination_fini(&server->destination);
	free(server);
}

static void no_memory(struct http_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->status = HTTP_STATUS_IO;
	snprintf(answer->error, sizeof(answer->error), "no memory");
}

static void push_now(struct server *server, const struct server_profile *from,
		     long timeout_ms, struct http_answer *answer)
{
	struct push_profile profile = {from->bytes, from->len_bytes};
	struct http_request request = {
		.path = "/push.v1.PusherService/Push",
		.content_type = "application/proto",
		.timeout_ms = timeout_ms,
	};
	void *body;

	if (push_encode(from->series, &profile, &body, &request.body_bytes) !=
	    0) {
		no_memory(answer);
		return;
	}
	request.body = body;
	http_do(server->http, &request, answer);
	free(body);
}

static void ingest_now(struct server *server, const struct server_profile *from,
		       long timeout_ms, struct http_answer *answer)
{
	struct ingest_times times = {from->start_ns, from->end_ns};
	char *path = ingest_path(from->series, &times);
	struct http_request request = {
		.path = path,
		.form_part = INGEST_PART,
		.body = from->bytes,
		.body_bytes = from->len_bytes,
		.timeout_ms = timeout_ms,
	};

	if (path)
		http_do(server->http, &request, answer);
	else
		no_memory(answer);
	free(path);
}

/* Connect's `unimplemented` is a 404 or, of late, a 501; a gateway in front of
 * an older server may have other words. */
static bool is_missing(const struct http_answer *answer)
{
	return answer->status == 404 || answer->status == 405 ||
	       answer->status == 501;
}

static void remember_way(struct server *server, bool by_ingest)
{
	if (by_ingest && !server->by_ingest && !server->told_ingest) {
		server->told_ingest = true;
		log_message(CONFIG_LOG_INFO,
			    "%s has no push.v1.PusherService: profiles go to "
			    "its /ingest",
			    server->destination.url);
	}
	server->by_ingest = by_ingest ? server->by_ingest + 1 : 0;
}

static void refuse_web_page(struct http_answer *answer)
{
	if (answer->status != 200 ||
	    strncasecmp(answer->content_type, "text/html", 9) != 0)
		return;
	answer->status = HTTP_STATUS_NEVER;
	snprintf(answer->error, sizeof(answer->error),
		 "a web page came back: no Pyroscope is there");
}

/* Never 0, which libcurl takes for no bound at all. */
static long left_ms(uint64_t start_ns, long timeout_ms)
{
	long took_ms = (long)((now_ns(CLOCK_MONOTONIC) - start_ns) / 1000000u);

	return took_ms < timeout_ms ? timeout_ms - took_ms : 1;
}

void server_push(struct server *server, const struct server_profile *profile,
		 long timeout_ms, struct http_answer *answer)
{
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	bool by_ingest;

	if (server->by_ingest > PUSH_AGAIN)
		server->by_ingest = 0;
	by_ingest = server->by_ingest > 0;
	for (unsigned ways = 0; ways < 2; ways++) {
		(by_ingest ? ingest_now : push_now)(
			server, profile, left_ms(start_ns, timeout_ms), answer);
		if (!is_missing(answer)) {
			remember_way(server, by_ingest);
			break;
		}
		by_ingest = !by_ingest;
	}
	refuse_web_page(answer);
}

bool server_version_keeps_trace_id(const char *version)
{
	const char *text = version + (*version == 'v');
	char *end;
	unsigned long major = strtoul(text, &end, 10);
	unsigned long minor;

	if (end == text || *end != '.')
		return false;
	minor = strtoul(end + 1, NULL, 10);
	return major > 2 || (major == 2 && minor >= 1);
}

void server_ask_version(struct server *server)
{
	static const char *const path[] = {"data", "version", NULL};
	struct http_request request = {
		.path = "/api/v1/status/buildinfo",
		.timeout_ms = ASK_TIMEOUT_MS,
	};
	struct http_answer answer;
	char version[64];

	if (server->has_answered || server->asked == ASK_MAX)
		return;
	server->asked++;
	http_do(server->http, &request, &answer);
	if (answer.status <= 0 || answer.status >= 500)
		return;
	server->has_answered = true;
	if (answer.status != 200 ||
	    !json_text(answer.body, path, version, sizeof(version)) ||
	    !version[0])
		snprintf(version, sizeof(version), "unknown");
	server->keeps_trace_id = server_version_keeps_trace_id(version);
	destination_hide(&server->destination, version);
	log_message(CONFIG_LOG_INFO, "the server's version is %s: %s trace_id",
		    version, server->keeps_trace_id ? "with" : "without");
}

bool server_keeps_trace_id(const struct server *server)
{
	return server->keeps_trace_id;
}

void server_explain(struct server *server, const struct http_answer *answer,
		    const char *what_now)
{
	char message[512];
	char code[64];

	read_message(answer, code, message);
	if (!is_new(server, kind_of(answer->status, code)))
		return;
	destination_hide(&server->destination, code);
	destination_hide(&server->destination, message);
	log_message(CONFIG_LOG_WARN, "%s: %s: %s (%s); %s",
		    server->destination.url, code, message, what_now,
		    fix_for(answer));
}
