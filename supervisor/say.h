/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for the person at the terminal: on stderr, each beginning with
 * "spanprof: ".
 */
#ifndef SUPERVISOR_SAY_H
#define SUPERVISOR_SAY_H

#include <stdbool.h>

#define SAY_BYTES 1024 /* of a line; the rest is cut */

/* Opens what is closed of descriptors 0 to 2, until exec: nothing of ours may
 * get these numbers, or a line meant for a person would be written into it. To
 * be called before anything is opened. */
void say_init(void);

bool say_is_quiet(void);

/* One line, unless SPANPROF_QUIET is set; "\n" and what else would drive a
 * terminal becomes "?". That nobody can read it is no error, and SIGPIPE kills
 * nobody. errno is kept. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, whether quiet or not: why the program does not run. */
void say_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
