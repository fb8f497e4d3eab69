/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window adds up what is alike and keeps apart what isn't, within the limits
 * of a server.
 * Runs on: the test program's main thread.
 */
#include "exporter/window.h"

#include <stdio.h>

#include "tests/lib/unit.h"
#include "tests/lib/windows.h"

static bool add(struct window_sample weight)
{
	return window_add_stack(&windows.window, windows.map, &windows.stack,
				COMPLETE, &weight);
}

static bool add_plain(void)
{
	return add(windows_weight(0, NULL, 1, 100));
}

/* The only sample, or the last one that a walk visits. */
static struct window_sample last_visited;

static void visit(void *count, const struct window_sample *sample)
{
	last_visited = *sample;
	++*(unsigned *)count;
}

static unsigned count_samples(void)
{
	unsigned count = 0;

	window_each(&windows.window, visit, &count);
	CHECK_EQ(count, windows.window.sample_count);
	return count;
}

static const char *frame_name(size_t i)
{
	const struct window *w = &windows.window;
	uint32_t location = last_visited.locations[i];

	CHECK(i < last_visited.location_count);
	return w->strings
		.texts[w->functions[w->locations[location].function].name];
}

TEST(the_same_stack_and_labels_are_one_sample)
{
	windows_begin();
	windows_set_stack(LIB + 8, APP + 16, UINT64_C(0));
	CHECK(add(windows_weight(7, "GET", 1, 100)));
	CHECK(add(windows_weight(7, "GET", 3, 250)));
	CHECK_EQ(count_samples(), 1);
	CHECK_EQ(last_visited.count, 4);
	CHECK_EQ(last_visited.cpu_ns, 350);
	CHECK_EQ(last_visited.location_count, 2);
	CHECK_EQ(windows.window.frame_count, 2);
	CHECK_EQ(windows.window.total_ns, 350);
	CHECK_EQ(windows.window.labelled_ns, 350);
	CHECK_EQ(windows.window.unsampled_ns, 0);
}

TEST(each_label_keeps_samples_apart)
{
	struct window_sample weight = windows_weight(7, "GET", 1, 100);

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(weight));
	weight.labels.span_id[7]++;
	CHECK(add(weight));
	weight.labels.trace_id[15]++;
	CHECK(add(weight));
	weight.labels.span_name = "PUT";
	CHECK(add(weight));
	weight.labels.pid++;
	CHECK(add(weight));
	weight.labels.span_name = NULL;
	CHECK(add(weight));
	CHECK_EQ(count_samples(), 6);
	CHECK_EQ(windows.window.location_count, 1);
}

TEST(each_frame_keeps_stacks_apart)
{
	windows_begin();
	windows_set_stack(APP, APP + 64, UINT64_C(0));
	add_plain();
	windows_set_stack(APP + 64, APP, UINT64_C(0));
	add_plain();
	windows_set_stack(APP, UINT64_C(0));
	add_plain();
	windows_set_stack(APP, APP + 64, APP + 64, UINT64_C(0));
	add_plain();
	CHECK_EQ(count_samples(), 4);
	CHECK_EQ(windows.window.location_count, 2);
	CHECK_EQ(windows.window.mapping_count, 1);
}

TEST(time_under_no_span_is_not_labelled)
{
	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	add(windows_weight(0, NULL, 1, 100));
	add(windows_weight(1, NULL, 1, 7));
	CHECK_EQ(windows.window.total_ns, 107);
	CHECK_EQ(windows.window.labelled_ns, 7);
}

TEST(code_without_a_symbol_is_named_by_module_and_offset)
{
	windows_begin();
	windows_set_stack(LIB + 0x1234, UINT64_C(0));
	add_plain();
	CHECK_EQ(count_samples(), 1);
	CHECK_STR(frame_name(0), "[libx.so+0x1234]");
}

