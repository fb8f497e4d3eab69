/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics as comments.
 * Runs on: the exporter's main thread.
 */
#include "exporter/comments.h"

#include <inttypes.h>
#include <stdio.h>

#include "exporter/recorder.h"
#include "preload/version.h"

static const char *const ring_names[RING_COUNTERS] = {
	[RING_SAMPLES] = "samples",
	[RING_LOST_NO_BLOCK] = "lost_ring_full",
	[RING_LOST_NO_THREAD] = "lost_too_many_threads",
	[RING_LOST_TIMER] = "lost_no_timer",
	[RING_STACKS_CUT] = "stack_copies_cut",
	[RING_THREADS] = "threads",
	[RING_HEADS] = "request_heads",
	[RING_SPANS] = "spans",
	[RING_SPANS_NO_RECORD] = "requests_without_span",
	[RING_AMBIGUOUS] = "requests_ambiguous",
	[RING_UNPARSABLE] = "connections_not_followed",
	[RING_DESCRIPTORS_BEYOND] = "descriptors_beyond_table",
	[RING_NO_SAMPLER_THREAD] = "processes_without_sampler_thread",
	[RING_SANDBOXED] = "processes_sandboxed",
};

static const char *const stack_names[COMPLETE_RESULTS] = {
	[COMPLETE] = "stacks_complete",
	[TRUNCATED_STACK_CUT] = "stacks_truncated_copy",
	[TRUNCATED_NO_CFI] = "stacks_truncated_no_unwind_information",
	[TRUNCATED_DEPTH] = "stacks_truncated_depth",
	[TRUNCATED_BAD] = "stacks_truncated_inconsistent",
	[UNKNOWN_MODULE] = "stacks_truncated_unknown_code",
};

static const char *const loss_names[UPLOAD_LOSSES] = {
	[UPLOAD_REFUSED] = "pushes_lost_refused",
	[UPLOAD_TIRED] = "pushes_lost_too_many_tries",
	[UPLOAD_OLD] = "pushes_lost_too_old",
	[UPLOAD_FULL] = "pushes_lost_queue_full",
	[UPLOAD_END] = "pushes_lost_at_the_end",
};

struct writer {
	struct comments *to;
	unsigned used;
};

static void add(struct writer *writer, const char *key, uint64_t value)
{
	char *text;

	if (value == 0 || !key || writer->used >= COMMENTS_LINES)
		return;
	text = writer->to->text[writer->used];
	snprintf(text, COMMENT_BYTES, "%s=%" PRIu64, key, value);
	writer->to->lines[writer->used++] = text;
}

/* What the producers counted since the last window. */
static void add_ring_counts(struct writer *writer, struct recorder *recorder)
{
	for (unsigned i = 0; i < RING_COUNTERS; i++) {
		uint64_t now = atomic_load(&recorder->ring->header.counters[i]);

		add(writer, ring_names[i], now - recorder->ring_counts[i]);
		recorder->ring_counts[i] = now;
	}
}

/* What became of earlier profiles since then. */
static void add_pushes(struct writer *writer, struct recorder *recorder)
{
	struct upload_counts now;

	if (!recorder->pusher)
		return;
	now = pusher_counts(recorder->pusher);
	add(writer, "pushes", now.sent - recorder->pushed.sent);
	add(writer, "pushes_tried_again",
	    now.retried - recorder->pushed.retried);
	for (unsigned i = 0; i < UPLOAD_LOSSES; i++)
		add(writer, loss_names[i],
		    now.lost[i] - recorder->pushed.lost[i]);
	recorder->pushed = now;
}

void comments_make(struct comments *comments, struct recorder *recorder)
{
	struct writer writer = {comments, 1};

	snprintf(comments->text[0], COMMENT_BYTES, "producer=spanprof %s",
		 SPANPROF_VERSION);
	comments->lines[0] = comments->text[0];
	add(&writer, "cpu_ns", recorder->window.total_ns);
	add(&writer, "cpu_labelled_ns", recorder->window.labelled_ns);
	add(&writer, "cpu_unsampled_ns", recorder->window.unsampled_ns);
	add_ring_counts(&writer, recorder);
	for (unsigned i = 0; i < COMPLETE_RESULTS; i++)
		add(&writer, stack_names[i], recorder->counts.stacks[i]);
	add(&writer, "locations_without_symbol",
	    recorder->window.unnamed_count);
	add(&writer, "samples_waited_for_modules", recorder->counts.late);
	add(&writer, "records_of_unknown_processes", recorder->counts.orphans);
	add(&writer, "samples_dropped_no_memory", recorder->counts.dropped);
	add(&writer, "records_malformed", recorder->intake.malformed);
	recorder->intake.malformed = 0;
	add(&writer, "spans_beyond_table",
	    spans_refused(recorder->spans) - recorder->spans_refused);
	recorder->spans_refused = spans_refused(recorder->spans);
	add_pushes(&writer, recorder);
	comments->lines[writer.used] = NULL;
}
