/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes numbers, shares and times for people.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* Three figures: enough for sampled times, short enough for columns. */
static void write_figures(char text[TEXT_NUMBER_BYTES], double value,
			  const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text, TEXT_NUMBER_BYTES, "%.*f %s", digits, value, unit);
}

void text_duration(char text[TEXT_NUMBER_BYTES], uint64_t ns)
{
	double value = (double)ns;

	if (ns == 0)
		snprintf(text, TEXT_NUMBER_BYTES, "0");
	else if (ns < 1000)
		snprintf(text, TEXT_NUMBER_BYTES, "%" PRIu64 " ns", ns);
	else if (value < 999.5e3)
		write_figures(text, value / 1e3, "us");
	else if (value < 999.5e6)
		write_figures(text, value / 1e6, "ms");
	else
		write_figures(text, value / 1e9, "s");
}

void text_percent(char text[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole)
{
	if (whole == 0)
		snprintf(text, TEXT_NUMBER_BYTES, "-");
	else
		snprintf(text, TEXT_NUMBER_BYTES, "%.1f",
			 100.0 * (double)part / (double)whole);
}

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
