/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a file, in words for a person. A reader fills it in and
 * returns a negative errno; whoever gives the file up prints it, once. The text
 * may quote bytes of the file: clean it before it goes to a terminal.
 */
#ifndef REPORT_FAULT_H
#define REPORT_FAULT_H

#include <stdio.h>

struct fault {
	char text[256];
};

/* Fills in `fault` like printf, cut to fit. The value is `error`, so that a
 * reader can write `return FAULT(fault, -EBADMSG, "...")`. */
#define FAULT(fault, error, ...) \
	(snprintf((fault)->text, sizeof((fault)->text), __VA_ARGS__), (error))

#endif
