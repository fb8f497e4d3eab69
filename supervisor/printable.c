/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleans text for a terminal.
 * Runs on: the supervisor.
 */
#include "supervisor/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How many bytes the character takes that begins with this one; 0: none does.
 * RFC 3629, section 4. */
static size_t bytes_of(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static bool is_printable(uint32_t c, size_t bytes)
{
	static const uint32_t least[] = {0, 0x20, 0xa0, 0x800, 0x10000};

	if (c < least[bytes] || c == 0x7f || c > 0x10ffff)
		return false;
	if (c >= 0xd800 && c <= 0xdfff)
		return false; /* half of a UTF-16 pair */
	/* Separators of lines, and marks of direction. */
	return !(c == 0x200e || c == 0x200f || c == 0x61c ||
		 (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069));
}

/* The length of the printable character at `from`; 0: there is none. */
static size_t character(const char *from, size_t length)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t bytes = bytes_of((uint8_t)from[0]);
	uint32_t c = (uint8_t)from[0] & masks[bytes];

	if (bytes == 0 || bytes > length)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if (((uint8_t)from[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((uint8_t)from[i] & 0x3f);
	}
	return is_printable(c, bytes) ? bytes : 0;
}

size_t printable_copy(char *to, const char *from, size_t length)
{
	size_t used = 0;

	for (size_t i = 0; i < length;) {
		size_t bytes = character(from + i, length - i);

		if (!bytes) {
			to[used++] = '?';
			i++;
			continue;
		}
		memcpy(to + used, from + i, bytes);
		used += bytes;
		i += bytes;
	}
	return used;
}
