/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles names of unknown origin with libiberty, in bounds.
 * Runs on: the exporter's main thread.
 */
#include "exporter/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/utf8.h"

#define OUTPUT_MAX_BYTES (8u << 10)
#define ELLIPSIS "\xe2\x80\xa6"

/* The demanglers write through a callback and keep nothing on the heap, so
 * that leaving one by a jump is safe. It has to be left when the output is
 * full: a name of a few hundred bytes can stand for gigabytes. */
struct output {
	char bytes[OUTPUT_MAX_BYTES];
	size_t used;
	jmp_buf full;
};

static void append(const char *text, size_t len, void *arg)
{
	struct output *out = arg;
	size_t room = sizeof(out->bytes) - out->used;

	memcpy(out->bytes + out->used, text, len < room ? len : room);
	out->used += len < room ? len : room;
	if (len >= room)
		longjmp(out->full, 1);
}

/* Legacy Rust names are C++ names too; only the first reading drops the hash.
 * The limit on recursion is on as long as nobody turns it off. */
static bool demangle_into(struct output *out, const char *name)
{
	out->used = 0;
	if (setjmp(out->full))
		return true;
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return true;
	out->used = 0;
	return name[0] == '_' &&
	       cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append,
					  out);
}

static char *presentable(const char *text, size_t len)
{
	char *name = malloc(DEMANGLE_NAME_MAX_BYTES + 1);
	size_t used;

	if (!name)
		return NULL;
	used = utf8_copy(name, DEMANGLE_NAME_MAX_BYTES + 1, text, len);
	if (used < len && used + 4 > DEMANGLE_NAME_MAX_BYTES) {
		used = utf8_whole(name, DEMANGLE_NAME_MAX_BYTES -
						(sizeof(ELLIPSIS) - 1));
		memcpy(name + used, ELLIPSIS, sizeof(ELLIPSIS));
	}
	return name;
}

char *demangle(const char *name)
{
	struct output out;
	size_t len = strnlen(name, DEMANGLE_INPUT_MAX_BYTES + 1);

	if (len <= DEMANGLE_INPUT_MAX_BYTES && demangle_into(&out, name) &&
	    out.used)
		return presentable(out.bytes, out.used);
	return presentable(name, len);
}
