/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `spanprof`. Each reads its inputs, prints to stdout and
 * returns the exit status: EXIT_FAILURE when data are damaged or missing, also
 * if the rest could be shown.
 */
#ifndef REPORT_COMMANDS_H
#define REPORT_COMMANDS_H

#include "report/model.h"
#include "report/options.h"

int spans_run(const struct options *options);
int show_run(const struct options *options);
int top_run(const struct options *options);

/* `top --operations`, called by top_run with a finished model. */
int operations_run(const struct model *model, const struct options *options);

#endif
