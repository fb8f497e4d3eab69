/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests added up by kind, and the spread of their durations.
 * Runs on: the test program's main thread.
 */
#include "exporter/operations.h"

#include <stdio.h>

#include "tests/lib/unit.h"

static struct operations operations;
static struct histogram histogram;

static void add(const char *method, const char *path, uint64_t cpu_ns)
{
	struct known_span span = {
		.start_ns = 1000, .end_ns = 3000, .cpu_ns = cpu_ns};

	snprintf(span.method, sizeof(span.method), "%s", method);
	snprintf(span.path, sizeof(span.path), "%s", path);
	operations_add(&operations, &span);
}

TEST(histogram_is_near_the_truth)
{
	memset(&histogram, 0, sizeof(histogram));
	CHECK_EQ(histogram_percentile(&histogram, 50), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		histogram_add(&histogram, i * 1000003);
	for (unsigned percent = 1; percent <= 100; percent++) {
		uint64_t truth = percent * 10 * UINT64_C(1000003);
		uint64_t told = histogram_percentile(&histogram, percent);

		CHECK(told >= truth - truth / 16 && told <= truth + truth / 16);
	}
}

TEST(histogram_of_one_value_tells_it)
{
	static const uint64_t values[] = {0, 1, 7, 8, 9, 123456789, UINT64_MAX};

	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
		memset(&histogram, 0, sizeof(histogram));
		histogram_add(&histogram, values[i]);
		CHECK(histogram_percentile(&histogram, 50) == values[i]);
		CHECK(histogram_percentile(&histogram, 95) == values[i]);
	}
}

TEST(operations_group_by_folded_path)
{
	const struct operation *dearest[3];

	memset(&operations, 0, sizeof(operations));
	add("GET", "/users/17?q=1", 5);
	add("GET", "/users/18", 6);
	add("PUT", "/users/18", 7);
	CHECK_EQ(operations_dearest(&operations, dearest, 3), 2);
	CHECK_STR(dearest[0]->name, "GET /users/{id}");
	CHECK_EQ(dearest[0]->durations.count, 2);
	CHECK_EQ(dearest[0]->cpu_ns, 11);
	CHECK_STR(dearest[1]->name, "PUT /users/{id}");
}

TEST(operations_have_a_bound_and_lose_nothing)
{
	const struct operation *dearest[1];
	uint64_t requests = 0;
	char path[32];

	memset(&operations, 0, sizeof(operations));
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/p%ux", i);
		add("GET", path, 1);
	}
	CHECK_EQ(operations.count, OPERATIONS_MAX + 1);
	CHECK_EQ(operations_dearest(&operations, dearest, 1), 1);
	CHECK_STR(dearest[0]->name, OPERATIONS_OTHER);
	CHECK_EQ(dearest[0]->durations.count, 1000 - OPERATIONS_MAX);
	for (unsigned i = 0; i < operations.count; i++)
		requests += operations.all[i].durations.count;
	CHECK_EQ(requests, 1000);
}

TEST(operations_are_ordered_by_cpu_time)
{
	static const char *const paths[] = {"/c", "/a", "/e", "/b", "/d"};
	const struct operation *dearest[3];

	memset(&operations, 0, sizeof(operations));
	for (unsigned i = 0; i < 5; i++)
		add("GET", paths[i], (uint64_t)paths[i][1]);
	CHECK_EQ(operations_dearest(&operations, dearest, 3), 3);
	CHECK_STR(dearest[0]->name, "GET /e");
	CHECK_STR(dearest[1]->name, "GET /d");
	CHECK_STR(dearest[2]->name, "GET /c");
}

TEST(operations_of_hostile_names_are_printable_ascii)
{
	memset(&operations, 0, sizeof(operations));
	add("G\033T", "/\xc3\xa4/\n/x", 1);
	add("", "", 1);
	CHECK_STR(operations.all[0].name, "G?T /?\?/?/x");
	CHECK_STR(operations.all[1].name, "(no name)");
}
