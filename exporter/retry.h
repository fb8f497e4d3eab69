/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do after an attempt to upload. Pure functions: clock and chance are
 * the caller's.
 */
#ifndef EXPORTER_RETRY_H
#define EXPORTER_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* A Pyroscope refuses what is older than an hour. */
#define RETRY_OLDEST_NS UINT64_C(3300000000000)
#define RETRY_TRIES_MAX 8u
/* A 500 is often a profile that the server can't decode, now or later. */
#define RETRY_TRIES_500_MAX 3u

enum retry_verdict {
	RETRY_DONE,    /* delivered: 200, nothing else */
	RETRY_AGAIN,   /* after the delay */
	RETRY_REFUSED, /* will never be taken */
	RETRY_TIRED,   /* too many tries */
	RETRY_OLD,     /* would come too late */
};

struct retry_attempt {
	int status;        /* as an http_answer has it */
	unsigned tries;    /* made so far, this one included */
	uint64_t age_ns;   /* of the profile's begin */
	uint64_t after_ns; /* as Retry-After tells; 0: it doesn't */
	uint32_t chance;   /* any number, for the jitter */
};

/* `delay_ns` is set for RETRY_AGAIN: full jitter between 0.5 s and a bound that
 * doubles from 1 s to 30 s, and never before the server wants it. */
enum retry_verdict retry_decide(const struct retry_attempt *attempt,
				uint64_t *delay_ns);

/* A Retry-After of RFC 9110 §10.2.3, in seconds or as a date; `now_s` is since
 * 1970. Returns 0 when it makes no sense or is over; a day at most. */
uint64_t retry_after_ns(const char *value, int64_t now_s);

#endif
