/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an exporter that died is started again. Pure functions: the clock is the
 * caller's. Used by the supervisor and by a detached exporter's keeper.
 */
#ifndef SUPERVISOR_RESTART_H
#define SUPERVISOR_RESTART_H

#include <stdint.h>

/* So many restarts within a minute, and no more. */
#define RESTARTS_MAX 5u

struct restart {
	uint64_t deaths_ns[RESTARTS_MAX]; /* of the last minute, any order */
	uint32_t count;
};

/* The exporter died by a signal at this time (any clock that goes on). Returns
 * how long to wait before the next start: a tenth of a second, doubled with
 * each death of the last minute; or -1 when there were too many. */
int64_t restart_delay_ns(struct restart *restart, uint64_t now_ns);

#endif
