/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that came before the list of modules that explains them: kept for a
 * moment, within a bound.
 */
#ifndef EXPORTER_LATE_H
#define EXPORTER_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/layout.h"

#define LATE_BYTES_MAX (8u << 20)

struct late {
	struct late_sample *first;
	struct late_sample **end;
	size_t bytes;
};

void late_init(struct late *late);
void late_fini(struct late *late);

/* Keeps a copy. Returns false when there is no room: the sample is to be taken
 * as it is. */
bool late_keep(struct late *late, const struct record_sample *sample);

/* Offers each sample, oldest first; those that `take` accepts are forgotten. */
void late_retry(struct late *late,
		bool (*take)(void *context, const struct record_sample *sample),
		void *context);

#endif
