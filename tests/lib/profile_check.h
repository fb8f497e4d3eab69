/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a profile that the exporter wrote, by protobuf-c and zlib alone, and
 * holds it against all that a Pyroscope demands of one.
 */
#ifndef TESTS_LIB_PROFILE_CHECK_H
#define TESTS_LIB_PROFILE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/profile.pb-c.h"

/* A Pyroscope's default for one profile (limits.go, ingestion burst). */
#define PROFILE_CHECK_BYTES_MAX (2u << 20)

/* Unpacks gzip. NULL when it is damaged; free it. A NUL follows. */
uint8_t *profile_check_unpack(const void *bytes, size_t length,
			      size_t *out_length);

/*
 * Decodes a profile as it lies on the disk, and checks it. On success returns
 * NULL and the caller frees *profile by
 * perftools__profiles__profile__free_unpacked; else says what is wrong.
 */
const char *profile_check(const void *bytes, size_t length,
			  Perftools__Profiles__Profile **profile);

/* A text of the profile's table. */
const char *profile_text(const Perftools__Profiles__Profile *profile,
			 int64_t index);

/* A label of a sample: its text or number; NULL, 0 when it is not there. */
const char *profile_label(const Perftools__Profiles__Profile *profile,
			  const Perftools__Profiles__Sample *sample,
			  const char *key);
int64_t profile_number(const Perftools__Profiles__Profile *profile,
		       const Perftools__Profiles__Sample *sample,
		       const char *key);

/* The function's name of a sample's i-th frame, leaf first. */
const char *profile_frame(const Perftools__Profiles__Profile *profile,
			  const Perftools__Profiles__Sample *sample, size_t i);

/* Sum of a value over all samples. */
int64_t profile_sum(const Perftools__Profiles__Profile *profile, size_t value);

#endif
