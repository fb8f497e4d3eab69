/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks mini debug information by liblzma, in bounds.
 * Runs on: the exporter's main thread.
 */
#include "exporter/mini_debug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define PACKED_BYTES_MAX (16u << 20)
#define DECODER_BYTES_MAX (UINT64_C(80) << 20)
#define FIRST_BYTES (256u << 10)

/* Doubles the room for what comes out, within the bound. */
static bool make_room(lzma_stream *stream, uint8_t **out, size_t *capacity)
{
	size_t more = *capacity ? *capacity * 2 : FIRST_BYTES;
	uint8_t *at;

	if (more > MINI_DEBUG_BYTES_MAX)
		return false;
	at = realloc(*out, more);
	if (!at)
		return false;
	stream->next_out = at + *capacity;
	stream->avail_out = more - *capacity;
	*out = at;
	*capacity = more;
	return true;
}

/* The bytes for the caller to free, or NULL. */
static uint8_t *unpack(const uint8_t *packed, size_t len_bytes,
		       size_t *out_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *out = NULL;
	size_t capacity = 0;
	lzma_ret done;

	if (lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0) != LZMA_OK)
		return NULL;
	stream.next_in = packed;
	stream.avail_in = len_bytes;
	do
		done = stream.avail_out == 0 &&
				       !make_room(&stream, &out, &capacity)
			       ? LZMA_MEM_ERROR
			       : lzma_code(&stream, LZMA_FINISH);
	while (done == LZMA_OK);
	*out_bytes = stream.total_out;
	lzma_end(&stream);
	if (done == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
}

int mini_debug_open(struct elf_image *image,
		    const struct elf_sections *sections, uint8_t **bytes)
{
	const Elf64_Shdr *section =
		elf_sections_find(sections, ".gnu_debugdata");
	uint8_t *packed;
	size_t len_bytes = 0;
	int error;

	*bytes = NULL;
	if (!section)
		return -ENOENT;
	packed = elf_sections_copy(sections, section, PACKED_BYTES_MAX);
	if (!packed)
		return -EFBIG;
	*bytes = unpack(packed, section->sh_size, &len_bytes);
	free(packed);
	if (!*bytes)
		return -EBADMSG;
	error = elf_image_open_memory(image, *bytes, len_bytes);
	if (error) {
		free(*bytes);
		*bytes = NULL;
	}
	return error;
}
