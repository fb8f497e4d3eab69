/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds the ids in a path, so that requests group into operations.
 */
#ifndef EXPORTER_FOLD_IDS_H
#define EXPORTER_FOLD_IDS_H

#include <stddef.h>

/* The most bytes that folding a path of a length needs, with the closing NUL: a
 * segment of one digit and its slash grow most, from 2 to 5. */
#define FOLD_IDS_BYTES(length) ((size_t)4 * (length) + sizeof("{id}"))

/*
 * Writes `path` with each segment that is a number, a UUID, or 8 or more hex
 * digits replaced by {id}, and without its query. What does not fit into
 * `to_bytes` is cut.
 */
void fold_ids(char *to, size_t to_bytes, const char *path);

#endif
