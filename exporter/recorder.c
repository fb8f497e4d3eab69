/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns records into windows and windows into files.
 * Runs on: the exporter's main thread.
 */
#include "exporter/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/clock.h"
#include "exporter/comments.h"
#include "exporter/log.h"
#include "exporter/own_command.h"
#include "exporter/pprof.h"
#include "exporter/succession.h"
#include "exporter/trace_json.h"

/* A program's module list comes within a second of its first sample. */
#define LATE_NS UINT64_C(3000000000)

/* How long a window waits for source lines that were asked for and aren't there
 * yet; the ring fills meanwhile. The last one may wait longer. */
#define LINES_MS 500u
#define LINES_LAST_MS 1500u
/* A program that was told to end may be killed, and we with it; but perhaps it
 * goes on. */
#define END_INTERVAL_NS UINT64_C(1000000000)
#define END_PATIENCE_NS UINT64_C(60000000000)

/* Spans of one window: some 20 MiB of JSON, for a moment. */
#define WINDOW_SPANS_MAX 20000u

/* A sample or booking never stands for more: what the ring says is not
 * believed, and sums must not overflow. */
#define WEIGHT_MAX_NS UINT64_C(86400000000000)
#define WEIGHT_MAX_COUNT 1000000u

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* The id that a trace store may know. Our spans reach none yet: it is the
 * caller's, where there is one. Unsampled spans reach none either. */
static void fill_pushed_id(const struct span_context *context,
			   const struct known_span *root,
			   struct window_labels *labels)
{
	const struct span_context *known = root ? &root->context : context;

	if (!(context->flags & SPAN_SAMPLED))
		return;
	if (known->flags & SPAN_REMOTE_PARENT)
		memcpy(labels->pushed_id, known->parent_id, SPAN_ID_BYTES);
	else
		memcpy(labels->pushed_id, labels->span_id, SPAN_ID_BYTES);
}

/* The span that labels, and its name. */
static void fill_labels(struct recorder *recorder,
			const struct span_context *context,
			struct window_labels *labels)
{
	const uint8_t *id = recorder->config->spans == CONFIG_SPANS_ALL
				    ? context->span_id
				    : context->root_id;
	const struct known_span *span;
	const struct known_span *root;

	if (recorder->config->spans == CONFIG_SPANS_NONE)
		return;
	memcpy(labels->span_id, id, SPAN_ID_BYTES);
	memcpy(labels->trace_id, context->trace_id, TRACE_ID_BYTES);
	span = spans_find(recorder->spans, id);
	root = id == context->root_id
		       ? span
		       : spans_find(recorder->spans, context->root_id);
	fill_pushed_id(context, root, labels);
	if (span && span->method[0])
		labels->span_name = names_bound(&recorder->names, span->method);
}

static void begin_window(struct recorder *recorder)
{
	recorder->window_start_ns = now_ns(CLOCK_MONOTONIC);
	recorder->clock_offset_ns =
		(int64_t)(now_ns(CLOCK_REALTIME) - recorder->window_start_ns);
	memset(&recorder->counts, 0, sizeof(recorder->counts));
}

static bool writes_files(const struct recorder *recorder)
{
	return recorder->output.folder[0] != '\0';
}

struct ended_spans {
	struct trace_json *json; /* NULL: none is written */
	struct summary *summary;
};

static void take_ended(void *context, const struct known_span *span)
{
	const struct ended_spans *to = context;

	if (to->json)
		trace_json_add(to->json, span);
	if (to->summary)
		summary_add_span(to->summary, span);
}

static void encode_spans(struct recorder *recorder, void **bytes,
			 size_t *len_bytes)
{
	struct ended_spans to = {NULL, recorder->summary};

	if (writes_files(recorder) && spans_ended(recorder->spans))
		to.json = trace_json_create(recorder->service,
					    recorder->clock_offset_ns);
	spans_close_window(recorder->spans, take_ended, &to);
	if (to.json && trace_json_encode(to.json, bytes, len_bytes) != 0)
		log_message(CONFIG_LOG_ERROR, "no memory for %s",
			    "the spans of a window: they are lost");
	trace_json_destroy(to.json);
}

