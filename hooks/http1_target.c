/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the path out of an HTTP/1 request target.
 * Runs on: the program's threads, inside hooked calls.
 */
#include "hooks/http1_target.h"

#include <stdbool.h>
#include <string.h>

/* Until "://" has been seen, what may be a scheme is kept as a path. */
enum target_state {
	TARGET_START,
	TARGET_SCHEME,
	TARGET_COLON, /* behind the colon after a scheme */
	TARGET_SLASH, /* behind the slash after that */
	TARGET_AUTHORITY,
	TARGET_PATH,
	TARGET_REST, /* in query or fragment */
};

static bool is_end(uint8_t c)
{
	return c == ' ' || c == '\r' || c == '\n';
}

static bool is_alpha(uint8_t c)
{
	c |= 0x20;
	return c >= 'a' && c <= 'z';
}

static bool is_scheme(uint8_t c)
{
	return is_alpha(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
	       c == '.';
}

static void keep(struct http1_target *target, char *path, uint8_t c)
{
	if (target->length == SPAN_PATH_BYTES - 1)
		return;
	path[target->length++] = (char)(c >= 0x21 && c <= 0x7e ? c : '?');
}

static void path_byte(struct http1_target *target, char *path, uint8_t c)
{
	if (c == '?' || c == '#') {
		target->state = TARGET_REST;
		return;
	}
	target->state = TARGET_PATH;
	keep(target, path, c);
}

static void authority_byte(struct http1_target *target, char *path, uint8_t c)
{
	if (c != '/' && c != '?' && c != '#')
		return;
	keep(target, path, '/');
	target->state = c == '/' ? TARGET_PATH : TARGET_REST;
}

/* Stays on the way to "://", or finds that it all was a path. */
static void prefix_byte(struct http1_target *target, char *path, uint8_t c)
{
	uint8_t next = TARGET_PATH;

	if (target->state == TARGET_START)
		next = is_alpha(c) ? TARGET_SCHEME : TARGET_PATH;
	else if (target->state == TARGET_SCHEME && is_scheme(c))
		next = TARGET_SCHEME;
	else if (target->state == TARGET_SCHEME && c == ':')
		next = TARGET_COLON;
	else if (target->state == TARGET_COLON && c == '/')
		next = TARGET_SLASH;
	else if (target->state == TARGET_SLASH && c == '/')
		next = TARGET_AUTHORITY;

	if (next == TARGET_PATH) {
		path_byte(target, path, c);
		return;
	}
	keep(target, path, c);
	target->state = next;
	if (next == TARGET_AUTHORITY) {
		memset(path, 0, SPAN_PATH_BYTES);
		target->length = 0;
	}
}

static void target_byte(struct http1_target *target, char *path, uint8_t c)
{
	switch (target->state) {
	case TARGET_PATH:
		path_byte(target, path, c);
		return;
	case TARGET_AUTHORITY:
		authority_byte(target, path, c);
		return;
	default:
		prefix_byte(target, path, c);
	}
}

static size_t pass_rest(const uint8_t *bytes, size_t length)
{
	size_t used = 0;

	while (used < length && !is_end(bytes[used]))
		used++;
	return used;
}

size_t http1_target_feed(struct http1_target *target,
			 char path[SPAN_PATH_BYTES], const uint8_t *bytes,
			 size_t length)
{
	size_t used = 0;

	while (used < length && !is_end(bytes[used])) {
		if (target->state == TARGET_REST)
			return used + pass_rest(bytes + used, length - used);
		target_byte(target, path, bytes[used++]);
	}
	return used;
}

void http1_target_end(const struct http1_target *target,
		      char path[SPAN_PATH_BYTES])
{
	if (target->state == TARGET_AUTHORITY)
		path[0] = '/';
}
