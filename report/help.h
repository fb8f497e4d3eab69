/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: examples first, at most 60 lines of 80 columns. */
#ifndef REPORT_HELP_H
#define REPORT_HELP_H

extern const char help_all[];
extern const char help_spans[];
extern const char help_show[];
extern const char help_top[];

#endif
