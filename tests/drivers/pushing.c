/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes made-up windows as the exporter does, so that a test of what a server
 * does costs no profiled program:
 *
 *	pushing PROFILES [SAMPLES [WAIT_MS]]
 *
 * where to is in the environment, as for the exporter. Profile i has so many
 * samples (1) of i us under span i; it is told at the end, which comes when all
 * is delivered or given up, or after WAIT_MS (0), what became of them.
 * Runs on: a process of the tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/log.h"
#include "exporter/pusher.h"
#include "exporter/window.h"

#define US 1000u
#define LONG_MS 60000u

static void fill(struct window *window, unsigned number, unsigned long samples)
{
	struct window_sample sample = {.count = 1, .cpu_ns = number * US};

	sample.labels.span_id[SPAN_ID_BYTES - 1] = (uint8_t)number;
	memcpy(sample.labels.pushed_id, sample.labels.span_id, SPAN_ID_BYTES);
	for (unsigned long i = 0; i < samples; i++) {
		/* No two alike, and nothing for gzip. */
		if (getrandom(sample.labels.trace_id, TRACE_ID_BYTES, 0) < 0)
			abort();
		if (!window_add_unsampled(window, &sample))
			abort();
	}
}

static void push(struct pusher *pusher, unsigned number, unsigned long samples)
{
	static const char *const comments[] = {"producer=test", NULL};
	struct window window;
	struct pusher_profile profile = {
		.window = &window,
		.times.start_ns = now_ns(CLOCK_REALTIME),
		.times.duration_ns = 1000000000u,
		.times.period_ns = 10000000u,
		.comments = comments,
		.service = "test",
	};

	if (window_init(&window) != 0)
		abort();
	fill(&window, number, samples);
	if (pusher_take(pusher, &profile) != 0)
		abort();
	window_fini(&window);
}

static uint64_t settled(const struct upload_counts *counts)
{
	uint64_t sum = counts->sent;

	for (unsigned i = 0; i < UPLOAD_LOSSES; i++)
		sum += counts->lost[i];
	return sum;
}

static void wait_for(struct pusher *pusher, uint64_t profiles, uint64_t wait_ms)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + wait_ms * 1000000u;
	struct upload_counts counts;

	do {
		counts = pusher_counts(pusher);
		if (settled(&counts) >= profiles)
			return;
		usleep(5000);
	} while (now_ns(CLOCK_MONOTONIC) < until);
}

static unsigned long argument(int argc, char **argv, int i, unsigned long usual)
{
	return argc > i ? strtoul(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
	unsigned long profiles = argument(argc, argv, 1, 1);
	unsigned long samples = argument(argc, argv, 2, 1);
	struct config config;
	struct upload_counts counts;
	struct pusher *pusher;

	config_read(&config, environ, NULL, NULL);
	log_open(config.log, config.log_level);
	pusher = pusher_create(&config, environ);
	if (!pusher) {
		printf("no pusher\n");
		return 1;
	}
	for (unsigned i = 1; i <= profiles; i++) {
		/* Never more than the queue holds. */
		if (i > UPLOAD_QUEUE_MAX)
			wait_for(pusher, i - UPLOAD_QUEUE_MAX, LONG_MS);
		push(pusher, i, samples);
	}
	wait_for(pusher, profiles, argument(argc, argv, 3, 0));
	/* What became of them is in the log. */
	pusher_finish(pusher, &counts);
	_exit(0);
}
