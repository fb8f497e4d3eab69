/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte strings, each kept once and known by a small number. Used for names and,
 * as rows of uint32_t, for stacks.
 */
#ifndef REPORT_INTERN_H
#define REPORT_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

/* Number 0 of a new table is the empty string. */
struct intern *intern_create(void);
void intern_destroy(struct intern *table);

/* The number of these bytes, which are copied when they are new. */
uint32_t intern_put(struct intern *table, const void *data, size_t bytes);

/*
 * The bytes of a number that intern_put gave, with a NUL behind them, aligned
 * to 8. They stay where they are until intern_destroy. `bytes` may be NULL.
 */
const void *intern_get(const struct intern *table, uint32_t number,
		       size_t *bytes);

/* The hash that the tables use: seeded, the same during a process. */
uint64_t intern_hash(const void *data, size_t bytes);

/* How many there are; the numbers are 0 to this minus one. */
uint32_t intern_count(const struct intern *table);

#endif
