/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of the series that profiles are pushed to.
 *
 * A Pyroscope takes at most 30, with names of up to 1,024 and values of up to
 * 2,048 bytes of UTF-8, each name once (pkg/validation there, v2.2); it
 * refuses the whole profile otherwise, so that what it would refuse gets in
 * here in the first place.
 */
#ifndef EXPORTER_SERIES_H
#define EXPORTER_SERIES_H

#include <stddef.h>

#define SERIES_LABELS_MAX 30u
#define SERIES_NAME_MAX_BYTES 1024u
#define SERIES_VALUE_MAX_BYTES 2048u

struct series_label {
	char *name;
	char *value;
};

/* Begin with zeros. */
struct series {
	struct series_label labels[SERIES_LABELS_MAX];
	size_t count;
};

void series_fini(struct series *series);

/* Copies a label. A name that is there already keeps its value. Returns NULL,
 * or what is wrong with the label, which then is not added. */
const char *series_add(struct series *series, const char *name,
		       const char *value);

/* Told of each label that was not taken; the strings live during the call. */
typedef void series_warn(const char *label, const char *reason);

/* Adds a user's labels: NAME=VALUE, separated by commas; with `colon`, as some
 * clients of Pyroscope write them, NAME:VALUE too. Names that have a meaning
 * of their own are refused. */
struct series_list {
	const char *text;
	int colon;
};
void series_add_list(struct series *series, const struct series_list *list,
		     series_warn *warn);

#endif
