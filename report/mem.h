/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for a command that can't do anything useful without it: every
 * function here prints one line and exits with status 1 when there is none.
 * Callers bound the sizes that come from files before they ask.
 */
#ifndef REPORT_MEM_H
#define REPORT_MEM_H

#include <stddef.h>

/* `count` items of `item_bytes`, zeroed. Free with free(). */
void *mem_zeroed(size_t count, size_t item_bytes);

/* A copy of `bytes` bytes and a NUL behind them. Free with free(). */
char *mem_copy(const void *data, size_t bytes);

/*
 * Room for at least `wanted` items in a growing array. `*capacity` is the room
 * it has now and is updated; growth is geometric. Returns the array, perhaps
 * moved. New room isn't cleared.
 */
void *mem_room(void *array, size_t *capacity, size_t wanted, size_t item_bytes);

/* A printf into new memory. Free with free(). */
__attribute__((format(printf, 1, 2))) char *mem_printf(const char *format, ...);

#endif
