/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes numbers and words for people.
 * Runs on: the exporter's main thread; the spanprof command.
 */
#include "exporter/words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Three figures: enough for sampled times, short enough for columns. */
static void write_figures(char text[WORDS_NUMBER_BYTES], double value,
			  const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text, WORDS_NUMBER_BYTES, "%.*f %s", digits, value, unit);
}

void words_duration(char text[WORDS_NUMBER_BYTES], uint64_t ns)
{
	double value = (double)ns;

	if (ns == 0)
		snprintf(text, WORDS_NUMBER_BYTES, "0");
	else if (ns < 1000)
		snprintf(text, WORDS_NUMBER_BYTES, "%" PRIu64 " ns", ns);
	else if (value < 999.5e3)
		write_figures(text, value / 1e3, "us");
	else if (value < 999.5e6)
		write_figures(text, value / 1e6, "ms");
	else
		write_figures(text, value / 1e9, "s");
}

void words_percent(char text[WORDS_NUMBER_BYTES], uint64_t part, uint64_t whole)
{
	if (whole == 0)
		snprintf(text, WORDS_NUMBER_BYTES, "-");
	else
		snprintf(text, WORDS_NUMBER_BYTES, "%.1f",
			 100.0 * (double)part / (double)whole);
}

static bool needs_quotes(const char *word)
{
	for (const char *c = word; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("%+,-./:=@_", *c))
			return true;
	return !*word;
}

void words_quote(char *to, const char *word)
{
	if (!needs_quotes(word)) {
		strcpy(to, word);
		return;
	}
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *word;
	}
	strcpy(to, "'");
}
