/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds ids in paths.
 * Runs on: the exporter's main thread; the spanprof command.
 */
#include "exporter/fold_ids.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define FOLDED "{id}"
#define HEX_MIN 8

struct text {
	char *at;
	size_t room; /* without the NUL */
};

static bool is_number(const char *segment, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)segment[i]))
			return false;
	return length > 0;
}

static bool is_hex(const char *segment, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isxdigit((unsigned char)segment[i]))
			return false;
	return length >= HEX_MIN;
}

/* 8-4-4-4-12 hex digits (RFC 9562). */
static bool is_uuid(const char *segment, size_t length)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (length != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (shape[i] == '-' ? segment[i] != '-'
				    : !isxdigit((unsigned char)segment[i]))
			return false;
	}
	return true;
}

static bool is_id(const char *segment, size_t length)
{
	return is_number(segment, length) || is_hex(segment, length) ||
	       is_uuid(segment, length);
}

static void append(struct text *to, const char *text, size_t length)
{
	if (length > to->room)
		length = to->room;
	memcpy(to->at, text, length);
	to->at += length;
	to->room -= length;
}

void fold_ids(char *to, size_t to_bytes, const char *path)
{
	struct text folded = {to, to_bytes - 1};
	const char *end = path + strcspn(path, "?");

	while (path < end) {
		size_t segment = strcspn(path, "/");

		if (segment > (size_t)(end - path))
			segment = (size_t)(end - path);
		if (is_id(path, segment))
			append(&folded, FOLDED, strlen(FOLDED));
		else
			append(&folded, path, segment);
		path += segment;
		if (path < end)
			append(&folded, path++, 1);
	}
	*folded.at = '\0';
}
