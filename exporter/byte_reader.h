/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads little-endian numbers from bytes that nobody vouches for. A read past
 * the end yields 0 and sets `failed`, which stays set: callers read a whole
 * structure and ask once.
 */
#ifndef EXPORTER_BYTE_READER_H
#define EXPORTER_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct byte_reader reader_of(const uint8_t *bytes, size_t len)
{
	return (struct byte_reader){bytes, bytes + len, false};
}

static inline size_t reader_left(const struct byte_reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline void reader_skip(struct byte_reader *r, uint64_t len)
{
	if (len > reader_left(r)) {
		r->failed = true;
		len = reader_left(r);
	}
	r->at += len;
}

/* An unsigned number of `len` bytes, 1 to 8. */
static inline uint64_t reader_number(struct byte_reader *r, size_t len)
{
	uint64_t value = 0;

	if (len > reader_left(r)) {
		r->failed = true;
		r->at = r->end;
		return 0;
	}
	memcpy(&value, r->at, len);
	r->at += len;
	return value;
}

static inline uint8_t reader_u8(struct byte_reader *r)
{
	return (uint8_t)reader_number(r, 1);
}

static inline uint32_t reader_u32(struct byte_reader *r)
{
	return (uint32_t)reader_number(r, 4);
}

/* LEB128 (DWARF 5, 7.6), either sign: callers that need the value of a signed
 * one don't exist. Fails on more than ten bytes. */
static inline uint64_t reader_leb(struct byte_reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = reader_u8(r);

		value |= (uint64_t)(byte & 0x7f) << (shift < 63 ? shift : 63);
		if (!(byte & 0x80))
			return value;
	}
	r->failed = true;
	return 0;
}

#endif
