/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that drives no terminal.
 */
#ifndef SUPERVISOR_PRINTABLE_H
#define SUPERVISOR_PRINTABLE_H

#include <stddef.h>

/*
 * Copies `length` bytes, with a '?' for each byte that is no UTF-8 and for each
 * character that is a control (C0, DEL, C1) or turns the direction of writing.
 * Never more bytes than before; returns how many. No closing NUL.
 */
size_t printable_copy(char *to, const char *from, size_t length);

#endif
