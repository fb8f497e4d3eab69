/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small string functions that call nothing. They may run anywhere, also on the
 * sampler thread, which must not enter libc.
 */
#ifndef PRELOAD_TEXT_H
#define PRELOAD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t text_length_sig(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static inline bool text_equal_sig(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The text behind `prefix`, or NULL when `text` does not begin with it. */
static inline const char *text_after_sig(const char *text, const char *prefix)
{
	while (*prefix) {
		if (*text++ != *prefix++)
			return NULL;
	}
	return text;
}

/* Copies as much as fits and always ends with a NUL. Returns whether all of
 * it fitted. */
static inline bool text_copy_sig(char *to, size_t to_bytes, const char *from)
{
	size_t i = 0;

	for (; i + 1 < to_bytes && from[i]; i++)
		to[i] = from[i];
	to[i] = '\0';
	return from[i] == '\0';
}

/* Parses digits of the given base (10 or 16) and moves the cursor behind
 * them. Returns 0 when there are none or they do not fit. */
static inline bool text_number_sig(const char **cursor, unsigned base,
				   uint64_t *value)
{
	const char *p = *cursor;
	uint64_t sum = 0;

	for (;; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return false;
	}
	if (p == *cursor)
		return false;
	*cursor = p;
	*value = sum;
	return true;
}

/* Writes a decimal number without a NUL; returns the end. `to` has room for 20
 * characters. */
static inline char *text_decimal_sig(char *to, uint64_t value)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

static inline char *text_append_sig(char *to, const char *from)
{
	while (*from)
		*to++ = *from++;
	*to = '\0';
	return to;
}

#endif
