/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to start this program again. Its file alone doesn't tell: in a bundle it
 * was started by a loader that got its path, and the libraries', as arguments.
 */
#ifndef EXPORTER_OWN_COMMAND_H
#define EXPORTER_OWN_COMMAND_H

#define OWN_COMMAND_PROGRAM "/proc/self/exe"

/* The arguments that this process was started with, from its name on, but for
 * the last `left_out`; ended by NULL, never freed. NULL when they can't be
 * read. */
char *const *own_command(unsigned int left_out);

#endif
