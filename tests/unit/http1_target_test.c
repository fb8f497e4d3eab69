/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of request targets, seen through the requests that have them.
 * Runs on: the test program's main thread.
 */
#include "hooks/http1_target.h"

#include <stdlib.h>

#include "tests/lib/requests.h"
#include "tests/lib/unit.h"

static void check_path(const char *target, const char *path)
{
	char *text = requests_fill("GET ", target, 1, " HTTP/1.1\r\n\r\n");

	requests_read(text, strlen(text));
	free(text);
	requests_check_heads(1);
	CHECK_STR(requests_head(0)->path, path);
}

TEST(request_path_has_neither_query_nor_fragment)
{
	check_path("/", "/");
	check_path("/a/b.c", "/a/b.c");
	check_path("/a?b=/c?d", "/a");
	check_path("/a#b?c", "/a");
	check_path("/?", "/");
	check_path("?a", "");
	check_path("*", "*");
	check_path("//a/b", "//a/b");
	check_path("/a://b", "/a://b");
}

TEST(request_path_of_an_absolute_form_is_behind_its_authority)
{
	check_path("http://u:p@a.example:80/b/c?d", "/b/c");
	check_path("HTTPS://a/b", "/b");
	check_path("AZaz09+-.://a/b", "/b");
	check_path("z://a/b", "/b");
	check_path("coap+tcp-1.x://[::1]/b://c", "/b://c");
	check_path("http://a", "/");
	check_path("http://a?b=/c", "/");
	check_path("http://a#/b", "/");
	check_path("http://", "/");
}

TEST(request_path_that_only_begins_like_an_absolute_form_is_kept)
{
	check_path("a", "a");
	check_path("a.example:443", "a.example:443");
	check_path("a:/b", "a:/b");
	check_path("a:b//c", "a:b//c");
	check_path("a?b", "a");
	check_path("a:?b", "a:");
	check_path("a:/?b", "a:/");
	check_path("a@b://c/d", "a@b://c/d");
	check_path("1://b/c", "1://b/c");
	check_path("{://b/c", "{://b/c");
	check_path("a/://b/c", "a/://b/c");
}

TEST(request_path_is_cut_to_fit)
{
	char *longest = requests_fill("/", "x", SPAN_PATH_BYTES - 2, "");
	char *longer = requests_fill(longest, "y", 300, "");
	char *absolute = requests_fill("http://", "a", 200, longest);

	check_path(longest, longest);
	check_path(longer, longest);
	check_path(absolute, longest);
	free(absolute);
	free(longer);
	free(longest);
}

TEST(request_path_bytes_that_are_not_visible_become_question_marks)
{
	check_path("/!~\x1f\x80", "/!~??");
	check_path("/a\xc3\xa9\x7f\x01\tb", "/a?????b");
	requests_read_literal("GET /a\0b HTTP/1.1\r\n\r\n");
	CHECK_STR(requests_head(0)->path, "/a?b");
}
