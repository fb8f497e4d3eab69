/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a run.
 * Runs on: the supervisor.
 */
#include "supervisor/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/config.h"
#include "sampler/layout.h"

void summary_print(const struct ring *ring)
{
	const char *quiet = getenv("SPANPROF_QUIET");
	const char *output = getenv("SPANPROF_OUTPUT");
	const struct ring_header *header = &ring->header;

	if ((quiet && *quiet) || !ring)
		return;
	if (!output || !*output)
		output = "spanprof.out";
	fprintf(stderr, "spanprof: %llu samples, %llu requests",
		(unsigned long long)header->counters[RING_SAMPLES],
		(unsigned long long)header->counters[RING_SPANS]);
	/* The address may hold a password. */
	if (config_server(environ) && !getenv("SPANPROF_OUTPUT"))
		fprintf(stderr, "; pushed to a server, see SPANPROF_LOG "
				"for what it answered\n");
	else
		fprintf(stderr, "; see: spanprof spans %s\n", output);
}