TEST(code_of_no_module_is_unknown)
{
	windows_begin();
	windows_set_stack(UINT64_C(0x10), UINT64_C(0x20), UINT64_C(0));
	add_plain();
	CHECK_EQ(count_samples(), 1);
	CHECK_STR(frame_name(0), WINDOW_UNKNOWN);
	CHECK_STR(frame_name(1), WINDOW_UNKNOWN);
	CHECK_EQ(windows.window.location_count, 1);
	CHECK_EQ(windows.window.mapping_count, 0);
}

TEST(a_walk_that_ended_early_is_marked_at_its_outer_end)
{
	for (int result = COMPLETE + 1; result < COMPLETE_RESULTS; result++) {
		struct window_sample weight = windows_weight(0, NULL, 1, 100);

		windows_begin();
		windows_set_stack(APP + 5, UINT64_C(0));
		CHECK(window_add_stack(&windows.window, windows.map,
				       &windows.stack,
				       (enum complete_result)result, &weight));
		CHECK_EQ(count_samples(), 1);
		CHECK_EQ(last_visited.location_count, 2);
		CHECK_STR(frame_name(0), "[app+0x400005]");
		CHECK_STR(frame_name(1), WINDOW_TRUNCATED);
	}
}

TEST(a_walk_without_a_frame_has_a_frame_all_the_same)
{
	struct window_sample weight = windows_weight(0, NULL, 1, 100);

	windows_begin();
	windows_set_stack(UINT64_C(0));
	CHECK(window_add_stack(&windows.window, windows.map, &windows.stack,
			       TRUNCATED_BAD, &weight));
	CHECK_EQ(count_samples(), 1);
	CHECK_STR(frame_name(0), WINDOW_TRUNCATED);
	windows_begin();
	windows_set_stack(UINT64_C(0));
	CHECK(add_plain());
	CHECK_EQ(count_samples(), 1);
	CHECK_EQ(last_visited.location_count, 1);
}

TEST(time_that_no_sample_shows_has_a_frame_of_its_own)
{
	struct window_sample weight = windows_weight(9, "GET", 0, 100);

	windows_begin();
	CHECK(window_add_unsampled(&windows.window, &weight));
	CHECK(window_add_unsampled(&windows.window, &weight));
	CHECK_EQ(count_samples(), 1);
	CHECK_STR(frame_name(0), WINDOW_UNSAMPLED);
	CHECK_EQ(last_visited.count, 0);
	CHECK_EQ(last_visited.cpu_ns, 200);
	CHECK_EQ(windows.window.unsampled_ns, 200);
	CHECK_EQ(windows.window.total_ns, 200);
	CHECK_EQ(windows.window.labelled_ns, 200);
}

TEST(a_mapping_reaches_beyond_all_of_its_locations)
{
	windows_begin();
	windows_set_stack(LIB + 0xfffff, LIB + 1, APP + 0x2000, UINT64_C(0));
	add_plain();
	CHECK_EQ(windows.window.mapping_count, 2);
	CHECK_EQ(windows.window.mappings[0].limit, 0x100000);
	CHECK_EQ(windows.window.mappings[1].limit, 0x403000);
}

/* ---- names ---- */

static const char *name_of_last(void)
{
	return windows.window.strings.texts[last_visited.name_text];
}

/* The name under which a sample with this one is kept. */
static const char *kept_name(const char *name)
{
	static uint64_t unique;
	struct window_sample weight = windows_weight(0, name, 1, 1);
	struct window_sample found;
	unsigned count = 0;

	weight.cpu_ns = ++unique * 1000000;
	windows_begin();
	CHECK(window_add_unsampled(&windows.window, &weight));
	window_each(&windows.window, visit, &count);
	found = last_visited;
	CHECK_EQ(found.cpu_ns, weight.cpu_ns);
	return name_of_last();
}

TEST(a_name_is_kept_and_none_is_none)
{
	CHECK_STR(kept_name("GET"), "GET");
	CHECK_STR(kept_name(NULL), "");
	CHECK_STR(kept_name(""), "");
}

