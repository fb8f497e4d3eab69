/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides in one process: what this program's threads write into the ring
 * comes out as files, with the right functions, spans and sums.
 * Runs on: the test program's threads, and children.
 */
#include "exporter/recorder.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hooks/request.h"
#include "preload/lifecycle.h"
#include "sampler/handler.h"
#include "sampler/maps.h"
#include "sampler/ring.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/forge.h"
#include "tests/lib/profile_check.h"
#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

typedef Perftools__Profiles__Profile profile_message;

static struct recorder recorder;
static struct config config;
static const char *folder;

/* Before the ring of the last test goes. */
static void end_last(void)
{
	if (!recorder.ring)
		return;
	recorder_fini(&recorder);
	close(recorder.processes.epoll_fd);
	recorder.ring = NULL;
}

static void begin_recorder(void)
{
	static char *nothing[] = {NULL};

	folder = temp_folder();
	config_read(&config, nothing, NULL, NULL);
	recorder.program = "/usr/bin/fallback";
	CHECK_EQ(recorder_init(&recorder, &config, agent.ring, folder), 0);
	recorder.processes.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
}

/* This process is slot 0, generation 1, as forged records say. */
static void begin_forged(void)
{
	end_last();
	agent_begin();
	begin_recorder();
	atomic_store(&agent.ring->processes[0].claimed_boot_ns,
		     clock_boot_sig());
	atomic_store(&agent.ring->processes[0].claim,
		     UINT64_C(1) << 32 | (uint32_t)getpid());
}

/* The bytes of the i-th file (by name) with an ending; free them. */
static uint8_t *read_output(const char *ending, int i, size_t *length)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, NULL, alphasort);
	char path[512] = "";
	uint8_t *bytes = NULL;
	FILE *file;

	for (int at = 0; at < count; at++) {
		if (strstr(entries[at]->d_name, ending) && i-- == 0)
			snprintf(path, sizeof(path), "%s/%s", folder,
				 entries[at]->d_name);
		free(entries[at]);
	}
	free(entries);
	file = fopen(path, "re");
	if (file) {
		bytes = malloc(4u << 20);
		*length = fread(bytes, 1, 4u << 20, file);
		fclose(file);
	}
	return bytes;
}

/* The i-th profile, checked; NULL when there is none. It lives until the next
 * call. */
static const profile_message *profile_at(int i)
{
	static profile_message *profile;
	size_t length = 0;
	uint8_t *bytes = read_output(".pb.gz", i, &length);
	const char *fault;

	if (profile)
		perftools__profiles__profile__free_unpacked(profile, NULL);
	profile = NULL;
	if (!bytes)
		return NULL;
	fault = profile_check(bytes, length, &profile);
	free(bytes);
	if (fault)
		unit_fail(__FILE__, __LINE__, fault);
	return profile;
}

/* The spans of the only window that has some, as text; free it. */
static char *spans_text(void)
{
	size_t length = 0;
	uint8_t *bytes = read_output(".spans.jsonl.gz", 0, &length);
	uint8_t *text;

	CHECK(bytes != NULL);
	text = profile_check_unpack(bytes, length, &length);
	free(bytes);
	CHECK(text != NULL);
	return (char *)text;
}

static bool has_comment(const profile_message *p, const char *comment)
{
	for (size_t i = 0; i < p->n_comment; i++) {
		if (!strcmp(profile_text(p, p->comment[i]), comment))
			return true;
	}
	return false;
}

static void finish(void)
{
	recorder_pass(&recorder);
	recorder_pass(&recorder);
	recorder_flush(&recorder);
}

/* ---- this program as it is ---- */

__attribute__((noipa)) void burn_for_request(void);
__attribute__((noipa)) void burn_for_nobody(void);

static void burn_until_sampled(uint64_t times)
{
	uint64_t until = agent_count(RING_SAMPLES) + times;

	for (int i = 0; i < 3000 && agent_count(RING_SAMPLES) < until; i++)
		agent_burn_ns(MS);
}

void burn_for_request(void)
{
	burn_until_sampled(8);
	__asm__ volatile("" ::: "memory");
}

void burn_for_nobody(void)
{
	burn_until_sampled(5);
	__asm__ volatile("" ::: "memory");
}

static span_handle begin_request(void)
{
	struct http1_head head = {.method = "GET", .path = "/orders/7"};
	span_handle request = request_open_app(&head);

	request_begin_app(thread_self_app(), request, 9);
	return request;
}

