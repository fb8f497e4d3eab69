/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of distinct strings, as pprof wants it: index 0 is "".
 */
#ifndef EXPORTER_STRINGS_H
#define EXPORTER_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings {
	char **texts; /* by index; owned */
	uint32_t count;
	size_t bytes; /* of all texts */

	/* Private. */
	struct string_entry *by_text;
	size_t capacity;
};

/* Returns 0 or -ENOMEM. */
int strings_init(struct strings *strings);
void strings_fini(struct strings *strings);

/* Forgets all texts whose index is `count` or higher. */
void strings_cut(struct strings *strings, uint32_t count);

/* The index of a text, which is copied when it is new. Without memory: 0. */
uint32_t strings_intern(struct strings *strings, const char *text);

#endif
