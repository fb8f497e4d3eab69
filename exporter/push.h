/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a push (exporter/push.proto): one profile of one series.
 *
 * One profile a request, since a server handles the profiles of a request each
 * for itself: an error would leave open which of them it has.
 */
#ifndef EXPORTER_PUSH_H
#define EXPORTER_PUSH_H

#include <stddef.h>

#include "exporter/series.h"

/* `profile` is a pprof, gzip'ed. On success *body is the caller's to free.
 * Returns 0 or -ENOMEM. */
struct push_profile {
	const void *bytes;
	size_t len_bytes;
};
int push_encode(const struct series *series, const struct push_profile *profile,
		void **body, size_t *body_bytes);

#endif
