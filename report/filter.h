/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans a --name means. */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "report/model.h"

/*
 * Marks the spans that `name` means: those of the operation of that name; if
 * there is none, those in whose name, `METHOD path` or operation it occurs; if
 * there is none either, those of the operation that `name` is once its ids are
 * folded. NULL means all spans, and samples without a span too. Returns how
 * many; `*wanted` has a mark for each place in model.spans, free with free().
 */
size_t filter_spans(const struct model *model, const char *name, bool **wanted);

#endif
