/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the person is told before, while and after the program runs.
 */
#ifndef SUPERVISOR_SUMMARY_H
#define SUPERVISOR_SUMMARY_H

struct config;
struct ring;

/* The file that the exporter writes its summary into; -1 when there is none to
 * be had. */
int summary_open(void);

/* On a terminal, where the data go. */
void summary_begin(const struct config *config);

/* What the exporter wrote, line by line; if it wrote nothing, what the ring
 * (may be NULL) says. */
void summary_print(int fd, const struct ring *ring);

#endif
