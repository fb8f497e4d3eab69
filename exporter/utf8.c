/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text of unknown origin valid UTF-8 without control characters.
 * Runs on: the exporter's main thread; the supervisor.
 */
#include "exporter/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_tail(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Unicode 15, table 3-7: the second byte excludes overlong forms, surrogates
 * and everything above U+10FFFF. The C1 controls (c2 80 to c2 9f) are refused
 * too: terminals obey them. */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xc2:
		return second >= 0xa0 && second <= 0xbf;
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return is_tail(second);
	}
}

size_t utf8_character(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t bytes;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (bytes > left || !second_byte_fits(s[0], s[1]))
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if (!is_tail(s[i]))
			return 0;
	return bytes;
}

size_t utf8_whole(const char *text, size_t len)
{
	size_t at = len;

	if (len == 0 || (unsigned char)text[len - 1] < 0x80)
		return len;
	while (at > 0 && is_tail((unsigned char)text[at - 1]))
		at--;
	if (at == 0)
		return 0;
	at--;
	return utf8_character(text + at, len - at) > 0 ? len : at;
}

size_t utf8_copy(char *to, size_t capacity, const char *from, size_t len)
{
	size_t used = 0;

	len = strnlen(from, len);
	for (size_t i = 0; i < len;) {
		size_t bytes = utf8_character(from + i, len - i);

		if (used + (bytes ? bytes : 1) >= capacity)
			break;
		if (bytes)
			memcpy(to + used, from + i, bytes);
		else
			to[used] = '?';
		bytes = bytes ? bytes : 1;
		used += bytes;
		i += bytes;
	}
	to[used] = '\0';
	return used;
}
