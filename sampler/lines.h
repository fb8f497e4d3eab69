/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading text files of /proc with raw system calls. On the sampler thread,
 * which is the only user of the one buffer.
 */
#ifndef SAMPLER_LINES_H
#define SAMPLER_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the beginning of a small file; the text is ended by a NUL. Returns its
 * length or a negative errno. */
long lines_read_file(const char *path, char *text, size_t text_bytes);

/* Opens a file to be read line by line. Returns 0 or a negative errno. One
 * file at a time. */
int lines_open(const char *path);

/* The next line without its newline, ended by a NUL; NULL at the end. A line
 * longer than 4,351 bytes is cut. Lives until the next call. */
char *lines_next(void);

void lines_close(void);

#endif
