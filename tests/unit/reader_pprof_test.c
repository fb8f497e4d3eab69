/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the pprof reader: what is valid, and how each damage is told.
 * Runs on: the test program's main thread.
 */
#include "report/reader_pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/lib/profile_builder.h"
#include "tests/lib/unit.h"

static int read_built(const struct built *b, struct profile *profile,
		      struct fault *fault)
{
	size_t length;
	uint8_t *data = built_pack(b, &length);
	int error = profile_read(profile, data, length, fault);

	free(data);
	return error;
}

/* The error of a message that must not be readable; `fault` says why. */
static int error_of(const struct built *b, struct fault *fault)
{
	struct profile profile;
	int error = read_built(b, &profile, fault);

	if (!error)
		profile_fini(&profile);
	return error;
}

static void check_damaged(const struct built *b, int error, const char *words)
{
	struct fault fault = {""};

	CHECK_EQ(error_of(b, &fault), error);
	if (!strstr(fault.text, words))
		CHECK_STR(fault.text, words);
}

static const char *frame(const struct profile *profile, size_t sample,
			 size_t number)
{
	size_t first = profile->stacks[profile->samples[sample].stack].first;

	return profile->texts[profile->frames[first + number]];
}

static uint32_t depth(const struct profile *profile, size_t sample)
{
	return profile->stacks[profile->samples[sample].stack].frame_count;
}

TEST(pprof_reader_takes_samples_with_their_labels)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_EQ(profile.sample_count, 2);
	CHECK_EQ(profile.samples[0].count, 3);
	CHECK_EQ(profile.samples[0].cpu_ns, 30000000);
	CHECK_EQ(profile.samples[0].span, 0x9f86d081884c7d65);
	CHECK_EQ(profile.samples[0].trace.high, 0x4bf92f3577b34da6);
	CHECK_EQ(profile.samples[0].trace.low, 0xa3ce929d0e0e4736);
	CHECK_STR(profile.texts[profile.samples[0].span_name], "GET");
	CHECK_EQ(depth(&profile, 0), 2);
	CHECK_STR(frame(&profile, 0, 0), "work");
	CHECK_STR(frame(&profile, 0, 1), "main");
	CHECK_EQ(profile.samples[1].span, 0);
	CHECK_STR(frame(&profile, 1, 0), "[unsampled]");
	CHECK_EQ(profile.period_ns, 10000000);
	CHECK_EQ(profile.time_ns, 1783851072000000000);
	CHECK_STR(profile.texts[profile.comments[0]], "lost_blocks=3");
	profile_fini(&profile);
}

TEST(pprof_reader_understands_profile_id_and_upper_case)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.texts[TEXT_SPAN_KEY] = built_text("profile_id");
	b.texts[TEXT_SPAN] = built_text("9F86D081884C7D65");
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_EQ(profile.samples[0].span, 0x9f86d081884c7d65);
	profile_fini(&profile);
}

TEST(pprof_reader_takes_a_malformed_id_for_no_span)
{
	static const char *const ids[] = {
		"",
		"9f86d081884c7d6",
		"9f86d081884c7d651",
		"9f86d081884c7d6g",
		"0000000000000000",
		" 9f86d081884c7d6",
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		struct profile profile;
		struct fault fault;
		struct built b;

		built_init(&b);
		b.texts[TEXT_SPAN] = built_text(ids[i]);
		CHECK_EQ(read_built(&b, &profile, &fault), 0);
		CHECK_EQ(profile.samples[0].span, 0);
		profile_fini(&profile);
	}
}

TEST(pprof_reader_makes_frames_of_inlined_functions)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.line_rows[0][0] = &b.lines[1]; /* work, inlined into main */
	b.line_rows[0][1] = &b.lines[0];
	b.locations[0].n_line = 2;
	b.samples[0].location_id = b.stack + 1;
	b.samples[0].n_location_id = 1;
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_EQ(depth(&profile, 0), 2);
	CHECK_STR(frame(&profile, 0, 0), "work");
	CHECK_STR(frame(&profile, 0, 1), "main");
	profile_fini(&profile);
}