/* To a server, if there is one, and for a file, if it is to be written. */
static void encode_profile(struct recorder *recorder, uint64_t end_ns,
			   void **bytes, size_t *len_bytes)
{
	struct comments comments;
	struct pusher_profile profile = {
		.window = &recorder->window,
		.times.start_ns = recorder->window_start_ns +
				  (uint64_t)recorder->clock_offset_ns,
		.times.duration_ns = end_ns - recorder->window_start_ns,
		.times.period_ns = 1000000000u / recorder->config->rate_hz,
		.comments = comments.lines,
		.service = recorder->service,
	};
	int error = 0;

	if (recorder->window.sample_count == 0)
		return;
	comments_make(&comments, recorder);
	if (recorder->pusher)
		error = pusher_take(recorder->pusher, &profile);
	if (writes_files(recorder) &&
	    pprof_encode(&recorder->window, &profile.times, comments.lines,
			 bytes, len_bytes) != 0)
		error = -ENOMEM;
	if (error)
		log_message(CONFIG_LOG_ERROR, "no memory for %s",
			    "the profile of a window: it is lost");
}

/* OpenTelemetry's fallback for a service without a name. */
static void name_service(struct recorder *recorder, const char *program)
{
	const char *name = strrchr(program, '/');

	if (!recorder->service[0])
		snprintf(recorder->service, sizeof(recorder->service),
			 "unknown_service:%.200s", name ? name + 1 : program);
}

/* What this window holds, for the log and the end. */
static void account(struct recorder *recorder, const struct output_files *files,
		    int error)
{
	const struct window *window = &recorder->window;

	if (recorder->summary)
		summary_add_window(recorder->summary, recorder, files, error);
	if (window->sample_count == 0 && !files->spans)
		return;
	atomic_fetch_add(&recorder->ring->header.windows, 1);
	log_message(CONFIG_LOG_INFO,
		    "window: %" PRIu64 " ms CPU time, %" PRIu64
		    " ms of it labelled, %" PRIu64
		    " ms unsampled, %u different samples, %u locations",
		    window->total_ns / 1000000, window->labelled_ns / 1000000,
		    window->unsampled_ns / 1000000, window->sample_count,
		    window->location_count);
}

static void close_window(struct recorder *recorder, uint32_t patience_ms)
{
	struct output_files files = {
		.start_ns = recorder->window_start_ns +
			    (uint64_t)recorder->clock_offset_ns,
	};
	void *profile = NULL;
	void *spans = NULL;
	int error = 0;

	name_service(recorder, recorder->program);
	window_settle(&recorder->window, &recorder->debug.client, patience_ms);
	encode_profile(recorder, now_ns(CLOCK_MONOTONIC), &profile,
		       &files.profile_bytes);
	encode_spans(recorder, &spans, &files.spans_bytes);
	files.profile = profile;
	files.spans = spans;
	if (recorder->in_pass)
		recorder->was_split = true;
	else
		succession_note(recorder);
	if (profile || spans)
		error = output_write(&recorder->output, &files);
	if (error)
		log_message(CONFIG_LOG_ERROR,
			    "cannot write to %s: %s; check that the folder is "
			    "writable and its disk not full (SPANPROF_OUTPUT)",
			    recorder->output.folder, strerror(-error));
	account(recorder, &files, error);
	if (!recorder->in_pass)
		succession_window_out(recorder);
	free(profile);
	free(spans);
	window_fini(&recorder->window);
	if (window_init(&recorder->window) != 0)
		abort(); /* a few hundred bytes are not to be had */
	begin_window(recorder);
}

static void after_adding(struct recorder *recorder, bool added)
{
	if (!added)
		recorder->counts.dropped++;
	if (window_is_full(&recorder->window))
		close_window(recorder, LINES_MS);
}

