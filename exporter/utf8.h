/* SPDX-License-Identifier: Apache-2.0 */
/* Text of unknown origin made fit for a profile and a terminal. */
#ifndef EXPORTER_UTF8_H
#define EXPORTER_UTF8_H

#include <stddef.h>

/*
 * Copies `len` bytes of `from` into `to` as valid UTF-8 (RFC 3629) with a
 * closing NUL. Each byte that belongs to no character, and each control
 * character, becomes one '?'. Stops in front of the first character that does
 * not fit into `capacity` bytes, which must be at least 1; never cuts inside a
 * character. Stops at a NUL in `from`. Returns the length of the copy.
 */
size_t utf8_copy(char *to, size_t capacity, const char *from, size_t len);

/* How many bytes the character takes that `text` begins with; 0 where no valid
 * one stands, or a control character. At least one byte is `left`. */
size_t utf8_character(const char *text, size_t left);

/* How many of the first `len` bytes of valid UTF-8 make whole characters. */
size_t utf8_whole(const char *text, size_t len);

#endif