/* CPU time of the samples with such a frame, and how much of it is labelled. */
static int64_t time_in(const profile_message *p, const char *name,
		       int64_t *labelled_ns)
{
	int64_t sum = 0;

	*labelled_ns = 0;
	for (size_t i = 0; i < p->n_sample; i++) {
		const Perftools__Profiles__Sample *s = p->sample[i];
		bool is_in = false;

		for (size_t f = 0; f < s->n_location_id; f++)
			is_in |= !strcmp(profile_frame(p, s, f), name);
		if (!is_in)
			continue;
		sum += s->value[1];
		if (profile_label(p, s, "span_id"))
			*labelled_ns += s->value[1];
	}
	return sum;
}

TEST(a_programs_time_comes_out_under_its_functions_and_spans)
{
	struct scope_end how = {SPAN_END_COMPLETE, 200};
	const profile_message *p;
	span_handle request;
	int64_t labelled;
	int64_t clock;

	end_last();
	agent_begin_alive();
	begin_recorder();
	request = begin_request();
	agent_run_first(true);
	burn_for_request();
	scope_end_app(thread_self_app(), request, how);
	burn_for_nobody();
	agent_run_first(false);
	handler_block_sig(1);
	process_end_app();
	clock = thread_self_app()->accounted_ns;
	maps_tell();
	finish();
	p = profile_at(0);
	CHECK(p != NULL);
	CHECK(time_in(p, "burn_for_request", &labelled) >= 80 * MS);
	CHECK_EQ(labelled, time_in(p, "burn_for_request", &labelled));
	CHECK(time_in(p, "burn_for_nobody", &labelled) >= 50 * MS);
	CHECK_EQ(labelled, 0);
	CHECK(time_in(p, "main", &labelled) >= 130 * MS);
	CHECK_EQ(profile_sum(p, 1) - process->debt_ns, clock);
	agent_leave();
	handler_block_sig(0);
}

/* ---- forged records ---- */

static void set_span(struct span_context *span, uint8_t id)
{
	memset(span, id, sizeof(*span));
}

static void put_sample(uint8_t span, uint64_t cpu_ns)
{
	union forged *record = forge(RECORD_SAMPLE, clock_monotonic_sig());

	set_span(&record->sample.span, span);
	record->sample.count = 1;
	record->sample.cpu_ns = cpu_ns;
	forge_put(0, record);
}

static void put_unsampled(uint8_t span, uint64_t cpu_ns)
{
	union forged *record = forge(RECORD_UNSAMPLED, clock_monotonic_sig());

	set_span(&record->unsampled.span, span);
	record->unsampled.cpu_ns = cpu_ns;
	forge_put(0, record);
}

static void put_begin(uint8_t span)
{
	union forged *record = forge(RECORD_SPAN_BEGIN, clock_monotonic_sig());

	set_span(&record->begin.span, span);
	strcpy(record->begin.method, "PATCH");
	strcpy(record->begin.path, "/p");
	forge_put(0, record);
}

static void put_end(uint8_t span)
{
	union forged *record = forge(RECORD_SPAN_END, clock_monotonic_sig());

	set_span(&record->end.span, span);
	record->end.reason = SPAN_END_COMPLETE;
	forge_put(0, record);
}

TEST(a_window_without_time_and_spans_makes_no_file)
{
	begin_forged();
	finish();
	CHECK(!profile_at(0));
	CHECK_EQ(recorder.output.files_written, 0);
}

TEST(a_span_labels_what_was_done_under_it)
{
	const profile_message *p;
	char *spans;

	begin_forged();
	put_begin(0x11);
	put_unsampled(0x11, 1000);
	put_unsampled(0, 70);
	put_end(0x11);
	finish();
	p = profile_at(0);
	CHECK(p != NULL);
	CHECK_EQ(p->n_sample, 2);
	for (size_t i = 0; i < 2; i++) {
		const Perftools__Profiles__Sample *s = p->sample[i];
		const char *id = profile_label(p, s, "span_id");

		CHECK_EQ(s->value[1], id ? 1000 : 70);
		CHECK(!id || !strcmp(id, "1111111111111111"));
		CHECK(!id ||
		      !strcmp(profile_label(p, s, "span_name"), "PATCH"));
		CHECK_EQ(profile_number(p, s, "pid"), getpid());
	}
	CHECK(has_comment(p, "cpu_ns=1070"));
	CHECK(has_comment(p, "cpu_labelled_ns=1000"));
	spans = spans_text();
	CHECK(strstr(spans, "\"1111111111111111\""));
	free(spans);
}

TEST(a_span_that_nobody_knows_labels_without_a_name)
{
	const profile_message *p;

	begin_forged();
	put_unsampled(0x11, 1000);
	finish();
	p = profile_at(0);
	CHECK_STR(profile_label(p, p->sample[0], "span_id"),
		  "1111111111111111");
	CHECK(!profile_label(p, p->sample[0], "span_name"));
}

