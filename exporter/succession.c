/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands over from one exporter to the next, by way of the ring.
 * Runs on: the exporter's main thread.
 */
#include "exporter/succession.h"

#include <stdatomic.h>
#include <time.h>

#include "exporter/clock.h"
#include "exporter/log.h"
#include "exporter/recorder.h"

/* No window is longer, whatever the ring says. */
#define WINDOW_MAX_NS UINT64_C(60000000000)

/* The window began when the dead exporter's last one ended. */
static void continue_window(struct recorder *recorder,
			    const struct ring_mark *mark)
{
	uint64_t start_ns = atomic_load(&mark->end_ns);
	uint64_t age_ns = recorder->window_start_ns - start_ns;

	if (age_ns < WINDOW_MAX_NS)
		recorder->window_start_ns = start_ns;
	for (unsigned i = 0; i < RING_COUNTERS; i++)
		recorder->ring_counts[i] = atomic_load(&mark->counters[i]);
	log_message(CONFIG_LOG_WARN,
		    "an exporter has died; this one takes its place");
}

/* A dead exporter has been here when it has told the time. */
void succession_begin(struct recorder *recorder)
{
	struct ring_header *header = &recorder->ring->header;
	struct ring_mark *mark =
		&header->marks[atomic_load(&header->windows_out) & 1];

	recorder->takes_over = atomic_load(&header->exporter_beat_ns) != 0;
	if (recorder->takes_over) {
		atomic_fetch_add(&header->exporter_restarts, 1);
		continue_window(recorder, mark);
	} else {
		atomic_store(&mark->end_ns, recorder->window_start_ns);
	}
	atomic_store(&header->exporter_beat_ns, now_ns(CLOCK_MONOTONIC));
	intake_begin(&recorder->intake);
}

void succession_note(struct recorder *recorder)
{
	struct ring_header *header = &recorder->ring->header;
	uint64_t next = atomic_load(&header->windows_out) + 1;
	struct ring_mark *mark = &header->marks[next & 1];

	for (unsigned i = 0; i < RING_COUNTERS; i++)
		atomic_store(&mark->counters[i], recorder->ring_counts[i]);
	atomic_store(&mark->end_ns, now_ns(CLOCK_MONOTONIC));
	intake_mark(&recorder->intake);
}

void succession_window_out(struct recorder *recorder)
{
	recorder->was_split = recorder->takes_over = false;
	intake_window_out(&recorder->intake);
	processes_free_slots(&recorder->processes);
}