TEST(pprof_reader_names_a_location_without_lines_by_its_address)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.locations[1].n_line = 0;
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_STR(frame(&profile, 0, 0), "[0x1001]");
	profile_fini(&profile);
}

TEST(pprof_reader_takes_ids_that_do_not_count_from_one)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.locations[1].id = UINT64_MAX;
	b.stack[0] = UINT64_MAX;
	b.functions[1].id = 77;
	b.lines[1].function_id = 77;
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_STR(frame(&profile, 0, 0), "work");
	profile_fini(&profile);
}

TEST(pprof_reader_keeps_equal_stacks_once)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.samples[1].location_id = b.stack;
	b.samples[1].n_location_id = 2;
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_EQ(profile.stack_count, 1);
	CHECK_EQ(profile.samples[1].stack, 0);
	CHECK_EQ(profile.samples[1].span, 0);
	profile_fini(&profile);
}

TEST(pprof_reader_takes_samples_without_a_stack)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.samples[0].n_location_id = 0;
	b.samples[1].n_location_id = 0;
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK(profile.frames);
	CHECK_EQ(depth(&profile, 0), 0);
	CHECK_EQ(profile.stack_count, 1);
	profile_fini(&profile);
}

TEST(pprof_reader_finds_its_columns_among_others)
{
	struct profile profile;
	struct fault fault;
	struct built b;

	built_init(&b);
	b.type_row[0] = &b.types[1];
	b.type_row[1] = &b.types[0];
	CHECK_EQ(read_built(&b, &profile, &fault), 0);
	CHECK_EQ(profile.samples[0].count, 30000000);
	CHECK_EQ(profile.samples[0].cpu_ns, 3);
	profile_fini(&profile);
}

TEST(pprof_reader_refuses_what_is_not_protobuf)
{
	static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct profile profile;
	struct fault fault;

	CHECK_EQ(profile_read(&profile, bytes, sizeof(bytes), &fault),
		 -EBADMSG);
	CHECK_STR(fault.text, "not a pprof message (protobuf is malformed)");
}

TEST(pprof_reader_refuses_every_cut_message_or_reads_less)
{
	struct built b;
	uint8_t *data;
	size_t length;

	built_init(&b);
	data = built_pack(&b, &length);
	for (size_t cut = 0; cut < length; cut++) {
		/* A copy of its own size, so that a sanitizer sees it. */
		uint8_t *part = malloc(cut ? cut : 1);
		struct profile profile;
		struct fault fault;

		memcpy(part, data, cut);
		if (profile_read(&profile, part, cut, &fault) == 0)
			profile_fini(&profile);
		free(part);
	}
	free(data);
}

TEST(pprof_reader_refuses_an_empty_message)
{
	struct profile profile;
	struct fault fault;

	CHECK_EQ(profile_read(&profile, (const uint8_t *)"", 0, &fault),
		 -EBADMSG);
	CHECK(strstr(fault.text, "string table"));
}

TEST(pprof_reader_refuses_a_table_that_does_not_begin_empty)
{
	struct built b;

	built_init(&b);
	b.texts[0] = built_text("x");
	check_damaged(&b, -EBADMSG, "string table");
}

TEST(pprof_reader_tells_the_types_it_found)
{
	struct built b;

	built_init(&b);
	b.types[1].type = TEXT_SPARE;
	check_damaged(&b, -ENOMSG, "samples/count, spare/nanoseconds;");
	b.profile.n_sample_type = 0;
	check_damaged(&b, -ENOMSG, "the sample types are none;");
}

