/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrapper says on stderr when the program has ended.
 */
#ifndef SUPERVISOR_SUMMARY_H
#define SUPERVISOR_SUMMARY_H

struct ring;

/* Nothing when SPANPROF_QUIET is set, or without a ring (NULL). */
void summary_print(const struct ring *ring);

#endif
