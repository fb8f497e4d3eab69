/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows progress on a terminal.
 * Runs on: the supervisor.
 */
#include "supervisor/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/layout.h"
#include "supervisor/say.h"

#define EACH_NS UINT64_C(1000000000)

/* To the line's beginning; erase to its end (ECMA-48, EL). */
#define REWRITE "\r\033[K"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool can_rewrite(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void progress_begin(struct progress *progress, bool wanted)
{
	memset(progress, 0, sizeof(*progress));
	if (!wanted || say_is_quiet() || !can_rewrite())
		return;
	if (isatty(STDOUT_FILENO)) {
		say("no progress is shown: the program writes to this "
		    "terminal; redirect it");
		return;
	}
	progress->on = true;
	progress->begin_ns = now_ns();
	progress->next_ns = progress->begin_ns + EACH_NS;
}

int progress_wait_ms(const struct progress *progress)
{
	uint64_t now = now_ns();

	if (!progress->on)
		return -1;
	return now < progress->next_ns
		       ? (int)((progress->next_ns - now) / 1000000) + 1
		       : 0;
}

static void write_line(const char *line)
{
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		(void)0; /* there is nobody to tell */
}

void progress_show(struct progress *progress, const struct ring *ring)
{
	char line[128];
	uint64_t now = now_ns();

	if (!progress->on || now < progress->next_ns || !ring)
		return;
	progress->next_ns = now + EACH_NS;
	progress->shown = true;
	snprintf(line, sizeof(line),
		 REWRITE "spanprof: %llu s, %llu samples, %llu requests, %u "
			 "windows",
		 (unsigned long long)((now - progress->begin_ns) / 1000000000u),
		 (unsigned long long)ring->header.counters[RING_SAMPLES],
		 (unsigned long long)ring->header.counters[RING_SPANS],
		 ring->header.windows);
	write_line(line);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		write_line(REWRITE);
	progress->on = progress->shown = false;
}