/* ---- limits ---- */

TEST(a_weight_of_nothing_adds_nothing)
{
	struct window_sample weight = windows_weight(1, "GET", 0, 0);

	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	CHECK(add(weight));
	CHECK(window_add_unsampled(&windows.window, &weight));
	CHECK_EQ(count_samples(), 0);
}

TEST(a_place_at_the_end_of_all_addresses_is_in_its_mapping)
{
	windows_begin();
	windows_set_stack(APP, UINT64_C(0));
	windows.stack.frames[0].vaddr = UINT64_MAX;
	CHECK(add_plain());
	CHECK_EQ(windows.window.mappings[0].limit, UINT64_MAX);
	windows_profile();
}

static uint64_t value_after_adding(uint64_t cpu_ns, unsigned times)
{
	struct window_sample weight = windows_weight(1, "GET", cpu_ns, cpu_ns);

	windows_begin();
	for (unsigned i = 0; i < times; i++)
		CHECK(window_add_unsampled(&windows.window, &weight));
	count_samples();
	CHECK_EQ(last_visited.count, last_visited.cpu_ns);
	return last_visited.cpu_ns;
}

/* pprof's values are signed. */
TEST(sums_never_become_negative)
{
	const uint64_t most = INT64_MAX;

	CHECK_EQ(value_after_adding(UINT64_C(1) << 62, 2), most);
	CHECK_EQ(value_after_adding(most, 5), most);
	CHECK_EQ(value_after_adding(most - 1, 1), most - 1);
	windows_profile();
}

TEST(a_window_is_full_with_16000_samples_and_not_before)
{
	windows_begin();
	for (uint64_t i = 1; i <= WINDOW_SAMPLES_MAX; i++) {
		CHECK(!window_is_full(&windows.window));
		windows_set_stack(APP + i % 200, APP + i / 200, UINT64_C(0));
		CHECK(add_plain());
		CHECK_EQ(windows.window.sample_count, i);
	}
	CHECK(window_is_full(&windows.window));
	CHECK_EQ(windows_profile()->n_sample, WINDOW_SAMPLES_MAX);
}

/* What a full window is as a profile: within the server's limit, and not much
 * below ours, unless it is the number of samples that filled it. */
static void check_size_of_full(void)
{
	size_t bytes;

	CHECK(window_is_full(&windows.window));
	windows_profile();
	bytes = windows_profile_bytes();
	CHECK(bytes <= WINDOW_BYTES_MAX);
	CHECK(bytes >= WINDOW_BYTES_MAX / 3 ||
	      windows.window.sample_count == WINDOW_SAMPLES_MAX);
}

static void fill_with(unsigned depth, bool own_spans, bool own_frames)
{
	uint64_t next = 1;

	windows_begin();
	for (uint64_t n = 1; !window_is_full(&windows.window); n++) {
		struct window_sample weight =
			windows_weight(0x77, "DELETE", 100, n << 32);

		if (own_spans) {
			memcpy(weight.labels.span_id, &n, sizeof(n));
			memcpy(weight.labels.trace_id, &n, sizeof(n));
		}
		weight.labels.pid = 4000000;
		windows.stack.count = 0;
		windows_set_stack(APP + n, UINT64_C(0));
		while (windows.stack.count < depth) {
			struct stack_frame *frames = windows.stack.frames;
			uint32_t at = windows.stack.count++;

			frames[at] = frames[0];
			frames[at].vaddr = own_frames ? ++next : at;
		}
		CHECK(add(weight));
	}
}

TEST(a_full_window_is_no_larger_than_a_server_takes)
{
	static const unsigned depths[] = {1, 16, COMPLETE_FRAMES_MAX};

	for (size_t i = 0; i < 3; i++) {
		for (int kind = 0; kind < 4; kind++) {
			fill_with(depths[i], kind & 1, kind & 2);
			check_size_of_full();
		}
	}
}
