/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where pushes go: URL, credentials and their order, headers, secrets.
 * Runs on: the test program's main thread.
 */
#include "exporter/destination.h"

#include <errno.h>
#include <stdio.h>

#include "tests/lib/unit.h"

static struct destination destination;
static char warned[1024];

static void warn(const char *name, const char *reason)
{
	size_t used = strlen(warned);

	snprintf(warned + used, sizeof(warned) - used, "%s: %s;", name, reason);
}

/* An environment of up to three entries beside the server. */
static int read_all(const char *server, const char *a, const char *b,
		    const char *c)
{
	static char url[256];
	char *environment[] = {url, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
			       (char *)(uintptr_t)c, NULL};

	snprintf(url, sizeof(url), "SPANPROF_SERVER=%s", server);
	destination_fini(&destination);
	warned[0] = '\0';
	return destination_init(&destination, environment, warn);
}

static void check_header(size_t i, const char *header)
{
	CHECK(i < destination.header_count);
	CHECK_STR(destination.headers[i], header);
}

TEST(without_a_server_there_is_no_destination)
{
	CHECK_EQ(read_all("", NULL, NULL, NULL), -ENOENT);
	CHECK_EQ(read_all("x", NULL, NULL, NULL), -ENOENT);
}

TEST(a_url_loses_its_user_and_its_closing_slashes)
{
	CHECK_EQ(read_all("http://u%40x:p%3aw@host:1/a//", NULL, NULL, NULL),
		 0);
	CHECK_STR(destination.url, "http://host:1/a");
	/* u@x:p:w */
	check_header(0, "Authorization: Basic dUB4OnA6dw==");
	CHECK_STR(destination.password, "p:w");
	CHECK_EQ(read_all("http://host", NULL, NULL, NULL), 0);
	CHECK_STR(destination.url, "http://host");
	CHECK_EQ(destination.header_count, 0);
}

TEST(basic_goes_before_the_url_and_a_token)
{
	const char *token = "PYROSCOPE_AUTH_TOKEN=t0k3n";

	read_all("http://h", token, NULL, NULL);
	check_header(0, "Authorization: Bearer t0k3n");
	read_all("http://u:p@h", token, NULL, NULL);
	check_header(0, "Authorization: Basic dTpw");
	read_all("http://u:p@h", token, "PYROSCOPE_BASIC_AUTH_USER=a",
		 "PYROSCOPE_BASIC_AUTH_PASSWORD=bc");
	check_header(0, "Authorization: Basic YTpiYw==");
	CHECK_EQ(destination.header_count, 1);
}

TEST(the_tenant_has_a_header)
{
	read_all("http://h", "PYROSCOPE_TENANT_ID=b", NULL, NULL);
	check_header(0, "X-Scope-OrgID: b");
	read_all("http://h", "PYROSCOPE_TENANT_ID=b", "SPANPROF_TENANT_ID=a",
		 NULL);
	check_header(0, "X-Scope-OrgID: a");
}

TEST(extra_headers_win)
{
	read_all("http://h",
		 "PYROSCOPE_HTTP_HEADERS={\"authorization\": \"Own x\", "
		 "\"X-A\": \"1\"}",
		 "PYROSCOPE_AUTH_TOKEN=t", NULL);
	CHECK_STR(warned, "");
	CHECK_EQ(destination.header_count, 2);
	check_header(0, "authorization: Own x");
	check_header(1, "X-A: 1");
}

static void check_refused(const char *json, const char *reason)
{
	char entry[256];

	snprintf(entry, sizeof(entry), "PYROSCOPE_HTTP_HEADERS=%s", json);
	CHECK_EQ(read_all("http://h", entry, NULL, NULL), 0);
	CHECK_EQ(destination.header_count, 0);
	CHECK(strstr(warned, reason) != NULL);
}

TEST(headers_that_would_break_a_request_are_refused)
{
	check_refused("X-A: 1", "no JSON object");
	check_refused("[1]", "no JSON object");
	check_refused("{\"a\": 1}", "no JSON object");
	check_refused("{\"a\": \"b\"", "no JSON object");
	check_refused("{\"a\": \"b\\r\\nc: d\"}", "can't stand in a header");
	check_refused("{\"a b\": \"c\"}", "can't stand in a header");
	check_refused("{\"\": \"c\"}", "can't stand in a header");
	check_refused("{\"Content-Length\": \"1\"}", "body depends on");
	read_all("http://h", "PYROSCOPE_AUTH_TOKEN=a\r\nb: c", NULL, NULL);
	CHECK_EQ(destination.header_count, 0);
	CHECK(strstr(warned, "PYROSCOPE_AUTH_TOKEN: it holds control") != NULL);
	CHECK(!strstr(warned, "b: c"));
}

TEST(loopback_is_known)
{
	static const char *const near[] = {
		"http://localhost:4040", "http://LOCALHOST/x",
		"http://127.0.0.1", "http://u:p@127.3.2.1:1", "http://[::1]:1"};
	static const char *const far[] = {
		"http://localhost.example", "http://127.example",
		"http://host/127.0.0.1", "http://127.0.0.1@host"};

	for (unsigned i = 0; i < 5; i++) {
		read_all(near[i], NULL, NULL, NULL);
		CHECK(destination.is_loopback);
	}
	for (unsigned i = 0; i < 4; i++) {
		read_all(far[i], NULL, NULL, NULL);
		CHECK(!destination.is_loopback);
	}
}

TEST(secrets_are_hidden_in_what_comes_back)
{
	char text[] = "Basic dTpzM2NyM3Q= u:s3cr3t and k3y!, bl";

	read_all("http://u:s3cr3t@h", "SPANPROF_TENANT_ID=blue",
		 "PYROSCOPE_HTTP_HEADERS={\"X-Key\": \"k3y!\"}", NULL);
	destination_hide(&destination, text);
	CHECK(!strstr(text, "s3cr3t"));
	CHECK(!strstr(text, "dTpzM2NyM3Q="));
	CHECK(!strstr(text, "k3y!"));
	CHECK(strstr(text, " and ") != NULL);
}
