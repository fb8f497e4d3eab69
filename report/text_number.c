/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes times of day for people.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)

static bool split_time(uint64_t unix_ns, struct tm *parts)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_SECOND);

	return unix_ns && gmtime_r(&seconds, parts);
}

void text_clock(char text[TEXT_NUMBER_BYTES], uint64_t unix_ns)
{
	struct tm parts;

	if (!split_time(unix_ns, &parts)) {
		snprintf(text, TEXT_NUMBER_BYTES, "-");
		return;
	}
	snprintf(text, TEXT_NUMBER_BYTES, "%02d:%02d:%02d.%03u", parts.tm_hour,
		 parts.tm_min, parts.tm_sec,
		 (unsigned int)(unix_ns % NS_PER_SECOND / 1000000));
}

void text_date(char text[TEXT_NUMBER_BYTES], uint64_t unix_ns)
{
	struct tm parts;

	if (!split_time(unix_ns, &parts) ||
	    !strftime(text, TEXT_NUMBER_BYTES, "%Y-%m-%d %H:%M:%S", &parts))
		snprintf(text, TEXT_NUMBER_BYTES, "-");
}
