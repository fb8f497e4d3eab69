/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the windows of a run up and tells of them.
 * Runs on: the exporter's main thread.
 */
#include "exporter/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/ids.h"
#include "exporter/operations.h"
#include "exporter/recorder.h"
#include "exporter/words.h"

#define DEAREST 3u
#define NAME_COLUMNS 36u /* beside the numbers of an operation */

struct summary {
	struct operations operations;
	struct known_span slowest; /* end_ns 0: there is none */
	uint64_t requests;
	uint64_t stacks[COMPLETE_RESULTS];
	uint64_t total_ns;
	uint64_t labelled_ns;
	uint64_t unsampled_ns;
	uint64_t unnamed; /* code addresses without a symbol */
	uint64_t dropped; /* by the exporter */
	uint64_t profiles_written;
	uint64_t spans_written;
	uint64_t writes_failed;
	int write_error; /* of the last one */
};

struct writer {
	char *text;
	size_t used;
	unsigned lines;
};

/* What a person reads of a reason for which something is missing. */
struct reason {
	uint64_t count;
	const char *what;
};

static uint64_t ring_count(const struct recorder *recorder,
			   enum ring_counter which)
{
	return atomic_load(&recorder->ring->header.counters[which]);
}

static uint64_t samples_of(const struct summary *summary)
{
	uint64_t samples = 0;

	for (unsigned i = 0; i < COMPLETE_RESULTS; i++)
		samples += summary->stacks[i];
	return samples;
}

static void put(struct writer *writer, const char *line)
{
	if (writer->lines == SUMMARY_LINES ||
	    writer->used + strlen(line) + 2 > SUMMARY_BYTES)
		return;
	writer->used +=
		(size_t)sprintf(writer->text + writer->used, "%s\n", line);
	writer->lines++;
}

/* A line for people: cut to its columns. */
static void say(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct writer *writer, const char *format, ...)
{
	char line[SUMMARY_BYTES];
	unsigned columns = 0;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *c = line; *c; c++) {
		/* All bytes of a character but the first are 10xxxxxx. */
		if ((*c & 0xc0) != 0x80 && ++columns > SUMMARY_COLUMNS)
			*c-- = '\0';
		if (columns > SUMMARY_COLUMNS)
			break;
	}
	put(writer, line);
}

/* A list of what there is of the reasons; nothing when there is none. */
static void say_reasons(struct writer *writer, const char *title,
			const struct reason *reasons, unsigned count)
{
	char line[512];
	size_t used = 0;

	for (unsigned i = 0; i < count && used < sizeof(line); i++) {
		if (reasons[i].count)
			used += (size_t)snprintf(
				line + used, sizeof(line) - used,
				"%s%" PRIu64 " %s", used ? ", " : "",
				reasons[i].count, reasons[i].what);
	}
	if (used)
		say(writer, "%s: %s", title, line);
}

static void say_total(struct writer *writer, const struct summary *summary)
{
	char cpu[WORDS_NUMBER_BYTES];
	char share[WORDS_NUMBER_BYTES];

	if (!summary->total_ns) {
		say(writer, "no samples");
		return;
	}
	words_duration(cpu, summary->total_ns);
	words_percent(share, summary->labelled_ns, summary->total_ns);
	say(writer,
	    "%" PRIu64 " samples, %s CPU time, %s %% of it in %" PRIu64
	    " requests",
	    samples_of(summary), cpu, share, summary->requests);
}

/* Why there is nothing, or nothing about requests. */
static void say_why_empty(struct writer *writer, const struct summary *summary,
			  const struct recorder *recorder)
{
	if (recorder->processes.seen == 0) {
		say(writer, "no process of the program loaded "
			    "libspanprof.so: it is static,");
		say(writer, "set-user-id, of another libc, or takes LD_PRELOAD "
			    "away");
	} else if (samples_of(summary) == 0) {
		say(writer,
		    "no sample at %u Hz: too little CPU time, or every signal "
		    "is taken",
		    recorder->config->rate_hz);
	} else if (summary->requests == 0) {
		say(writer, "no HTTP/1 request was seen on an accepted "
			    "connection");
	}
}

