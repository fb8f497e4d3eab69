/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The older way to push: POST /ingest of a form, for servers and gateways that
 * know no push.v1.PusherService.
 *
 * The series stands in the query, as app{name=value,...}, a grammar without
 * escapes (api/model/labelset in Pyroscope): an app's name is of letters,
 * digits and _./-, a label's of letters, digits, _ and dots, and a value ends
 * at a comma or a closing brace. __name__ is the server's to make: of a profile
 * with a sample type cpu it makes process_cpu. No parameter `format`: with it
 * the form itself would be read as a profile.
 */
#ifndef EXPORTER_INGEST_H
#define EXPORTER_INGEST_H

#include <stdint.h>

#include "exporter/series.h"

/* The name of the form's file (pkg/og/convert/pprof there). Without a file name
 * the server answers 200 and keeps nothing. */
#define INGEST_PART "profile"

struct ingest_times {
	uint64_t from_ns; /* since 1970 */
	uint64_t until_ns;
};

/* The path with its query, the caller's to free; NULL without memory. What the
 * grammar can't hold becomes '_'. */
char *ingest_path(const struct series *series,
		  const struct ingest_times *times);

#endif
