/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets the ring: from the exporter that is there, or by starting one.
 */
#ifndef PRELOAD_ATTACH_H
#define PRELOAD_ATTACH_H

#include <stdbool.h>

struct ring;

/* Returns the mapped ring, or NULL when there is no exporter to be had; the
 * reason is in the log. *first: this process started the exporter. */
struct ring *attach(char *const *environment, bool *first);

#endif
