/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store as JSON. Times are in nanoseconds; a number beyond 2^63-1 becomes
 * that; what isn't known is null. Texts are ASCII with \u escapes, so they are
 * harmless on a terminal and exact for a program; bytes that aren't UTF-8
 * become U+FFFD.
 */
#ifndef REPORT_JSON_OUT_H
#define REPORT_JSON_OUT_H

#include <jansson.h>

#include "report/sums.h"
#include "report/tree.h"

/* Each of these returns a new reference. */
json_t *json_out_text(const char *text);
json_t *json_out_number(uint64_t number);

/* One span, without its stacks. */
json_t *json_out_span(const struct model *model, const struct span *span);

/* An array of the first `limit` functions. */
json_t *json_out_functions(const struct model *model,
			   const struct function_sums *functions, size_t limit);

/* A flat array of nodes, callers first: nested objects of a deep stack break
 * readers that recurse. `parent` is a place in the array. */
json_t *json_out_tree(const struct model *model, const struct tree *tree);

/* Prints to stdout and drops the reference. */
void json_out_print(json_t *value);

#endif
