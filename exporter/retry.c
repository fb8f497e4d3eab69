/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges attempts to upload.
 * Runs on: the exporter's uploading thread.
 */
#include "exporter/retry.h"

#include <string.h>
#include <time.h>

#include "exporter/http.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_S 86400
#define SHORTEST_NS (SECOND_NS / 2)
#define LONGEST_NS (30 * SECOND_NS)

static unsigned most_tries(int status)
{
	switch (status) {
	case HTTP_STATUS_IO:
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		return RETRY_TRIES_MAX;
	case 500:
		return RETRY_TRIES_500_MAX;
	default:
		return 0;
	}
}

static uint64_t back_off_ns(unsigned tries, uint32_t chance)
{
	uint64_t bound = SECOND_NS << (tries < 6 ? tries - 1 : 5);

	if (bound > LONGEST_NS)
		bound = LONGEST_NS;
	return SHORTEST_NS + (uint64_t)((double)chance / UINT32_MAX *
					(double)(bound - SHORTEST_NS));
}

enum retry_verdict retry_decide(const struct retry_attempt *attempt,
				uint64_t *delay_ns)
{
	unsigned most = most_tries(attempt->status);
	uint64_t delay;

	if (attempt->status == 200)
		return RETRY_DONE;
	if (most == 0)
		return RETRY_REFUSED;
	if (attempt->tries >= most)
		return RETRY_TIRED;
	delay = back_off_ns(attempt->tries, attempt->chance);
	/* Jitter on top, or all clients would come at once. */
	if (attempt->after_ns)
		delay = attempt->after_ns + delay / 10;
	if (attempt->age_ns + delay > RETRY_OLDEST_NS)
		return RETRY_OLD;
	*delay_ns = delay;
	return RETRY_AGAIN;
}

static int64_t parse_date(const char *value)
{
	/* RFC 9110 §5.6.7: what is sent today, and two that were. */
	static const char *const forms[] = {
		"%a, %d %b %Y %T GMT", "%A, %d-%b-%y %T GMT", "%a %b %e %T %Y"};

	for (unsigned i = 0; i < 3; i++) {
		struct tm utc = {0};
		const char *end = strptime(value, forms[i], &utc);

		if (end && !*end)
			return timegm(&utc);
	}
	return 0;
}

static int64_t parse_seconds(const char *value)
{
	int64_t seconds = 0;

	for (; *value >= '0' && *value <= '9'; value++) {
		if (seconds < DAY_S)
			seconds = seconds * 10 + (*value - '0');
	}
	return *value ? 0 : seconds;
}

uint64_t retry_after_ns(const char *value, int64_t now_s)
{
	int64_t seconds;

	if (*value >= '0' && *value <= '9')
		seconds = parse_seconds(value);
	else
		seconds = parse_date(value) - now_s;
	if (seconds <= 0)
		return 0;
	return (uint64_t)(seconds < DAY_S ? seconds : DAY_S) * SECOND_NS;
}
