/* SPDX-License-Identifier: Apache-2.0 */
/* From the inputs of a command line to the store. */
#ifndef REPORT_LOAD_H
#define REPORT_LOAD_H

#include "report/model.h"
#include "report/options.h"

/*
 * Reads all inputs. What can't be read is named on stderr and left out; then
 * the result is EXIT_FAILURE, else EXIT_SUCCESS. `*model` is what could be
 * read, or NULL when that is nothing, which was said too.
 */
int load_model(struct model **model, const struct options *options);

#endif
