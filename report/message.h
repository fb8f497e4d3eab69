/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says about itself: to stderr, never among the data. */
#ifndef REPORT_MESSAGE_H
#define REPORT_MESSAGE_H

/* Prints `spanprof: ` and the text, cleaned (text.h), as one line. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

#endif
