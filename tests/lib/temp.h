/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders of unit tests. They are removed when the program ends.
 */
#ifndef TESTS_LIB_TEMP_H
#define TESTS_LIB_TEMP_H

#include <stddef.h>

/* A new, empty folder; its path lives for ever. */
const char *temp_folder(void);

/* The path of a file with these bytes; lives until the next call. */
const char *temp_file(const void *bytes, size_t length);

#endif