static void add_sample(struct recorder *recorder, struct known_process *process,
		       const struct record_sample *sample,
		       enum complete_result result)
{
	struct window_sample weight = {
		.labels.pid = process->pid,
		.count = at_most(sample->count, WEIGHT_MAX_COUNT),
		.cpu_ns = at_most(sample->cpu_ns, WEIGHT_MAX_NS),
	};

	fill_labels(recorder, &sample->span, &weight.labels);
	recorder->counts.stacks[result]++;
	spans_count_samples(recorder->spans, sample->span.root_id,
			    weight.count);
	after_adding(recorder,
		     window_add_stack(&recorder->window, process->map,
				      &recorder->stack, result, &weight));
}

/* Whether a better list of modules may still come: not for generated code. */
static bool may_wait(const struct known_process *process,
		     const struct record_sample *sample,
		     const struct stack_frame *last)
{
	return !process->dead &&
	       !address_map_generated(process->map, last->lookup) &&
	       now_ns(CLOCK_MONOTONIC) < sample->head.time_ns + LATE_NS;
}

/* Returns false when the sample should be tried again later. */
static bool try_sample(struct recorder *recorder,
		       const struct record_sample *sample, bool last)
{
	struct known_process *process =
		processes_find(&recorder->processes, &sample->head);
	enum complete_result result;

	if (!process) {
		recorder->counts.orphans++;
		return true;
	}
	processes_need_modules(&recorder->processes, process);
	result = completer_walk(process->completer, sample, &recorder->stack);
	if (result == UNKNOWN_MODULE && !last &&
	    may_wait(process, sample,
		     &recorder->stack.frames[recorder->stack.count - 1]))
		return false;
	add_sample(recorder, process, sample, result);
	return true;
}

static void take_sample(struct recorder *recorder,
			const struct record_sample *sample)
{
	if (try_sample(recorder, sample, false))
		return;
	if (late_keep(&recorder->late, sample))
		recorder->counts.late++;
	else
		try_sample(recorder, sample, true);
}

static bool retry_late(void *recorder, const struct record_sample *sample)
{
	return try_sample(recorder, sample, false);
}

static bool take_late(void *recorder, const struct record_sample *sample)
{
	return try_sample(recorder, sample, true);
}

static void take_unsampled(struct recorder *recorder,
			   const struct known_process *process,
			   const struct record_unsampled *record)
{
	struct window_sample weight = {
		.labels.pid = process->pid,
		.cpu_ns = at_most(record->cpu_ns, WEIGHT_MAX_NS),
	};

	fill_labels(recorder, &record->span, &weight.labels);
	after_adding(recorder,
		     window_add_unsampled(&recorder->window, &weight));
}

static void note_module_error(const struct known_process *process, int error)
{
	if (error < 0)
		log_message(CONFIG_LOG_WARN,
			    "process %u: a module was refused: %s",
			    process->pid, strerror(-error));
}

static void take_record(void *context, const struct record *record)
{
	struct recorder *recorder = context;
	struct known_process *process;

	process = processes_find(&recorder->processes, record);
	if (!process) {
		recorder->counts.orphans++;
		return;
	}
	switch (record->kind) {
	case RECORD_SAMPLE:
		take_sample(recorder, (const struct record_sample *)record);
		break;
	case RECORD_UNSAMPLED:
		take_unsampled(recorder, process,
			       (const struct record_unsampled *)record);
		break;
	case RECORD_SPAN_BEGIN:
		spans_begin(recorder->spans,
			    (const struct record_span_begin *)record,
			    process->pid);
		break;
	case RECORD_SPAN_END:
		spans_end(recorder->spans,
			  (const struct record_span_end *)record);
		if (spans_ended(recorder->spans) >= WINDOW_SPANS_MAX)
			close_window(recorder, LINES_MS);
		break;
	case RECORD_MODULE:
		note_module_error(
			process,
			address_map_add(process->map,
					(const struct record_module *)record));
		break;
	case RECORD_MODULES:
		note_module_error(
			process,
			address_map_end(process->map,
					(const struct record_modules *)record));
		break;
	}
}

