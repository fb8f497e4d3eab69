/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads small JSON objects: a server's answers, a variable's value.
 */
#ifndef EXPORTER_JSON_H
#define EXPORTER_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the text at a path of keys (ended by NULL) as clean UTF-8, cut to
 * fit. Returns false when the JSON is malformed or has no text there. */
bool json_text(const char *json, const char *const *path, char *to,
	       size_t to_bytes);

/* Calls visit for each member of the object that is a text. Returns false when
 * the JSON is malformed, no object, or has members that are no texts. */
bool json_each(const char *json,
	       void (*visit)(void *context, const char *key, const char *value),
	       void *context);

#endif
