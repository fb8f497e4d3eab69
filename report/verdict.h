/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples of one span are worth. Samples come by chance: with n of
 * them the standard error of the CPU time they stand for is about sqrt(n)
 * periods.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "report/model.h"

/* Fewer samples than this tell where to look, not how much: the error is a
 * third. */
#define VERDICT_ENOUGH 10

/*
 * A sentence on the samples of `span`; the period of the span's profiles, else
 * of `model`, is used. Free with free().
 */
char *verdict_text(const struct model *model, const struct span *span);

/*
 * A sentence when profiles lack much more of the span's exact CPU time than
 * chance explains, else NULL. Free with free().
 */
char *verdict_gap(const struct span *span);

#endif
