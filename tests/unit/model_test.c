/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of joining profiles and spans.
 * Runs on: the test program's main thread.
 */
#include "report/model.h"

#include <stdlib.h>

#include "report/filter.h"
#include "tests/lib/profile_builder.h"
#include "tests/lib/unit.h"

#define SPAN UINT64_C(0x9f86d081884c7d65)

static void merge_built(struct model *model, const struct built *b)
{
	struct profile profile;
	struct fault fault;
	size_t length;
	uint8_t *data = built_pack(b, &length);

	CHECK_EQ(profile_read(&profile, data, length, &fault), 0);
	model_merge_profile(model, &profile);
	profile_fini(&profile);
	free(data);
}

static struct span_record record(uint64_t span, const char *path)
{
	return (struct span_record){.span = span,
				    .trace = {1, 2},
				    .service = "shop",
				    .name = "GET",
				    .method = "GET",
				    .path = path,
				    .start_ns = 1000,
				    .end_ns = 5000,
				    .cpu_ns = 300,
				    .cpu_known = true,
				    .end = SPAN_END_COMPLETE};
}

static void merge_record(struct model *model, struct span_record span)
{
	struct span_file file = {.records = &span, .count = 1};

	model_merge_spans(model, &file);
}

TEST(model_joins_samples_and_spans_by_span_id)
{
	struct model *model = model_create();
	const struct span *span;
	struct built b;

	built_init(&b);
	merge_built(model, &b);
	merge_record(model, record(SPAN, "/a/7"));
	merge_built(model, &b);
	model_finish(model);
	CHECK_EQ(model->span_count, 2);
	span = &model->spans[1];
	CHECK_EQ(span->samples, 6);
	CHECK_EQ(span->sampled_ns, 60000000);
	CHECK_EQ(span->unsampled_ns, 0);
	CHECK_EQ(span->period_ns, 10000000);
	CHECK_EQ(span->profiled, 2);
	CHECK_EQ(model->samples[span->first].count, 3);
	CHECK_EQ(span->trace.low, 2);
	CHECK_EQ(span_cpu_ns(span), 300);
	CHECK_STR(model_text(model, span->request), "GET /a/7");
	CHECK_STR(model_text(model, span->operation), "GET /a/{id}");
	CHECK_EQ(model->spans[0].unsampled_ns, 4000000);
	CHECK_EQ(model->unsampled_ns, 4000000);
	CHECK_EQ(model->cpu_ns, 64000000);
	CHECK_EQ(model->count, 6);
	model_destroy(model);
}

TEST(model_knows_spans_that_only_samples_name)
{
	struct model *model = model_create();
	const struct span *span;
	uint64_t duration_ns;
	struct built b;

	built_init(&b);
	merge_built(model, &b);
	model_finish(model);
	span = &model->spans[1];
	CHECK(!span->recorded);
	CHECK_STR(model_text(model, span->operation), "GET");
	CHECK_EQ(span->trace.high, 0x4bf92f3577b34da6);
	CHECK_EQ(span_cpu_ns(span), 30000000);
	CHECK(!span_duration_ns(span, &duration_ns));
	model_destroy(model);
}

TEST(model_adds_statistics_up)
{
	struct model *model = model_create();
	struct built b;

	built_init(&b);
	b.texts[TEXT_COMMENT] =
		built_text("lost_a=3\nrecorded by hand\n=5\nlost_b=7\nx=-1");
	merge_built(model, &b);
	merge_built(model, &b);
	CHECK_EQ(model->statistic_count, 2);
	CHECK_STR(model_text(model, model->statistics[0].key), "lost_a");
	CHECK_EQ(model->statistics[0].value, 6);
	CHECK_EQ(model->statistics[1].value, 14);
	model_destroy(model);
}

TEST(model_counts_cut_stacks)
{
	struct model *model = model_create();
	struct built b;

	built_init(&b);
	b.texts[TEXT_MAIN] = built_text("[truncated]");
	merge_built(model, &b);
	CHECK_EQ(model->truncated_ns, 30000000);
	model_destroy(model);
}

TEST(model_prefers_what_is_written_when_a_span_has_ended)
{
	struct span_record open = record(7, "/open"), ended = record(7, "/end");
	struct span_record later = record(7, "/later");

	open.end = SPAN_END_UNFINISHED;
	open.end_ns = 9000;
	later.end_ns = 6000;
	for (int turn = 0; turn < 2; turn++) {
		struct model *model = model_create();

		merge_record(model, turn ? open : ended);
		merge_record(model, turn ? ended : open);
		CHECK_STR(model_text(model, model->spans[1].path), "/end");
		merge_record(model, later);
		merge_record(model, ended);
		CHECK_STR(model_text(model, model->spans[1].path), "/later");
		CHECK_EQ(model->span_count, 2);
		model_destroy(model);
	}
}

TEST(model_holds_many_spans)
{
	struct model *model = model_create();

	for (uint64_t id = 1; id <= 1000; id++)
		merge_record(model, record(id, "/a"));
	model_finish(model);
	CHECK_EQ(model->span_count, 1001);
	for (size_t i = 1; i <= 1000; i++) {
		CHECK_EQ(model->spans[i].id, i);
		CHECK(model->spans[i].recorded);
	}
	model_destroy(model);
}

TEST(model_of_nothing_can_be_finished)
{
	struct model *model = model_create();

	model_finish(model);
	CHECK_EQ(model->span_count, 1);
	CHECK_EQ(model->sample_count, 0);
	model_destroy(model);
}

/* How many spans a name means. */
static size_t count_named(const struct model *model, const char *name)
{
	bool *wanted;
	size_t count = filter_spans(model, name, &wanted);

	free(wanted);
	return count;
}

TEST(filter_prefers_operations_to_parts_of_names)
{
	struct model *model = model_create();

	merge_record(model, record(1, "/a"));
	merge_record(model, record(2, "/ab"));
	merge_record(model, record(3, "/users/42"));
	merge_record(model, record(4, "/users/43"));
	merge_record(model, record(5, "/x/\033"));
	model_finish(model);
	CHECK_EQ(count_named(model, NULL), 5);
	CHECK_EQ(count_named(model, "GET /a"), 1);
	CHECK_EQ(count_named(model, "/a"), 2);
	CHECK_EQ(count_named(model, "GET"), 5);
	CHECK_EQ(count_named(model, "GET /users/{id}"), 2);
	CHECK_EQ(count_named(model, "GET /users/42"), 1);
	CHECK_EQ(count_named(model, "GET /users/9"), 2);
	CHECK_EQ(count_named(model, "POST /users/9"), 0);
	CHECK_EQ(count_named(model, "GET /x/?"), 1);
	CHECK_EQ(count_named(model, "nothing"), 0);
	model_destroy(model);
}
