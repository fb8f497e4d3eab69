/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleans text for a terminal.
 * Runs on: the supervisor.
 */
#include "supervisor/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exporter/utf8.h"

/* Separators of lines, and marks of direction: first and last of a range. */
static const uint32_t marks[][2] = {
	{0x61c, 0x61c},
	{0x200e, 0x200f},
	{0x2028, 0x202e},
	{0x2066, 0x2069},
};

/* Of a valid character. */
static uint32_t code_of(const char *character, size_t bytes)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (uint8_t)character[0] & masks[bytes];

	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | ((uint8_t)character[i] & 0x3f);
	return code;
}

static bool is_mark(const char *character, size_t bytes)
{
	uint32_t code = code_of(character, bytes);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (code >= marks[i][0] && code <= marks[i][1])
			return true;
	return false;
}

size_t printable_copy(char *to, const char *from, size_t length)
{
	size_t used = 0;

	for (size_t i = 0; i < length;) {
		size_t bytes = utf8_character(from + i, length - i);

		if (!bytes || is_mark(from + i, bytes)) {
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
