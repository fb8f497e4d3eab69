/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace ids, span ids and build ids: bytes, and the text that formats want.
 */
#ifndef EXPORTER_IDS_H
#define EXPORTER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an id is there: not all zeros. */
static inline bool id_is_set(const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (id[i])
			return true;
	}
	return false;
}

/* Writes 2 * bytes lower-case hex digits and a NUL. */
static inline void id_to_hex(char *to, const uint8_t *id, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < bytes; i++) {
		*to++ = digits[id[i] >> 4];
		*to++ = digits[id[i] & 15];
	}
	*to = '\0';
}

#endif
