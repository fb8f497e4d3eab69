/* SPDX-License-Identifier: Apache-2.0 */
/* Near matches for words that were mistyped. */
#ifndef REPORT_SUGGEST_H
#define REPORT_SUGGEST_H

#include <stddef.h>

/*
 * The word of a NULL-terminated list that is nearest to `typed`, or NULL when
 * none is near: up to one edit in three letters, where an edit inserts, drops,
 * replaces or swaps neighbours. A word that begins with `typed` is near too.
 */
const char *suggest(const char *typed, const char *const *words);

#endif