TEST(pprof_reader_refuses_string_indexes_out_of_range)
{
	struct built b;

	built_init(&b);
	b.types[0].unit = BUILT_TEXTS;
	check_damaged(&b, -EBADMSG, "sample type 1 has the string index 16");
	built_init(&b);
	b.functions[1].name = -1;
	check_damaged(&b, -EBADMSG, "function 2 has the string index -1");
	built_init(&b);
	b.labels[0].key = BUILT_TEXTS;
	check_damaged(&b, -EBADMSG, "label of sample 1 has the string index");
	built_init(&b);
	b.labels[2].str = INT64_MAX;
	check_damaged(&b, -EBADMSG, "label of sample 1 has the string index");
	built_init(&b);
	b.comments[0] = BUILT_TEXTS;
	check_damaged(&b, -EBADMSG, "comment 1 has the string index 16");
}

TEST(pprof_reader_refuses_ids_that_are_zero_or_taken)
{
	struct built b;

	built_init(&b);
	b.functions[2].id = 0;
	check_damaged(&b, -EBADMSG, "function 3 has the id 0");
	built_init(&b);
	b.locations[2].id = 1;
	check_damaged(&b, -EBADMSG, "two locations have the id 1");
	built_init(&b);
	b.mapping.id = 0;
	check_damaged(&b, -EBADMSG, "mapping 1 has the id 0");
}

TEST(pprof_reader_refuses_ids_that_are_unknown)
{
	struct built b;

	built_init(&b);
	b.stack[0] = 9;
	check_damaged(&b, -EBADMSG, "sample 1 has the unknown location 9");
	built_init(&b);
	b.stack[0] = 0;
	check_damaged(&b, -EBADMSG, "sample 1 has the unknown location 0");
	built_init(&b);
	b.lines[0].function_id = 9;
	check_damaged(&b, -EBADMSG, "location 1 has the unknown function 9");
	built_init(&b);
	b.locations[0].mapping_id = 5;
	check_damaged(&b, -EBADMSG, "location 1 has the unknown mapping 5");
}

TEST(pprof_reader_refuses_wrong_values)
{
	struct built b;

	built_init(&b);
	b.samples[1].n_value = 1;
	check_damaged(&b, -EBADMSG, "sample 2 has 1 values for 2");
	built_init(&b);
	b.values[1] = -1;
	check_damaged(&b, -EBADMSG, "sample 1 has a negative value");
	built_init(&b);
	b.profile.period = -1;
	check_damaged(&b, -EBADMSG, "negative time or period");
}

TEST(pprof_reader_refuses_stacks_that_are_too_deep)
{
	uint64_t *stack = malloc(9000 * sizeof(*stack));
	struct built b;

	built_init(&b);
	for (size_t i = 0; i < 9000; i++)
		stack[i] = 1;
	b.samples[0].location_id = stack;
	b.samples[0].n_location_id = 9000;
	check_damaged(&b, -E2BIG, "a stack has more than 8192 frames");
	free(stack);
}

TEST(lines_are_told_when_they_are_asked_for_and_known)
{
	struct built b;
	struct profile profile;
	struct fault fault;
	size_t length;
	uint8_t *data;

	built_init(&b);
	b.texts[TEXT_SPARE] = built_text("/src/work.c");
	b.functions[0].filename = b.functions[1].filename = TEXT_SPARE;
	b.lines[1].line = 12;
	b.lines[2].line = 13;
	data = built_pack(&b, &length);
	CHECK_EQ(profile_read_lines(&profile, data, length, &fault), 0);
	CHECK_STR(frame(&profile, 0, 0), "work work.c:12");
	CHECK_STR(frame(&profile, 0, 1), "main");
	CHECK_STR(frame(&profile, 1, 0), "[unsampled]");
	profile_fini(&profile);
	CHECK_EQ(profile_read(&profile, data, length, &fault), 0);
	CHECK_STR(frame(&profile, 0, 0), "work");
	profile_fini(&profile);
	free(data);
}

TEST(a_function_in_a_file_out_of_range_is_refused)
{
	struct built b;

	built_init(&b);
	b.functions[1].filename = BUILT_TEXTS;
	check_damaged(&b, -EBADMSG, "out of range");
}
