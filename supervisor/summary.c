/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows what the exporter has to say. Its text is bounded and cleaned: names in
 * it came from the program.
 * Runs on: the supervisor.
 */
#include "supervisor/summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/config.h"
#include "sampler/layout.h"
#include "supervisor/say.h"

#define MOST_BYTES 4096
#define MOST_LINES 12

int summary_open(void)
{
	return memfd_create("spanprof-summary", MFD_CLOEXEC);
}

void summary_begin(const struct config *config)
{
	if (!isatty(STDERR_FILENO))
		return;
	/* The server's address may hold a password. */
	if (config_server(environ))
		say("profiles are pushed to the server every %g s",
		    config->interval_ms / 1000.0);
	if (config->output[0])
		say("profiles go to %s every %g s", config->output,
		    config->interval_ms / 1000.0);
}

static void print_ring(const struct ring *ring)
{
	const struct ring_header *header = &ring->header;

	say("the exporter left no summary; %llu samples, %llu requests",
	    (unsigned long long)header->counters[RING_SAMPLES],
	    (unsigned long long)header->counters[RING_SPANS]);
}

void summary_print(int fd, const struct ring *ring)
{
	char text[MOST_BYTES + 1];
	ssize_t got = fd < 0 ? 0 : pread(fd, text, MOST_BYTES, 0);
	char *line = text;

	text[got < 0 ? 0 : got] = '\0';
	if (!text[0] && ring)
		print_ring(ring);
	for (int i = 0; i < MOST_LINES && *line; i++) {
		size_t length = strcspn(line, "\n");
		char *next = line + length + (line[length] == '\n');

		line[length] = '\0';
		say("%s", line);
		line = next;
	}
}
