/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: environment variables, parsed once.
 *
 * Used on both sides: the preloaded library reads it in its constructor, the
 * exporter when it starts. Nothing here allocates, prints or fails; a value
 * that cannot be understood is reported to the caller and replaced by its
 * default.
 */
#ifndef PRELOAD_CONFIG_H
#define PRELOAD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_PATH_BYTES 1024
#define CONFIG_SERVICE_BYTES 256

/* Which span labels a sample (SPANPROF_SPANS). */
enum config_spans {
	CONFIG_SPANS_ROOT,
	CONFIG_SPANS_ALL,
	CONFIG_SPANS_NONE
};

/* Whether pushed samples bear trace_id (SPANPROF_TRACE_ID). */
enum config_trace_id {
	CONFIG_TRACE_ID_AUTO, /* if the server keeps it on the sample */
	CONFIG_TRACE_ID_TRUE,
	CONFIG_TRACE_ID_FALSE
};

enum config_log_level {
	CONFIG_LOG_ERROR,
	CONFIG_LOG_WARN,
	CONFIG_LOG_INFO,
	CONFIG_LOG_DEBUG
};

struct config {
	bool disabled;
	uint32_t rate_hz;     /* CPU samples a second and thread */
	uint32_t interval_ms; /* length of a window */
	enum config_spans spans;
	enum config_trace_id trace_id;
	uint64_t output_max_bytes; /* bound of the output folder */
	/* Folder. If unset: "spanprof.out", or "" (none) with a server. */
	char output[CONFIG_PATH_BYTES];
	char service[CONFIG_SERVICE_BYTES]; /* "" means: named after the exe */
	char log[CONFIG_PATH_BYTES];        /* file; "" means no log */
	enum config_log_level log_level;
};

/* Told of each value that was not taken: the variable, its value ("..." where
 * that may hold a secret), what is wrong with it and what holds instead. The
 * strings live during the call. */
struct config_warning {
	const char *name;
	const char *value;
	const char *reason;
	const char *taken;
};
typedef void config_warn(void *context, const struct config_warning *warning);

/* Fills `config` from an environment block (NULL-terminated array of
 * NAME=value, as main gets it). Empty values count as unset. `warn` may be
 * NULL. */
void config_read(struct config *config, char *const *environment,
		 config_warn *warn, void *context);

/* The value of a variable in an environment block, or NULL when it is unset or
 * empty. Points into the block. */
const char *config_lookup(char *const *environment, const char *name);

/* The base URL of the Pyroscope to push to (SPANPROF_SERVER, else
 * PYROSCOPE_SERVER_ADDRESS), or NULL when there is none that makes sense.
 * Points into the block; it may hold a password, so that nobody keeps or shows
 * it who does not need to. */
const char *config_server(char *const *environment);

/* Decodes the attribute `key` of OTEL_RESOURCE_ATTRIBUTES (k=v,k2=v2,
 * percent-encoded) into `to`. Returns false, and leaves anything in `to`, when
 * it is not there, not well formed, empty or longer than 255 bytes. */
bool config_resource_attribute(char *const *environment, const char *key,
			       char to[CONFIG_SERVICE_BYTES]);

#endif
