/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a window says is what the profile says, and the profile is what a server
 * takes: windows_profile holds each one against tests/lib/profile_check.c.
 * Runs on: the test program's main thread.
 */
#include "exporter/pprof.h"

#include <stdlib.h>

#include "tests/lib/unit.h"
#include "tests/lib/windows.h"

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Sample sample_message;

static bool add(struct window_sample weight, enum complete_result result)
{
	return window_add_stack(&windows.window, windows.map, &windows.stack,
				result, &weight);
}

/* The sample whose leaf has this name. */
static const sample_message *find_sample(const profile_message *p,
					 const char *leaf)
{
	for (size_t i = 0; i < p->n_sample; i++) {
		if (!strcmp(profile_frame(p, p->sample[i], 0), leaf))
			return p->sample[i];
	}
	unit_fail(__FILE__, __LINE__, leaf);
}

TEST(a_sample_is_its_stack_values_and_labels)
{
	const profile_message *p;
	const sample_message *s;

	windows_begin();
	windows_set_stack(LIB + 8, APP + 16, UINT64_C(0));
	CHECK(add(windows_weight(0xa1, "GET", 3, 30000000), COMPLETE));
	p = windows_profile();
	CHECK_EQ(p->n_sample, 1);
	s = p->sample[0];
	CHECK_EQ(s->value[0], 3);
	CHECK_EQ(s->value[1], 30000000);
	CHECK_EQ(s->n_location_id, 2);
	CHECK_STR(profile_frame(p, s, 0), "[libx.so+0x8]");
	CHECK_STR(profile_frame(p, s, 1), "[app+0x400010]");
	CHECK_STR(profile_label(p, s, "span_id"), "a1a1a1a1a1a1a1a1");
	CHECK_STR(profile_label(p, s, "trace_id"),
		  "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
	CHECK_STR(profile_label(p, s, "span_name"), "GET");
	CHECK_EQ(profile_number(p, s, "pid"), 42);
	CHECK_EQ(s->n_label, 4);
}

TEST(ids_are_hex_with_all_of_their_digits)
{
	struct window_sample weight = windows_weight(0, NULL, 1, 1);
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	weight.labels.span_id[0] = 0x01;
	weight.labels.span_id[7] = 0xfe;
	weight.labels.trace_id[15] = 0x0a;
	CHECK(add(weight, COMPLETE));
	p = windows_profile();
	CHECK_STR(profile_label(p, p->sample[0], "span_id"),
		  "01000000000000fe");
	CHECK_STR(profile_label(p, p->sample[0], "trace_id"),
		  "0000000000000000000000000000000a");
}

TEST(without_a_span_there_is_no_label_of_one)
{
	struct window_sample weight = windows_weight(0, NULL, 1, 1);
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(weight, COMPLETE));
	p = windows_profile();
	CHECK_EQ(p->sample[0]->n_label, 1);
	CHECK(!profile_label(p, p->sample[0], "span_id"));
	weight.labels.pid = 0;
	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(weight, COMPLETE));
	CHECK_EQ(windows_profile()->sample[0]->n_label, 0);
}

TEST(each_label_stays_with_its_sample)
{
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP + 1, UINT64_C(0));
	CHECK(add(windows_weight(0, NULL, 1, 11), COMPLETE));
	windows_set_stack(APP + 2, UINT64_C(0));
	CHECK(add(windows_weight(2, "PUT", 1, 12), COMPLETE));
	windows_set_stack(APP + 3, UINT64_C(0));
	CHECK(add(windows_weight(3, NULL, 1, 13), COMPLETE));
	p = windows_profile();
	CHECK_EQ(p->n_sample, 3);
	CHECK_EQ(find_sample(p, "[app+0x400001]")->n_label, 1);
	CHECK_EQ(find_sample(p, "[app+0x400002]")->n_label, 4);
	CHECK_STR(
		profile_label(p, find_sample(p, "[app+0x400002]"), "span_name"),
		"PUT");
	CHECK_STR(profile_label(p, find_sample(p, "[app+0x400003]"), "span_id"),
		  "0303030303030303");
	CHECK_EQ(find_sample(p, "[app+0x400003]")->value[1], 13);
}

TEST(times_and_period_are_told)
{
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(windows_weight(0, NULL, 1, 1), COMPLETE));
	p = windows_profile();
	CHECK_EQ(p->time_nanos, 1700000000000000000);
	CHECK_EQ(p->duration_nanos, 10000000000);
	CHECK_EQ(p->period, 10000000);
}

TEST(mappings_bear_path_and_build_id_and_the_programs_is_the_first)
{
	const profile_message *p;

	windows_begin();
	windows_set_stack(LIB + 8, APP + 16, UINT64_C(0x10), UINT64_C(0));
	CHECK(add(windows_weight(0, NULL, 1, 1), TRUNCATED_BAD));
	p = windows_profile();
	CHECK_EQ(p->n_mapping, 2);
	CHECK_STR(profile_text(p, p->mapping[0]->filename), "/opt/app");
	CHECK_STR(profile_text(p, p->mapping[1]->filename), "/lib/libx.so");
	CHECK_STR(profile_text(p, p->mapping[1]->build_id),
		  "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f");
	CHECK_EQ(p->n_location, 4);
	CHECK_EQ(p->location[0]->mapping_id, 2);
	CHECK_EQ(p->location[0]->address, 8);
	CHECK_EQ(p->location[2]->mapping_id, 0);
	CHECK_EQ(p->location[3]->mapping_id, 0);
	CHECK_STR(profile_frame(p, p->sample[0], 3), WINDOW_TRUNCATED);
}

