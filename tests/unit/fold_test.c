/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of folding paths into operations.
 * Runs on: the test program's main thread.
 */
#include "report/fold.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

#define CHECK_FOLDED(path, expected)             \
	do {                                     \
		char *folded_ = fold_path(path); \
		CHECK_STR(folded_, (expected));  \
		free(folded_);                   \
	} while (0)

TEST(fold_replaces_numbers)
{
	CHECK_FOLDED("/users/42", "/users/{id}");
	CHECK_FOLDED("/users/42/items/7", "/users/{id}/items/{id}");
	CHECK_FOLDED("/0", "/{id}");
	CHECK_FOLDED("/1/2/3/4/", "/{id}/{id}/{id}/{id}/");
	CHECK_FOLDED("5", "{id}");
}

TEST(fold_replaces_long_hex_and_uuids)
{
	CHECK_FOLDED("/b/deadbeef", "/b/{id}");
	CHECK_FOLDED("/b/DEADBEEF01", "/b/{id}");
	CHECK_FOLDED("/b/6f1ed002-ab59-4f0e-9d13-3a1c9f8e7d21/x", "/b/{id}/x");
}

TEST(fold_keeps_words)
{
	CHECK_FOLDED("", "");
	CHECK_FOLDED("/", "/");
	CHECK_FOLDED("//", "//");
	CHECK_FOLDED("/v1/feed", "/v1/feed");
	CHECK_FOLDED("/abcdef0", "/abcdef0");
	CHECK_FOLDED("/deadbeeg", "/deadbeeg");
	CHECK_FOLDED("/12.html", "/12.html");
	CHECK_FOLDED("/-1", "/-1");
	CHECK_FOLDED("/6f1ed002-ab59-4f0e-9d13-3a1c9f8e7d2",
		     "/6f1ed002-ab59-4f0e-9d13-3a1c9f8e7d2");
	CHECK_FOLDED("/6f1ed002xab59-4f0e-9d13-3a1c9f8e7d21",
		     "/6f1ed002xab59-4f0e-9d13-3a1c9f8e7d21");
}

TEST(fold_drops_a_query)
{
	CHECK_FOLDED("/a/7?x=/8", "/a/{id}");
	CHECK_FOLDED("?x", "");
}

static void check_operation(const struct fold_names *names,
			    const char *expected)
{
	char *operation = fold_operation(names);

	CHECK_STR(operation, expected);
	free(operation);
}

TEST(fold_names_operations_by_route_else_by_path)
{
	check_operation(&(struct fold_names){"GET", "GET", "/a/7"},
			"GET /a/{id}");
	check_operation(&(struct fold_names){"GET /a/{n}", "GET", "/a/7"},
			"GET /a/{n}");
	check_operation(&(struct fold_names){"HTTP", "_OTHER", "/a/7"},
			"_OTHER /a/{id}");
	check_operation(&(struct fold_names){"GET", "", ""}, "GET");
	check_operation(&(struct fold_names){"job", "", ""}, "job");
	check_operation(&(struct fold_names){"", "", ""}, "");
	check_operation(&(struct fold_names){"GET", "GET", ""}, "GET");
}

TEST(fold_shows_requests_with_their_ids)
{
	struct fold_names names = {"GET", "GET", "/a/7"};
	char *request = fold_request(&names);

	CHECK_STR(request, "GET /a/7");
	free(request);
}