static bool owner_is_dead(void *context, uint64_t owner)
{
	struct recorder *recorder = context;

	return processes_owner_is_dead(&recorder->processes, owner);
}

static void process_gone(void *context, const struct known_process *process)
{
	struct recorder *recorder = context;

	spans_abandon(recorder->spans, process->pid, now_ns(CLOCK_MONOTONIC));
	log_message(CONFIG_LOG_INFO, "process %u has ended", process->pid);
}

/* The service is named after the first program of the tree. */
static void name_after_first(struct recorder *recorder)
{
	for (uint32_t i = 0; i < RING_PROCESSES; i++) {
		const struct known_process *process =
			recorder->processes.by_slot[i];

		if (process && process->executable[0]) {
			name_service(recorder, process->executable);
			return;
		}
	}
}

int recorder_init(struct recorder *recorder, const struct config *config,
		  struct ring *ring, const char *output_folder)
{
	const char *program = recorder->program;
	char *const *own_command = recorder->own_command;

	memset(recorder, 0, sizeof(*recorder));
	recorder->program = program ? program : "";
	snprintf(recorder->service, sizeof(recorder->service), "%s",
		 config->service);
	recorder->config = config;
	recorder->ring = ring;
	recorder->intake.ring = ring;
	recorder->intake.is_dead = owner_is_dead;
	recorder->intake.take = take_record;
	recorder->intake.context = recorder;
	recorder->processes.ring = ring;
	debug_infos_init(&recorder->debug,
			 own_command ? OWN_COMMAND_PROGRAM : NULL);
	recorder->debug.client.arguments = own_command;
	recorder->files.debug = &recorder->debug;
	recorder->processes.files = &recorder->files;
	recorder->processes.gone = process_gone;
	recorder->processes.context = recorder;
	late_init(&recorder->late);
	recorder->output.folder = output_folder;
	recorder->output.service = recorder->service;
	recorder->output.max_bytes = config->output_max_bytes;
	recorder->spans = spans_create();
	recorder->summary = summary_create();
	begin_window(recorder);
	succession_begin(recorder);
	if (!recorder->spans || names_init(&recorder->names) != 0)
		return -ENOMEM;
	return window_init(&recorder->window);
}

void recorder_fini(struct recorder *recorder)
{
	processes_fini(&recorder->processes);
	intake_fini(&recorder->intake);
	late_fini(&recorder->late);
	window_fini(&recorder->window);
	names_fini(&recorder->names);
	spans_destroy(recorder->spans);
	summary_destroy(recorder->summary);
	elf_cache_fini(&recorder->files);
	debug_infos_fini(&recorder->debug);
}

bool recorder_hurries(const struct recorder *recorder)
{
	uint64_t told_ns = atomic_load(&recorder->ring->header.told_to_end_ns);

	return told_ns && now_ns(CLOCK_MONOTONIC) < told_ns + END_PATIENCE_NS;
}

static bool window_is_over(const struct recorder *recorder)
{
	uint64_t interval_ns =
		recorder->config->interval_ms * UINT64_C(1000000);

	if (interval_ns > END_INTERVAL_NS && recorder_hurries(recorder))
		interval_ns = END_INTERVAL_NS;
	return now_ns(CLOCK_MONOTONIC) >=
	       recorder->window_start_ns + interval_ns;
}

long recorder_pass(struct recorder *recorder)
{
	long records;

	processes_look(&recorder->processes);
	if (!recorder->service[0])
		name_after_first(recorder);
	recorder->in_pass = true;
	records = intake_pass(&recorder->intake);
	late_retry(&recorder->late, retry_late, recorder);
	recorder->in_pass = false;
	processes_settle(&recorder->processes);
	dwarf_client_take(&recorder->debug.client, 0);
	window_name(&recorder->window, false);
	if (recorder->was_split || recorder->takes_over ||
	    window_is_over(recorder))
		close_window(recorder, LINES_MS);
	return records;
}

void recorder_flush(struct recorder *recorder)
{
	late_retry(&recorder->late, take_late, recorder);
	close_window(recorder, LINES_LAST_MS);
}