TEST(comments_are_told_in_their_order)
{
	static const char *const comments[] = {"producer=x", "a=1", "b=2",
					       NULL};
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(windows_weight(0, NULL, 1, 1), COMPLETE));
	p = windows_profile_with(comments);
	CHECK_EQ(p->n_comment, 3);
	for (size_t i = 0; i < 3; i++)
		CHECK_STR(profile_text(p, p->comment[i]), comments[i]);
}

/* Texts of ours and of the program's may be the same. */
TEST(no_string_is_there_twice)
{
	static const char *const same[] = {"cpu", "span_id", "cpu", NULL};

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(windows_weight(1, "pid", 1, 1), COMPLETE));
	CHECK(add(windows_weight(2, "count", 1, 1), COMPLETE));
	CHECK(add(windows_weight(3, "nanoseconds", 1, 1), COMPLETE));
	CHECK_EQ(windows_profile_with(same)->n_sample, 3);
}

TEST(sums_survive_the_encoding)
{
	uint64_t count = 0;
	uint64_t cpu_ns = 0;
	const profile_message *p;

	windows_begin();
	srandom(3);
	for (int i = 0; i < 5000; i++) {
		uint64_t some = (uint64_t)random();
		struct window_sample weight =
			windows_weight((uint8_t)(some % 7), NULL, some % 5,
				       1 + some % 1000003);

		windows_set_stack(APP + some % 97, LIB + some % 11,
				  UINT64_C(0));
		if (some % 13)
			CHECK(add(weight, (enum complete_result)(some % 3)));
		else
			CHECK(window_add_unsampled(&windows.window, &weight));
		count += weight.count;
		cpu_ns += weight.cpu_ns;
	}
	p = windows_profile();
	CHECK_EQ(profile_sum(p, 0), count);
	CHECK_EQ(profile_sum(p, 1), cpu_ns);
	CHECK_EQ(windows.window.total_ns, cpu_ns);
	CHECK_EQ(p->n_sample, windows.window.sample_count);
}

TEST(the_deepest_stack_is_told_whole)
{
	const profile_message *p;

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	while (windows.stack.count < COMPLETE_FRAMES_MAX) {
		windows.stack.frames[windows.stack.count] =
			windows.stack.frames[0];
		windows.stack.frames[windows.stack.count].vaddr +=
			windows.stack.count;
		windows.stack.count++;
	}
	CHECK(add(windows_weight(0, NULL, 1, 1), TRUNCATED_DEPTH));
	p = windows_profile();
	CHECK_EQ(p->sample[0]->n_location_id, COMPLETE_FRAMES_MAX + 1);
	CHECK_STR(profile_frame(p, p->sample[0], COMPLETE_FRAMES_MAX),
		  WINDOW_TRUNCATED);
	CHECK_STR(profile_frame(p, p->sample[0], 998), "[app+0x4003e6]");
}

TEST(pushed_ids_replace_our_own_and_leave_no_trace_of_them)
{
	struct window_sample weight = windows_weight(0xa1, "GET", 1, 10);
	const profile_message *p;

	windows_begin();
	windows_set_stack(LIB + 8, UINT64_C(0));
	memset(weight.labels.pushed_id, 0xb2, SPAN_ID_BYTES);
	CHECK(add(weight, COMPLETE));
	for (windows_ids = PPROF_IDS_PUSHED_ALL;; windows_ids--) {
		p = windows_profile();
		CHECK_STR(profile_label(p, p->sample[0], "span_id"),
			  windows_ids == PPROF_IDS_LOCAL ? "a1a1a1a1a1a1a1a1"
							 : "b2b2b2b2b2b2b2b2");
		CHECK_EQ(p->sample[0]->n_label,
			 windows_ids == PPROF_IDS_PUSHED ? 3 : 4);
		for (size_t i = 0; i < p->n_string_table; i++)
			CHECK(windows_ids == PPROF_IDS_LOCAL ||
			      strcmp(p->string_table[i], "a1a1a1a1a1a1a1a1") !=
				      0);
		if (windows_ids == PPROF_IDS_LOCAL)
			break;
	}
}

TEST(a_sample_without_an_id_to_push_has_no_trace_id_either)
{
	const profile_message *p;

	windows_begin();
	windows_set_stack(LIB + 8, UINT64_C(0));
	CHECK(add(windows_weight(0xa1, "GET", 1, 10), COMPLETE));
	windows_ids = PPROF_IDS_PUSHED_ALL;
	p = windows_profile();
	CHECK_EQ(p->sample[0]->n_label, 2); /* span_name and pid */
}
