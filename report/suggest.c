/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the word that was meant.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/suggest.h"

#include <string.h>

#define WORD_MAX 32

static size_t least_of(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Edits between two words of at most WORD_MAX letters: optimal string
 * alignment, the distance of Damerau and Levenshtein without editing a swapped
 * pair again.
 */
static size_t edits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = least_of(d[i - 1][j] + 1, d[i][j - 1] + 1,
					   d[i - 1][j - 1] +
						   (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[n][m];
}

const char *suggest(const char *typed, const char *const *words)
{
	size_t length = strlen(typed), nearest = length / 3 + 1;
	const char *best = NULL;

	if (length == 0 || length > WORD_MAX)
		return NULL;
	for (; *words; words++) {
		size_t distance;

		if (strlen(*words) > WORD_MAX)
			continue;
		distance = edits(typed, *words);
		if (strncmp(*words, typed, length) == 0)
			distance = 0;
		if (distance < nearest) {
			nearest = distance;
			best = *words;
		}
	}
	return best;
}
