/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and words for people: in the summary of a run and in the report.
 */
#ifndef EXPORTER_WORDS_H
#define EXPORTER_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define WORDS_NUMBER_BYTES 32

/* "0", "850 ns", "12.3 us", "412 ms", "1.23 s", "12345 s": three figures. */
void words_duration(char text[WORDS_NUMBER_BYTES], uint64_t ns);

/* "97.8", with one digit behind the point; "-" of nothing. */
void words_percent(char text[WORDS_NUMBER_BYTES], uint64_t part,
		   uint64_t whole);

/* The most bytes that quoting a word of a length needs, with the NUL. */
#define WORDS_QUOTED_BYTES(length) (4 * (length) + 3)

/* A word for a shell, in quotes where they are needed. `to` has room for
 * WORDS_QUOTED_BYTES. */
void words_quote(char *to, const char *word);

#endif
