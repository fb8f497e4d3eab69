/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of a window as key=value lines.
 * Runs on: the test program's main thread.
 */
#include "exporter/comments.h"

#include <stdlib.h>

#include "exporter/recorder.h"
#include "tests/lib/agent.h"
#include "tests/lib/unit.h"

static struct recorder recorder;
static struct comments comments;

static void begin(void)
{
	agent_begin();
	spans_destroy(recorder.spans);
	memset(&recorder, 0, sizeof(recorder));
	recorder.spans = spans_create();
	CHECK(recorder.spans != NULL);
	recorder.ring = agent.ring;
}

static void make(void)
{
	memset(&comments, 0xa5, sizeof(comments));
	comments_make(&comments, &recorder);
}

static unsigned count_lines(void)
{
	unsigned count = 0;

	while (comments.lines[count]) {
		CHECK(strlen(comments.lines[count]) < COMMENT_BYTES);
		CHECK(++count <= COMMENTS_LINES);
	}
	return count;
}

static bool has_line(const char *line)
{
	for (unsigned i = 0; comments.lines[i]; i++) {
		if (!strcmp(comments.lines[i], line))
			return true;
	}
	return false;
}

TEST(a_window_in_which_nothing_happened_tells_who_made_it)
{
	begin();
	make();
	CHECK_EQ(count_lines(), 1);
	CHECK(!strncmp(comments.lines[0], "producer=spanprof ", 18));
}

TEST(producers_counts_are_told_since_the_last_window)
{
	begin();
	agent.ring->header.counters[RING_SAMPLES] = 7;
	agent.ring->header.counters[RING_LOST_NO_BLOCK] = 2;
	make();
	CHECK(has_line("samples=7"));
	CHECK(has_line("lost_ring_full=2"));
	CHECK_EQ(count_lines(), 3);
	agent.ring->header.counters[RING_SAMPLES] = 10;
	make();
	CHECK(has_line("samples=3"));
	CHECK_EQ(count_lines(), 2);
}

TEST(the_exporters_own_counts_are_told)
{
	begin();
	recorder.window.total_ns = 1000;
	recorder.window.labelled_ns = 900;
	recorder.window.unsampled_ns = 50;
	recorder.counts.stacks[COMPLETE] = 8;
	recorder.counts.stacks[TRUNCATED_NO_CFI] = 1;
	recorder.counts.late = 4;
	recorder.intake.malformed = 3;
	make();
	CHECK(has_line("cpu_ns=1000"));
	CHECK(has_line("cpu_labelled_ns=900"));
	CHECK(has_line("cpu_unsampled_ns=50"));
	CHECK(has_line("stacks_complete=8"));
	CHECK(has_line("stacks_truncated_no_unwind_information=1"));
	CHECK(has_line("samples_waited_for_modules=4"));
	CHECK(has_line("records_malformed=3"));
	CHECK_EQ(recorder.intake.malformed, 0);
}

/* Since the last window. */
TEST(spans_without_a_place_are_told_once)
{
	struct record_span_begin without_id = {0};

	begin();
	spans_begin(recorder.spans, &without_id, 1);
	make();
	CHECK(has_line("spans_beyond_table=1"));
	make();
	CHECK_EQ(count_lines(), 1);
}

/* Every counter, with the longest number; unknown ones have no name. */
TEST(all_lines_fit)
{
	begin();
	for (unsigned i = 0; i < RING_COUNTERS; i++)
		agent.ring->header.counters[i] = UINT64_MAX;
	for (unsigned i = 0; i < COMPLETE_RESULTS; i++)
		recorder.counts.stacks[i] = UINT64_MAX;
	recorder.window.total_ns = recorder.window.labelled_ns =
		recorder.window.unsampled_ns = UINT64_MAX;
	recorder.counts.late = recorder.counts.orphans =
		recorder.counts.dropped = recorder.intake.malformed =
			UINT64_MAX;
	make();
	for (unsigned i = 0; comments.lines[i]; i++) {
		const char *equals = strchr(comments.lines[i], '=');

		CHECK(equals != NULL);
		CHECK(i == 0 || !strcmp(equals, "=18446744073709551615"));
		for (unsigned j = 0; j < i; j++)
			CHECK(strcmp(comments.lines[i], comments.lines[j]));
	}
	CHECK_EQ(count_lines(),
		 1 + 3 + RING_SANDBOXED + 1 + COMPLETE_RESULTS + 4);
}
