/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines that a person reads at the end, whatever the run was like.
 * Runs on: the test program's main thread.
 */
#include "exporter/summary.h"

#include <errno.h>
#include <stdio.h>

#include "exporter/recorder.h"
#include "tests/lib/agent.h"
#include "tests/lib/unit.h"

static struct recorder recorder;
static struct config config;
static struct summary *summary;
static char text[SUMMARY_BYTES];

static void begin(void)
{
	static char *nothing[] = {NULL};

	agent_begin();
	spans_destroy(recorder.spans);
	summary_destroy(summary);
	memset(&recorder, 0, sizeof(recorder));
	config_read(&config, nothing, NULL, NULL);
	recorder.config = &config;
	recorder.ring = agent.ring;
	recorder.spans = spans_create();
	recorder.processes.seen = 1;
	summary = summary_create();
	CHECK(summary && recorder.spans);
}

static void add_span(const char *path, uint64_t duration_ns, uint64_t samples)
{
	struct known_span span = {
		.start_ns = 1000,
		.end_ns = 1000 + duration_ns,
		.cpu_ns = duration_ns / 2,
		.samples = samples,
		.method = "GET",
	};

	memset(span.context.span_id, 0xab, SPAN_ID_BYTES);
	snprintf(span.path, sizeof(span.path), "%s", path);
	summary_add_span(summary, &span);
}

static void add_window(int error)
{
	struct output_files files = {.profile = "x", .spans = "x"};

	recorder.counts.stacks[COMPLETE] = 90;
	recorder.counts.stacks[TRUNCATED_NO_CFI] = 10;
	recorder.window.total_ns = 1000000000;
	recorder.window.labelled_ns = 750000000;
	recorder.window.unsampled_ns = 10000000;
	summary_add_window(summary, &recorder, &files, error);
}

/* Each line but the one to be pasted fits; there are not too many. */
static void write_summary(void)
{
	unsigned lines = 0;

	memset(text, 0xa5, sizeof(text));
	summary_write(summary, &recorder, "spanprof", text);
	for (const char *line = text; *line; lines++) {
		size_t bytes = strcspn(line, "\n");
		size_t columns = 0;

		CHECK(line[bytes] == '\n');
		for (size_t i = 0; i < bytes; i++)
			columns += (line[i] & 0xc0) != 0x80;
		CHECK(columns <= SUMMARY_COLUMNS ||
		      !strncmp(line, "next: ", 6));
		line += bytes + 1;
	}
	CHECK(lines > 0 && lines <= SUMMARY_LINES);
}

static void check_has(const char *line)
{
	const char *at = strstr(text, line);

	if (!at)
		unit_fail_strings(__FILE__, __LINE__, text, line);
}

TEST(a_run_is_told_in_lines_that_fit)
{
	begin();
	add_span("/users/17", 40000000, 2);
	add_span("/users/18", 2000000000, 91);
	add_span("/"
		 "a-path-that-is-much-longer-than-any-column-of-a-table-can-be",
		 1000, 0);
	add_window(0);
	add_window(0);
	write_summary();
	check_has("200 samples, 2.00 s CPU time, 75.0 % of it in 3 requests\n");
	check_has(" 1.02 s        2 40.0 ms  1.95 s  GET /users/{id}\n");
	check_has("slowest abababababababab: 2.00 s, CPU 1.00 s (91 samples, "
		  "\u00b1 95.4 ms)\n");
	check_has("90.0 % of stacks complete, 1.0 % of CPU unsampled");
	check_has("files in spanprof.out: 2 of profiles, 2 of spans\n");
	check_has("next: spanprof show abababababababab spanprof.out\n");
}

TEST(everything_at_once_is_not_too_long)
{
	begin();
	for (unsigned i = 0; i < RING_COUNTERS; i++)
		agent.ring->header.counters[i] = UINT64_MAX;
	for (unsigned i = 0; i < 5; i++)
		add_span((const char *[]){"/a", "/b", "/c", "/d", "/e"}[i],
			 UINT64_MAX / 4, UINT64_MAX / 8);
	add_window(0);
	add_window(-ENOSPC);
	recorder.counts.dropped = UINT64_MAX / 2;
	add_window(0);
	recorder.pushed.sent = UINT64_MAX;
	for (unsigned i = 0; i < UPLOAD_LOSSES; i++)
		recorder.pushed.lost[i] = UINT64_MAX;
	write_summary();
	check_has("next: spanprof show");
}

TEST(requests_too_short_for_a_sample_leave_room_for_the_next_command)
{
	struct output_files files = {.spans = "x"};

	begin();
	for (unsigned i = 0; i < RING_COUNTERS; i++)
		agent.ring->header.counters[i] = 1;
	recorder.pushed.sent = 1;
	recorder.window.total_ns = 5000;
	for (unsigned i = 0; i < 5; i++)
		add_span((const char *[]){"/a", "/b", "/c", "/d", "/e"}[i],
			 1000, 0);
	summary_add_window(summary, &recorder, &files, -EROFS);
	summary_add_window(summary, &recorder, &files, 0);
	write_summary();
	check_has("0 samples, ");
	check_has("no sample at 100 Hz");
	check_has("next: spanprof show");
}

TEST(losses_are_told_with_their_reasons)
{
	begin();
	agent.ring->header.counters[RING_LOST_NO_BLOCK] = 3;
	agent.ring->header.counters[RING_AMBIGUOUS] = 4;
	recorder.pushed.sent = 5;
	recorder.pushed.lost[UPLOAD_REFUSED] = 1;
	add_window(-EROFS);
	write_summary();
	check_has("lost: 3 records (ring full)\n");
	check_has("not labelled: 4 requests (event loop)\n");
	check_has("pushes: 5 delivered, 1 refused\n");
	check_has("files in spanprof.out: 0, 1 not written (Read-only file "
		  "system)");
	CHECK(!strstr(text, "next: "));
}

TEST(an_empty_run_says_why)
{
	begin();
	recorder.processes.seen = 0;
	write_summary();
	check_has("no process of the program loaded libspanprof.so");
	begin();
	write_summary();
	check_has("no samples\n");
	check_has("no sample at 100 Hz: too little CPU time");
}

TEST(a_run_without_requests_points_to_the_functions)
{
	begin();
	add_window(0);
	recorder.output.files_removed = 0;
	write_summary();
	check_has("no HTTP/1 request was seen");
	check_has("next: spanprof top spanprof.out\n");
}

TEST(what_is_to_be_pasted_is_quoted_and_whole)
{
	begin();
	strcpy(config.output, "/tmp/it's a folder with a name that is longer "
			      "than what a line of a terminal can hold");
	add_window(0);
	summary_write(summary, &recorder, "/a b/spanprof", text);
	check_has("next: '/a b/spanprof' top '/tmp/it'\\''s a folder with a "
		  "name that is longer than what a line of a terminal can "
		  "hold'\n");
}

TEST(files_that_had_to_go_are_not_asked_for)
{
	begin();
	add_span("/x", 10, 0);
	add_window(0);
	recorder.output.files_removed = 1;
	write_summary();
	check_has("next: spanprof spans spanprof.out\n");
}

TEST(without_memory_there_is_no_summary)
{
	begin();
	summary_write(NULL, &recorder, "spanprof", text);
	CHECK_STR(text, "");
}
