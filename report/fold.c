/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds ids in paths, so that requests group into operations.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/fold.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/mem.h"

#define FOLDED "{id}"
#define HEX_MIN 8

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

static void append(char **to, const char *text, size_t length)
{
	memcpy(*to, text, length);
	*to += length;
}

char *fold_path(const char *path)
{
	size_t length = strcspn(path, "?");
	/* A segment of one digit and its slash grow most, from 2 to 5. */
	char *folded = mem_zeroed(length * 4 + sizeof(FOLDED), 1), *to = folded;
	const char *end = path + length;

	while (path < end) {
		size_t segment = strcspn(path, "/");

		if (segment > (size_t)(end - path))
			segment = (size_t)(end - path);
		if (is_id(path, segment))
			append(&to, FOLDED, strlen(FOLDED));
		else
			append(&to, path, segment);
		path += segment;
		if (path < end)
			append(&to, path++, 1);
	}
	return folded;
}

char *fold_request(const struct fold_names *names)
{
	if (!names->path[0])
		return mem_copy(names->name, strlen(names->name));
	if (!names->method[0])
		return mem_copy(names->path, strlen(names->path));
	return mem_printf("%s %s", names->method, names->path);
}

char *fold_operation(const struct fold_names *names)
{
	/* "HTTP" is the name under an unknown method and without a route. */
	bool has_route = names->name[0] && names->method[0] &&
			 strcmp(names->name, names->method) != 0 &&
			 strcmp(names->name, "HTTP") != 0;
	struct fold_names folded = *names;
	char *path, *operation;

	if (has_route)
		return mem_copy(names->name, strlen(names->name));
	path = fold_path(names->path);
	folded.path = path;
	operation = fold_request(&folded);
	free(path);
	return operation;
}
