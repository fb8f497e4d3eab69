/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `spanprof show` for one span. */
#ifndef REPORT_SHOW_SPAN_H
#define REPORT_SHOW_SPAN_H

#include "report/model.h"
#include "report/options.h"

/* Prints the span at a place in model.spans: header, verdict, functions and
 * call tree. */
void show_span(const struct model *model, size_t place,
	       const struct options *options);

#endif
