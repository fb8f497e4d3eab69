/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a push, and what a server's words mean.
 * Runs on: the test program's main thread.
 */
#include "exporter/push.h"

#include <stdlib.h>

#include "exporter/json.h"
#include "exporter/push.pb-c.h"
#include "exporter/server.h"
#include "exporter/strings.h"
#include "tests/lib/unit.h"

TEST(a_body_has_one_profile_of_one_series)
{
	struct series series = {0};
	struct push_profile profile = {"\x1f\x8b\0x", 4};
	Push__PushRequest *request;
	Push__RawProfileSeries *only;
	size_t bytes;
	void *body;

	CHECK(!series_add(&series, "__name__", "process_cpu"));
	CHECK(!series_add(&series, "region", "eu"));
	CHECK_EQ(push_encode(&series, &profile, &body, &bytes), 0);
	request = push__push_request__unpack(NULL, bytes, body);
	CHECK(request != NULL);
	CHECK_EQ(request->n_series, 1);
	only = request->series[0];
	CHECK_EQ(only->n_labels, 2);
	CHECK_STR(only->labels[1]->name, "region");
	CHECK_STR(only->labels[1]->value, "eu");
	CHECK_EQ(only->n_samples, 1);
	CHECK_EQ(only->samples[0]->raw_profile.len, 4);
	CHECK_EQ(memcmp(only->samples[0]->raw_profile.data, profile.bytes, 4),
		 0);
	push__push_request__free_unpacked(request, NULL);
	series_fini(&series);
	free(body);
}

TEST(trace_ids_stay_on_the_sample_from_2_1_on)
{
	static const char *const good[] = {"2.1.0", "v2.1.0", "2.10", "2.2.1",
					   "3.0.0-rc1"};
	static const char *const bad[] = {"2.0.9",    "1.21.0", "unknown", "",
					  "main-2.1", "2",      "v"};

	for (unsigned i = 0; i < 5; i++)
		CHECK(server_version_keeps_trace_id(good[i]));
	for (unsigned i = 0; i < 7; i++)
		CHECK(!server_version_keeps_trace_id(bad[i]));
}

TEST(a_text_is_found_by_its_path)
{
	static const char *const path[] = {"data", "version", NULL};
	char text[8];

	CHECK(json_text("{\"data\": {\"version\": \"2.1.0\"}}", path, text,
			sizeof(text)));
	CHECK_STR(text, "2.1.0");
	CHECK(json_text("{\"data\": {\"version\": \"a\\u0007b1234567\"}}", path,
			text, sizeof(text)));
	CHECK_STR(text, "a?b1234");
	CHECK(!json_text("{\"data\": \"2.1.0\"}", path, text, sizeof(text)));
	CHECK(!json_text("{\"data\": {\"version\": 2}}", path, text,
			 sizeof(text)));
	CHECK(!json_text("<html>", path, text, sizeof(text)));
	CHECK(!json_text("", path, text, sizeof(text)));
}

TEST(strings_are_cut_to_what_they_were)
{
	struct strings strings;
	size_t bytes;

	CHECK_EQ(strings_init(&strings), 0);
	CHECK_EQ(strings_intern(&strings, "a"), 1);
	bytes = strings.bytes;
	CHECK_EQ(strings_intern(&strings, "secret"), 2);
	strings_cut(&strings, 2);
	CHECK_EQ(strings.count, 2);
	CHECK_EQ(strings.bytes, bytes);
	CHECK_EQ(strings_intern(&strings, "b"), 2);
	CHECK_EQ(strings_intern(&strings, "a"), 1);
	strings_fini(&strings);
}
