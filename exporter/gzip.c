/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip by zlib.
 * Runs on: the exporter's main thread.
 */
#include "exporter/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 1
#define GZIP_WRAPPER 16 /* added to windowBits, zlib.h */

int gzip_compress(const void *from, size_t from_bytes, void **to,
		  size_t *to_bytes)
{
	z_stream stream;
	size_t bound;
	int result;

	memset(&stream, 0, sizeof(stream));
	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER,
			 MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, from_bytes);
	*to = malloc(bound);
	if (!*to) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_in = (Bytef *)(uintptr_t)from;
	stream.avail_in = (uInt)from_bytes;
	stream.next_out = *to;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	*to_bytes = stream.total_out;
	deflateEnd(&stream);
	if (result == Z_STREAM_END)
		return 0;
	free(*to);
	*to = NULL;
	return -ENOMEM;
}
