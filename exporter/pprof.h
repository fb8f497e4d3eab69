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

/* Which ids samples bear. */
enum pprof_ids {
	PPROF_IDS_LOCAL,      /* our own spans', and trace ids */
	PPROF_IDS_PUSHED,     /* those to be pushed, no trace ids */
	PPROF_IDS_PUSHED_ALL, /* those to be pushed, with trace ids */
};

struct pprof_times {
	uint64_t start_ns; /* since 1970 */
	uint64_t duration_ns;
	uint64_t period_ns;
	enum pprof_ids ids;
};

/*
 * Encodes the window, which is as before afterwards. `comments` are ended by
 * NULL. With pushed ids, samples that only differed by their own ids stay
 * apart: a server adds them up. On success *bytes is the caller's to free.
 * Returns 0 or -ENOMEM.
 */
int pprof_encode(struct window *window, const struct pprof_times *times,
		 const char *const *comments, void **bytes, size_t *len_bytes);

#endif
