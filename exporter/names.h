/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of the label span_name: each becomes a series of a server's, for
 * as long as that keeps them, so that an exporter uses so many in its life.
 */
#ifndef EXPORTER_NAMES_H
#define EXPORTER_NAMES_H

#include "exporter/strings.h"

#define NAMES_MAX 100u
#define NAMES_OTHER "other"

struct names {
	struct strings seen;
};

/* Returns 0 or -ENOMEM. */
int names_init(struct names *names);
void names_fini(struct names *names);

/* The value for a name: itself, or NAMES_OTHER when there are too many. */
const char *names_bound(struct names *names, const char *name);

#endif
