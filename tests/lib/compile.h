/* SPDX-License-Identifier: Apache-2.0 */
/* Small libraries that a test needs, built while it runs. */
#ifndef TESTS_LIB_COMPILE_H
#define TESTS_LIB_COMPILE_H

/*
 * Compiles C with `$CC -O2 -fPIC -shared` and `flags` to a library of that name
 * in a folder of this process's own, which is gone after its end. Returns its
 * path, which the next call overwrites, or NULL when it can't be built.
 */
const char *compile_library(const char *name, const char *code,
			    const char *flags);

/* A path in that folder; the next call overwrites it. NULL when there is no
 * folder. */
const char *compile_path(const char *name);

#endif
