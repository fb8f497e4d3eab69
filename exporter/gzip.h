/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORTER_GZIP_H
#define EXPORTER_GZIP_H

#include <stddef.h>

/* Compresses into a buffer of its own, which the caller frees (RFC 1952, level
 * 1: gzip is the dearest part of an export). Returns 0 or -ENOMEM. */
int gzip_compress(const void *from, size_t from_bytes, void **to,
		  size_t *to_bytes);

/* The same with a newline behind it. */
int gzip_compress_line(const void *from, size_t from_bytes, void **to,
		       size_t *to_bytes);

#endif
