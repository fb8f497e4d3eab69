/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was packed is what comes out.
 * Runs on: the test program's main thread.
 */
#include "exporter/gzip.h"

#include <stdlib.h>

#include "tests/lib/profile_check.h"
#include "tests/lib/unit.h"

static void check_round_trip(const uint8_t *bytes, size_t length)
{
	void *packed[2] = {NULL, NULL};
	size_t packed_bytes[2];

	CHECK_EQ(gzip_compress(bytes, length, &packed[0], &packed_bytes[0]), 0);
	CHECK_EQ(
		gzip_compress_line(bytes, length, &packed[1], &packed_bytes[1]),
		0);
	for (size_t i = 0; i < 2; i++) {
		size_t got = 0;
		uint8_t *back =
			profile_check_unpack(packed[i], packed_bytes[i], &got);

		CHECK(back != NULL);
		CHECK_EQ(got, length + i);
		CHECK(length == 0 || !memcmp(back, bytes, length));
		CHECK(i == 0 || back[length] == '\n');
		free(back);
		free(packed[i]);
	}
}

TEST(any_length_comes_back)
{
	static const size_t lengths[] = {0,   1,     2,     100,
					 255, 65535, 65536, 1u << 20};
	uint8_t *noise = malloc(1u << 20);

	CHECK(noise != NULL);
	for (size_t i = 0; i < 1u << 20; i++)
		noise[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		check_round_trip(noise, lengths[i]);
	free(noise);
}

TEST(what_repeats_itself_becomes_small)
{
	uint8_t *zeros = calloc(1u << 20, 1);
	void *packed = NULL;
	size_t packed_bytes = 0;

	CHECK(zeros != NULL);
	CHECK_EQ(gzip_compress(zeros, 1u << 20, &packed, &packed_bytes), 0);
	CHECK(packed_bytes < 20000);
	free(packed);
	check_round_trip(zeros, 1u << 20);
	free(zeros);
}
