/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a record: from the ring through the unwinder into the window, and
 * of a window into files.
 */
#ifndef EXPORTER_RECORDER_H
#define EXPORTER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/complete.h"
#include "exporter/intake.h"
#include "exporter/late.h"
#include "exporter/names.h"
#include "exporter/output.h"
#include "exporter/processes.h"
#include "exporter/pusher.h"
#include "exporter/spans.h"
#include "exporter/summary.h"
#include "exporter/window.h"
#include "preload/config.h"

/* What became of the samples, in this window. */
struct recorder_counts {
	uint64_t stacks[COMPLETE_RESULTS];
	uint64_t labelled;
	uint64_t late;    /* waited for a list of modules */
	uint64_t orphans; /* records of no known process */
	uint64_t dropped; /* no memory */
};

struct recorder {
	const struct config *config;
	struct ring *ring;
	struct intake intake;
	struct processes processes;
	struct debug_infos debug;
	struct elf_cache files;
	struct late late;
	struct spans *spans;
	struct names names;
	struct window window;
	struct output output;
	struct pusher *pusher;       /* NULL: none; set after init */
	struct upload_counts pushed; /* at the last window's end, or at all's */
	/* Set before init: the program as the starter named it, and how to
	 * start this one again, to read DWARF (NULL: no source lines). */
	const char *program;
	char *const *own_command;
	char service[CONFIG_SERVICE_BYTES + 32]; /* "" until it is known */
	uint64_t window_start_ns;                /* CLOCK_MONOTONIC */
	int64_t clock_offset_ns;                 /* to the time since 1970 */
	/* Spans and samples of one pass fill more than a window. */
	bool in_pass, was_split;
	bool takes_over; /* a dead exporter's window is to be written first */
	struct recorder_counts counts;
	uint64_t ring_counts[RING_COUNTERS]; /* at the last window's end */
	uint64_t spans_refused;              /* likewise */
	uint64_t debug_unusable;             /* likewise */
	struct stack stack;                  /* of the sample at hand */
	struct summary *summary; /* of the run; NULL: no memory for it */
};

/* `output_folder` is absolute, or "" to write no files, and outlives the
 * recorder. Returns 0 or -ENOMEM. */
int recorder_init(struct recorder *recorder, const struct config *config,
		  struct ring *ring, const char *output_folder);
void recorder_fini(struct recorder *recorder);

/* Takes what is in the ring, and writes the window when it is full or over.
 * Returns how many records there were. */
long recorder_pass(struct recorder *recorder);

/* Whether the program was told to end, a while ago at most: windows are closed
 * every second. */
bool recorder_hurries(const struct recorder *recorder);

/* Takes what waits, whatever is known by now, and writes the window. */
void recorder_flush(struct recorder *recorder);

#endif
