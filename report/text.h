/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for people. What comes from files may hold anything: escape sequences
 * that drive a terminal, half characters, signs that turn the direction of
 * writing. It is cleaned before it is printed.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/words.h"

/* To be called once before all others: names are read as UTF-8, whatever the
 * locale is. */
void text_init(void);

/*
 * `text` with a '?' for each byte that isn't UTF-8 and each character that
 * doesn't print in columns of its own: controls, newlines, marks that combine,
 * marks of direction. Free with free().
 */
char *text_clean(const char *text);

/* The columns that a clean text takes on a terminal. */
size_t text_width(const char *clean);

/* A clean text cut to `width` columns, "beg…end" or "begin". Free with
 * free(). */
char *text_cut_middle(const char *clean, size_t width);
char *text_cut_end(const char *clean, size_t width);

/* A word for a shell, in quotes where they are needed. Free with free(). */
char *text_quote(const char *word);

/* Of words.h, too. */
#define TEXT_NUMBER_BYTES WORDS_NUMBER_BYTES

/* UTC: "10:11:12.345" and "2026-07-12 10:11:12"; "-" for 0. */
void text_clock(char text[TEXT_NUMBER_BYTES], uint64_t unix_ns);
void text_date(char text[TEXT_NUMBER_BYTES], uint64_t unix_ns);

#endif
