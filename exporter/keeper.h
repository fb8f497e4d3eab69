/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent of a detached exporter, which starts it again when it dies.
 */
#ifndef EXPORTER_KEEPER_H
#define EXPORTER_KEEPER_H

/*
 * Forks; returns in the exporter, and again in each one that follows it. The
 * keeper itself stays in here: it has parsed nothing, only waits, passes
 * SIGTERM on, and leaves when the exporter has ended by itself. The exporter
 * outlives a keeper that is killed. Without memory for a child the exporter
 * goes on alone.
 */
void keeper_begin(void);

#endif
