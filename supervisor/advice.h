/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says why a program can't be profiled or run, and what to do.
 */
#ifndef SUPERVISOR_ADVICE_H
#define SUPERVISOR_ADVICE_H

#include <stdbool.h>

struct options;

/*
 * Looks at the library and at the program's file and says what stands in the
 * way, if anything does. Returns whether the library may be preloaded: false
 * when that would do nothing but harm.
 */
bool advice_before(const struct options *options);

/* The program could not be run: why (errno of execvp), and what to do. Returns
 * the exit status, 126 or 127 as env(1). */
int advice_not_run(const char *program, int error);

#endif
