/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window as pprof (exporter/profile.proto), gzip'ed.
 *
 * Values are samples/count and cpu/nanoseconds; string labels span_id (16
 * lower-case hex digits), trace_id (32) and span_name; numeric label pid.
 */
#ifndef EXPORTER_PPROF_H
#define EXPORTER_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/window.h"

struct pprof_times {
	uint64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	uint64_t period_ns;
};

/*
 * Encodes the window; adds its own strings to the window's table. `comments`
 * are ended by NULL. On success *bytes is the caller's to free.
 * Returns 0 or -ENOMEM.
 */
int pprof_encode(struct window *window, const struct pprof_times *times,
		 const char *const *comments, void **bytes, size_t *len_bytes);

#endif
