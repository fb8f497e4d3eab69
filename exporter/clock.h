/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORTER_CLOCK_H
#define EXPORTER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A clock's time in ns; for CLOCK_REALTIME since 1970. */
static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
