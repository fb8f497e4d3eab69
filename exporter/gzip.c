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

struct gzip_result {
	void **bytes;
	size_t *len_bytes;
};

static int begin(z_stream *stream, size_t from_bytes, void **to)
{
	size_t bound;

	memset(stream, 0, sizeof(*stream));
	if (deflateInit2(stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER,
			 MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(stream, from_bytes);
	*to = malloc(bound);
	if (!*to) {
		deflateEnd(stream);
		return -ENOMEM;
	}
	stream->next_out = *to;
	stream->avail_out = (uInt)bound;
	return 0;
}

static int feed(z_stream *stream, const void *bytes, size_t count, int flush)
{
	stream->next_in = (Bytef *)(uintptr_t)bytes;
	stream->avail_in = (uInt)count;
	return deflate(stream, flush);
}

static int compress_parts(const void *from, size_t from_bytes, const char *end,
			  struct gzip_result result)
{
	z_stream stream;
	int done;

	if (begin(&stream, from_bytes + strlen(end), result.bytes) != 0)
		return -ENOMEM;
	feed(&stream, from, from_bytes, Z_NO_FLUSH);
	done = feed(&stream, end, strlen(end), Z_FINISH);
	*result.len_bytes = stream.total_out;
	deflateEnd(&stream);
	if (done == Z_STREAM_END)
		return 0;
	free(*result.bytes);
	*result.bytes = NULL;
	return -ENOMEM;
}

int gzip_compress(const void *from, size_t from_bytes, void **to,
		  size_t *to_bytes)
{
	return compress_parts(from, from_bytes, "",
			      (struct gzip_result){to, to_bytes});
}

int gzip_compress_line(const void *from, size_t from_bytes, void **to,
		       size_t *to_bytes)
{
	return compress_parts(from, from_bytes, "\n",
			      (struct gzip_result){to, to_bytes});
}