/* A name that is too long loses its middle. */
static void cut_name(char cut[NAME_COLUMNS + 1], const char *name)
{
	const size_t tail = NAME_COLUMNS / 2;
	size_t length = strlen(name);

	if (length <= NAME_COLUMNS)
		strcpy(cut, name);
	else
		snprintf(cut, NAME_COLUMNS + 1, "%.*s~%s",
			 (int)(NAME_COLUMNS - tail - 1), name,
			 name + length - tail);
}

static void say_operations(struct writer *writer, const struct summary *summary)
{
	const struct operation *dearest[DEAREST];
	uint32_t count =
		operations_dearest(&summary->operations, dearest, DEAREST);

	if (count)
		say(writer, "%7s %8s %7s %7s  %s", "CPU", "REQUESTS", "P50",
		    "P95", "OPERATION");
	for (uint32_t i = 0; i < count; i++) {
		const struct histogram *durations = &dearest[i]->durations;
		char cpu[WORDS_NUMBER_BYTES];
		char p50[WORDS_NUMBER_BYTES];
		char p95[WORDS_NUMBER_BYTES];
		char name[NAME_COLUMNS + 1];

		words_duration(cpu, dearest[i]->cpu_ns);
		words_duration(p50, histogram_percentile(durations, 50));
		words_duration(p95, histogram_percentile(durations, 95));
		cut_name(name, dearest[i]->name);
		say(writer, "%7s %8" PRIu64 " %7s %7s  %s", cpu,
		    durations->count, p50, p95, name);
	}
}

static void say_slowest(struct writer *writer, const struct summary *summary,
			const struct recorder *recorder)
{
	const struct known_span *slowest = &summary->slowest;
	/* Late samples may have come after its window. */
	const struct known_span *known =
		spans_find(recorder->spans, slowest->context.span_id);
	uint64_t samples = known ? known->samples : slowest->samples;
	char id[2 * SPAN_ID_BYTES + 1];
	char duration[WORDS_NUMBER_BYTES];
	char cpu[WORDS_NUMBER_BYTES];
	char error[WORDS_NUMBER_BYTES];

	if (!slowest->end_ns)
		return;
	id_to_hex(id, slowest->context.span_id, SPAN_ID_BYTES);
	words_duration(duration, slowest->end_ns - slowest->start_ns);
	words_duration(cpu, slowest->cpu_ns);
	/* Counts of independent events spread by their square root. */
	words_duration(error, (uint64_t)(sqrt((double)samples) * 1e9 /
					 recorder->config->rate_hz));
	if (samples)
		say(writer,
		    "slowest %s: %s, CPU %s (%" PRIu64 " samples, \u00b1 %s)",
		    id, duration, cpu, samples, error);
	else
		say(writer, "slowest %s: %s, CPU %s (no samples)", id, duration,
		    cpu);
}

static void say_losses(struct writer *writer, const struct summary *summary,
		       const struct recorder *recorder)
{
	const struct reason lost[] = {
		{ring_count(recorder, RING_LOST_NO_BLOCK),
		 "records (ring full)"},
		{ring_count(recorder, RING_LOST_NO_THREAD),
		 "threads (too many)"},
		{ring_count(recorder, RING_LOST_TIMER), "threads (no timer)"},
		{summary->dropped, "records (exporter)"},
		{spans_refused(recorder->spans), "spans (exporter)"},
	};
	const struct reason unlabelled[] = {
		{ring_count(recorder, RING_AMBIGUOUS), "requests (event loop)"},
		{ring_count(recorder, RING_UNPARSABLE),
		 "connections (not HTTP/1)"},
		{ring_count(recorder, RING_SPANS_NO_RECORD),
		 "requests (table full)"},
		{ring_count(recorder, RING_DESCRIPTORS_BEYOND),
		 "connections (table full)"},
	};

	say_reasons(writer, "lost", lost, sizeof(lost) / sizeof(*lost));
	say_reasons(writer, "not labelled", unlabelled,
		    sizeof(unlabelled) / sizeof(*unlabelled));
}

static void say_quality(struct writer *writer, const struct summary *summary)
{
	uint64_t samples = samples_of(summary);
	char complete[WORDS_NUMBER_BYTES];
	char unsampled[WORDS_NUMBER_BYTES];

	if (!samples)
		return;
	words_percent(complete, summary->stacks[COMPLETE], samples);
	words_percent(unsampled, summary->unsampled_ns, summary->total_ns);
	say(writer,
	    "%s %% of stacks complete, %s %% of CPU unsampled, %" PRIu64
	    " places unnamed",
	    complete, unsampled, summary->unnamed);
}

