/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a dead exporter is started again.
 * Runs on: the supervisor; the keeper of a detached exporter.
 */
#include "supervisor/restart.h"

#define MINUTE_NS UINT64_C(60000000000)
#define FIRST_DELAY_NS INT64_C(100000000)

static void forget_old(struct restart *restart, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < restart->count; i++) {
		if (now_ns - restart->deaths_ns[i] < MINUTE_NS)
			restart->deaths_ns[kept++] = restart->deaths_ns[i];
	}
	restart->count = kept;
}

int64_t restart_delay_ns(struct restart *restart, uint64_t now_ns)
{
	forget_old(restart, now_ns);
	if (restart->count == RESTARTS_MAX)
		return -1;
	restart->deaths_ns[restart->count++] = now_ns;
	return FIRST_DELAY_NS << (restart->count - 1);
}