TEST(the_configuration_says_which_span_labels)
{
	static const char *const expected[] = {"2222222222222222",
					       "1111111111111111", NULL};

	for (int spans = CONFIG_SPANS_ROOT; spans <= CONFIG_SPANS_NONE;
	     spans++) {
		const profile_message *p;
		union forged *record;
		const char *id;

		begin_forged();
		config.spans = (enum config_spans)spans;
		record = forge(RECORD_UNSAMPLED, 1);
		set_span(&record->unsampled.span, 0x11);
		memset(record->unsampled.span.root_id, 0x22, SPAN_ID_BYTES);
		record->unsampled.cpu_ns = 5;
		forge_put(0, record);
		finish();
		p = profile_at(0);
		id = profile_label(p, p->sample[0], "span_id");
		CHECK((id && expected[spans] && !strcmp(id, expected[spans])) ||
		      (!id && !expected[spans]));
	}
}

TEST(records_of_unknown_processes_are_counted)
{
	union forged *record;

	begin_forged();
	put_unsampled(0, 5);
	record = forge(RECORD_UNSAMPLED, 1);
	record->head.generation = 2;
	forge_put(0, record);
	record = forge(RECORD_UNSAMPLED, 1);
	record->head.process = 77;
	forge_put(0, record);
	finish();
	CHECK(has_comment(profile_at(0), "records_of_unknown_processes=2"));
	CHECK_EQ(profile_sum(profile_at(0), 1), 5);
}

/* The list of modules comes up to a second later. */
TEST(a_sample_waits_for_the_modules)
{
	const profile_message *p;

	begin_forged();
	put_sample(0, 5);
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.sample_count, 0);
	CHECK(recorder.late.bytes > 0);
	recorder_flush(&recorder);
	CHECK_EQ(recorder.late.bytes, 0);
	p = profile_at(0);
	CHECK_EQ(p->n_sample, 1);
	CHECK(has_comment(p, "samples_waited_for_modules=1"));
	CHECK_EQ(profile_sum(p, 1), 5);
}

TEST(a_sample_does_not_wait_for_ever)
{
	union forged *record;

	begin_forged();
	record = forge(RECORD_SAMPLE,
		       clock_monotonic_sig() - UINT64_C(4000000000));
	record->sample.count = 1;
	forge_put(0, record);
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.sample_count, 1);
	CHECK_EQ(recorder.late.bytes, 0);
}

TEST(a_full_window_is_written_at_once_and_nothing_is_lost)
{
	int64_t sum = 0;

	begin_forged();
	/* One more than a profile takes, all of them different. */
	for (uint32_t i = 1; i <= WINDOW_SAMPLES_MAX + 1; i++) {
		union forged *record = forge(RECORD_UNSAMPLED, i);

		memcpy(record->unsampled.span.root_id, &i, sizeof(i));
		record->unsampled.cpu_ns = i;
		sum += i;
		forge_put(i % RING_BLOCKS, record);
	}
	finish();
	CHECK(recorder.output.files_written >= 2);
	for (int i = 0; profile_at(i); i++)
		sum -= profile_sum(profile_at(i), 1);
	CHECK_EQ(sum, 0);
}

static int wait_for_kill(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

TEST(the_spans_of_a_killed_process_are_told_unfinished)
{
	union forged *record;
	char *spans;
	pid_t child;

	begin_forged();
	child = crowd_fork(wait_for_kill, NULL);
	atomic_store(&agent.ring->processes[1].claim,
		     UINT64_C(1) << 32 | (uint32_t)child);
	record = forge(RECORD_SPAN_BEGIN, clock_monotonic_sig());
	record->head.process = 1;
	set_span(&record->begin.span, 0x33);
	forge_put(0, record);
	recorder_pass(&recorder);
	kill(child, SIGKILL);
	crowd_wait(child);
	recorder_pass(&recorder);
	recorder_pass(&recorder);
	recorder_flush(&recorder);
	spans = spans_text();
	CHECK(strstr(spans, "\"3333333333333333\""));
	CHECK(strstr(spans, "\"unfinished\""));
	free(spans);
}

/* ---- the service's name ---- */

TEST(the_service_is_configured_or_named_after_the_first_program)
{
	begin_forged();
	finish();
	CHECK_STR(recorder.service, "unknown_service:recorder_test");
	begin_forged();
	atomic_store(&agent.ring->processes[0].claim, 0);
	finish();
	CHECK_STR(recorder.service, "unknown_service:fallback");
	begin_forged();
	end_last();
	strcpy(config.service, "shop");
	CHECK_EQ(recorder_init(&recorder, &config, agent.ring, folder), 0);
	recorder.processes.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	put_unsampled(0, 5);
	finish();
	CHECK_STR(recorder.service, "shop");
	CHECK(profile_at(0) != NULL);
}
