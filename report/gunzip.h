/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as bytes, unpacked within bounds: a few kilobytes of gzip can stand for
 * gigabytes.
 */
#ifndef REPORT_GUNZIP_H
#define REPORT_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/fault.h"

/* The largest file that is read, packed or unpacked. */
#define GUNZIP_MAX_BYTES ((size_t)256 << 20)

struct bytes {
	uint8_t *data; /* free with free() */
	size_t length;
};

/* Whether the data begin like gzip (RFC 1952). */
bool gunzip_is_packed(const uint8_t *data, size_t length);

/*
 * Unpacks gzip, also of several members. -EBADMSG when it is damaged, cut short
 * or followed by something else, -EFBIG when the result is longer than `limit`;
 * then `out` holds nothing.
 */
int gunzip_bytes(struct bytes *out, const struct bytes *packed, size_t limit,
		 struct fault *fault);

/*
 * Reads a regular file whole and unpacks it if it is packed. A file that is
 * named *.gz must be. Besides the errors above: those of open and read, -EINVAL
 * for what isn't a regular file. -ENOENT leaves `fault` alone.
 */
int gunzip_file(struct bytes *out, const char *path, struct fault *fault);

#endif
