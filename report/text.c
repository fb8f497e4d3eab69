/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes texts fit to be printed: clean, cut, quoted.
 * Runs on: the main thread of the spanprof command.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* wcwidth */
#endif
#include "report/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "report/mem.h"

#define ELLIPSIS "\xe2\x80\xa6"

void text_init(void)
{
	/* Built into glibc since 2.35. Without it everything beyond ASCII
	 * becomes '?', which is safe. */
	setlocale(LC_CTYPE, "C.UTF-8");
}

/*
 * Reads the character at `text`. Returns its bytes and its columns; columns 0
 * mean that it can't be printed.
 */
static size_t read_character(const char *text, size_t *columns)
{
	mbstate_t state = {0};
	wchar_t character;
	size_t bytes = mbrtowc(&character, text, MB_CUR_MAX, &state);
	int width;

	*columns = 0;
	if (bytes == (size_t)-1 || bytes == (size_t)-2 || bytes == 0)
		return 1;
	width = wcwidth(character);
	if (width > 0)
		*columns = (size_t)width;
	return bytes;
}

char *text_clean(const char *text)
{
	char *clean = mem_zeroed(strlen(text) + 1, 1), *to = clean;

	while (*text) {
		size_t columns, bytes = read_character(text, &columns);

		if (columns)
			to = mempcpy(to, text, bytes);
		else
			*to++ = '?';
		text += bytes;
	}
	return clean;
}

size_t text_width(const char *clean)
{
	size_t width = 0;

	while (*clean) {
		size_t columns;

		clean += read_character(clean, &columns);
		width += columns;
	}
	return width;
}

/* The bytes of as many first characters as fit into `width` columns. */
static size_t bytes_within(const char *clean, size_t width)
{
	size_t length = 0;

	while (clean[length]) {
		size_t columns,
			bytes = read_character(clean + length, &columns);

		if (columns > width)
			break;
		width -= columns;
		length += bytes;
	}
	return length;
}

/* The begin of as many last characters as fit into `width` columns. */
static const char *tail_within(const char *clean, size_t width)
{
	size_t all = text_width(clean);

	while (all > width) {
		size_t columns;

		clean += read_character(clean, &columns);
		all -= columns;
	}
	return clean;
}

char *text_cut_end(const char *clean, size_t width)
{
	return mem_copy(clean, bytes_within(clean, width));
}

char *text_cut_middle(const char *clean, size_t width)
{
	size_t left = width / 2, right;

	if (text_width(clean) <= width)
		return mem_copy(clean, strlen(clean));
	if (width < 3)
		return text_cut_end(clean, width);
	right = width - 1 - left;
	return mem_printf("%.*s" ELLIPSIS "%s", (int)bytes_within(clean, left),
			  clean, tail_within(clean, right));
}

char *text_quote(const char *word)
{
	char *quoted = mem_zeroed(WORDS_QUOTED_BYTES(strlen(word)), 1);

	words_quote(quoted, word);
	return quoted;
}