static void say_pushes(struct writer *writer, const struct recorder *recorder)
{
	const struct upload_counts *counts = &recorder->pushed;
	const uint64_t *lost = counts->lost;
	const struct reason results[] = {
		{counts->sent, "delivered"},
		{counts->retried, "tries more"},
		{lost[UPLOAD_REFUSED], "refused"},
		{lost[UPLOAD_TIRED], "given up"},
		{lost[UPLOAD_OLD], "too old"},
		{lost[UPLOAD_FULL], "without room"},
		{lost[UPLOAD_END], "undelivered"},
	};

	say_reasons(writer, "pushes", results,
		    sizeof(results) / sizeof(*results));
}

static void say_files(struct writer *writer, const struct summary *summary,
		      const char *folder)
{
	const char *why = strerror(-summary->write_error);

	if (summary->writes_failed)
		say(writer,
		    "files in %s: %" PRIu64 ", %" PRIu64 " not written (%s)",
		    folder, summary->profiles_written + summary->spans_written,
		    summary->writes_failed, why);
	else if (summary->profiles_written || summary->spans_written)
		say(writer,
		    "files in %s: %" PRIu64 " of profiles, %" PRIu64
		    " of spans",
		    folder, summary->profiles_written, summary->spans_written);
}

/* To be pasted, so it is never cut. */
static void say_next(struct writer *writer, const struct summary *summary,
		     const struct recorder *recorder, const char *report)
{
	char quoted_report[WORDS_QUOTED_BYTES(256)];
	char folder[WORDS_QUOTED_BYTES(CONFIG_PATH_BYTES)];
	char line[sizeof(quoted_report) + sizeof(folder) + 64];
	char id[2 * SPAN_ID_BYTES + 1] = "";
	const char *what = "top";
	bool spans = summary->spans_written && summary->requests;

	if (!summary->profiles_written && !spans)
		return;
	if (strlen(report) > 256)
		report = "spanprof";
	words_quote(quoted_report, report);
	words_quote(folder, recorder->config->output);
	/* The oldest files may be gone. */
	if (spans && !recorder->output.files_removed) {
		what = "show ";
		id_to_hex(id, summary->slowest.context.span_id, SPAN_ID_BYTES);
	} else if (spans) {
		what = "spans";
	}
	snprintf(line, sizeof(line), "next: %s %s%s %s", quoted_report, what,
		 id, folder);
	put(writer, line);
}

struct summary *summary_create(void)
{
	return calloc(1, sizeof(struct summary));
}

void summary_destroy(struct summary *summary)
{
	free(summary);
}

void summary_add_span(struct summary *summary, const struct known_span *span)
{
	const struct known_span *slowest = &summary->slowest;

	summary->requests++;
	operations_add(&summary->operations, span);
	if (!slowest->end_ns ||
	    span->end_ns - span->start_ns > slowest->end_ns - slowest->start_ns)
		summary->slowest = *span;
}

void summary_add_window(struct summary *summary,
			const struct recorder *recorder,
			const struct output_files *files, int error)
{
	const struct window *window = &recorder->window;

	for (unsigned i = 0; i < COMPLETE_RESULTS; i++)
		summary->stacks[i] += recorder->counts.stacks[i];
	summary->total_ns += window->total_ns;
	summary->labelled_ns += window->labelled_ns;
	summary->unsampled_ns += window->unsampled_ns;
	summary->unnamed += window->unnamed_count;
	summary->dropped += recorder->counts.dropped + recorder->counts.orphans;
	if (error) {
		summary->writes_failed++;
		summary->write_error = error;
		return;
	}
	summary->profiles_written += files->profile != NULL;
	summary->spans_written += files->spans != NULL;
}

void summary_write(const struct summary *summary,
		   const struct recorder *recorder, const char *report,
		   char text[SUMMARY_BYTES])
{
	struct writer writer = {.text = text};

	text[0] = '\0';
	if (!summary)
		return;
	say_total(&writer, summary);
	say_why_empty(&writer, summary, recorder);
	say_operations(&writer, summary);
	say_slowest(&writer, summary, recorder);
	say_losses(&writer, summary, recorder);
	say_quality(&writer, summary);
	say_pushes(&writer, recorder);
	say_files(&writer, summary, recorder->config->output);
	say_next(&writer, summary, recorder, report);
}
