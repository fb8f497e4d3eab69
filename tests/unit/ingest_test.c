/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of an older push.
 * Runs on: the test program's main thread.
 */
#include "exporter/ingest.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

#define TIMES "&from=1&until=2&spyName=spanprof"

static struct series series;

static void check_path(const char *expected)
{
	char *path = ingest_path(&series, &(struct ingest_times){1, 2});

	CHECK(path != NULL);
	CHECK_STR(path, expected);
	free(path);
	series_fini(&series);
}

TEST(a_series_becomes_a_name_without_the_metric)
{
	CHECK(!series_add(&series, "__name__", "process_cpu"));
	CHECK(!series_add(&series, "service_name", "shop"));
	CHECK(!series_add(&series, "otel.scope.name", "spanprof"));
	check_path("/ingest?name=shop%7Bservice_name%3Dshop%2C"
		   "otel.scope.name%3Dspanprof%7D" TIMES);
}

TEST(without_a_service_there_is_still_an_app)
{
	check_path("/ingest?name=unknown_service%7B%7D" TIMES);
}

TEST(what_the_grammar_cannot_hold_becomes_an_underscore)
{
	CHECK(!series_add(&series, "service_name", "a b:c/d.e-f"));
	CHECK(!series_add(&series, "k-1{", "x,y}z={&"));
	check_path("/ingest?name=a_b_c%2Fd.e-f%7Bservice_name%3D"
		   "a%20b%3Ac%2Fd.e-f%2Ck_1_%3Dx_y_z%3D%7B%26%7D" TIMES);
}

TEST(bytes_above_ascii_are_kept_in_values_alone)
{
	CHECK(!series_add(&series, "service_name", "caf\xc3\xa9"));
	check_path("/ingest?name=caf__%7Bservice_name%3Dcaf%C3%A9%7D" TIMES);
}
