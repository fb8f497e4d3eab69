/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: defaults, ranges, units, precedence, and what is told of
 * values that are not taken.
 * Runs on: the test program's main thread.
 */
#include "preload/config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

static struct config config;
static unsigned warnings;
static char warned[2048]; /* of the last one: name|value|reason|taken */

static void warn(void *context, const struct config_warning *warning)
{
	CHECK(context == &config);
	warnings++;
	snprintf(warned, sizeof(warned), "%s|%.40s|%s|%s", warning->name,
		 warning->value, warning->reason, warning->taken);
}

/* Reads an environment of up to four entries. */
static void read_all(const char *a, const char *b, const char *c, const char *d)
{
	const char *entries[] = {a, b, c, d, NULL};
	char *environment[5];

	for (int i = 0; i < 5; i++)
		environment[i] = (char *)(uintptr_t)entries[i];
	memset(&config, 0xa5, sizeof(config));
	warnings = 0;
	warned[0] = '\0';
	config_read(&config, environment, warn, &config);
}

static void read_one(const char *entry)
{
	read_all(entry, NULL, NULL, NULL);
}

TEST(defaults_hold_without_variables)
{
	read_one(NULL);
	CHECK_EQ(warnings, 0);
	CHECK(!config.disabled);
	CHECK_EQ(config.rate_hz, 100);
	CHECK_EQ(config.interval_ms, 10000);
	CHECK_EQ(config.spans, CONFIG_SPANS_ROOT);
	CHECK_EQ(config.output_max_bytes, 1 << 30);
	CHECK_STR(config.output, "spanprof.out");
	CHECK_STR(config.service, "");
	CHECK_STR(config.log, "");
	CHECK_EQ(config.log_level, CONFIG_LOG_WARN);
}

TEST(no_environment_at_all_is_an_empty_one)
{
	memset(&config, 0xa5, sizeof(config));
	config_read(&config, NULL, NULL, NULL);
	CHECK_EQ(config.rate_hz, 100);
	CHECK_STR(config.output, "spanprof.out");
	CHECK_STR(config.service, "");
}

TEST(an_empty_value_counts_as_unset)
{
	read_all("SPANPROF_RATE=", "SPANPROF_OUTPUT=", "SPANPROF_SPANS=",
		 "SPANPROF_DISABLED=");
	CHECK_EQ(warnings, 0);
	CHECK_EQ(config.rate_hz, 100);
	CHECK_STR(config.output, "spanprof.out");
	CHECK(!config.disabled);
}

TEST(a_longer_or_shorter_name_is_another_variable)
{
	read_all("SPANPROF_RATES=7", "SPANPROF_RAT=7", "XSPANPROF_RATE=7",
		 "SPANPROF_RATE");
	CHECK_EQ(config.rate_hz, 100);
	CHECK_EQ(warnings, 0);
}

TEST(of_two_entries_of_a_name_the_first_holds)
{
	read_all("SPANPROF_RATE=7", "SPANPROF_RATE=8", NULL, NULL);
	CHECK_EQ(config.rate_hz, 7);
}

static void check_rate(const char *value, uint32_t rate, unsigned told)
{
	char entry[128];

	snprintf(entry, sizeof(entry), "SPANPROF_RATE=%s", value);
	read_one(entry);
	CHECK_EQ(config.rate_hz, rate);
	CHECK_EQ(warnings, told);
}

TEST(rate_is_taken_from_1_to_1000)
{
	check_rate("1", 1, 0);
	check_rate("1000", 1000, 0);
	check_rate("250hz", 250, 0);
	check_rate("250Hz", 250, 0);
	check_rate("007", 7, 0);
}

TEST(any_other_rate_is_refused)
{
	static const char *const bad[] = {"0",
					  "1001",
					  "-1",
					  "+5",
					  "1e2",
					  "100.5",
					  "ten",
					  "100 ",
					  " 100",
					  "hz",
					  "0x10",
					  "5k",
					  "4294967396",
					  "18446744073709551716",
					  "99999999999999999999999"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_rate(bad[i], 100, 1);
}

TEST(a_refused_value_is_told_with_its_reason)
{
	read_one("SPANPROF_RATE=fast");
	CHECK_STR(warned, "SPANPROF_RATE|fast|not a number from 1 to 1000|100");
}

static void check_interval(const char *value, uint32_t ms, unsigned told)
{
	char entry[128];

	snprintf(entry, sizeof(entry), "SPANPROF_INTERVAL=%s", value);
	read_one(entry);
	CHECK_EQ(config.interval_ms, ms);
	CHECK_EQ(warnings, told);
}

TEST(interval_is_taken_from_1s_to_15s)
{
	check_interval("1s", 1000, 0);
	check_interval("15s", 15000, 0);
	check_interval("5", 5000, 0);
	check_interval("1500ms", 1500, 0);
	check_interval("3S", 3000, 0);
}

TEST(any_other_interval_is_refused)
{
	check_interval("999ms", 10000, 1);
	check_interval("15001ms", 10000, 1);
	check_interval("16", 10000, 1);
	check_interval("1m", 10000, 1);
	check_interval("s", 10000, 1);
	/* 2^64 / 1000 seconds, and a bit: the product must not wrap. */
	check_interval("18446744073709552s", 10000, 1);
}

TEST(spans_is_one_of_three_words)
{
	read_one("SPANPROF_SPANS=all");
	CHECK_EQ(config.spans, CONFIG_SPANS_ALL);
	read_one("SPANPROF_SPANS=NONE");
	CHECK_EQ(config.spans, CONFIG_SPANS_NONE);
	read_one("SPANPROF_SPANS=roots");
	CHECK_EQ(config.spans, CONFIG_SPANS_ROOT);
	CHECK_STR(warned, "SPANPROF_SPANS|roots|not root, all or none|root");
}

TEST(log_level_is_one_of_four_words)
{
	read_one("SPANPROF_LOG_LEVEL=Debug");
	CHECK_EQ(config.log_level, CONFIG_LOG_DEBUG);
	read_one("SPANPROF_LOG_LEVEL=error");
	CHECK_EQ(config.log_level, CONFIG_LOG_ERROR);
	read_one("SPANPROF_LOG_LEVEL=3");
	CHECK_EQ(config.log_level, CONFIG_LOG_WARN);
	CHECK_EQ(warnings, 1);
}

static void check_size(const char *value, uint64_t bytes, unsigned told)
{
	char entry[128];

	snprintf(entry, sizeof(entry), "SPANPROF_OUTPUT_MAX=%s", value);
	read_one(entry);
	CHECK_EQ(config.output_max_bytes, bytes);
	CHECK_EQ(warnings, told);
}

TEST(sizes_have_units_of_1024_and_of_1000)
{
	check_size("1048576", 1 << 20, 0);
	check_size("2097152b", 2 << 20, 0);
	check_size("1024K", 1 << 20, 0);
	check_size("2048KiB", 2 << 20, 0);
	check_size("5m", 5 << 20, 0);
	check_size("5MiB", 5 << 20, 0);
	check_size("2g", UINT64_C(2) << 30, 0);
	check_size("2GiB", UINT64_C(2) << 30, 0);
	check_size("2000kb", 2000000, 0);
	check_size("2MB", 2000000, 0);
	check_size("2gb", 2000000000, 0);
}

TEST(sizes_below_1mib_or_beyond_64_bits_are_refused)
{
	check_size("1048575", 1 << 30, 1);
	check_size("1MB", 1 << 30, 1);
	check_size("0", 1 << 30, 1);
	check_size("18446744073709551615GiB", 1 << 30, 1);
	check_size("17179869184GiB", 1 << 30, 1);
	check_size("5t", 1 << 30, 1);
}

static void check_disabled(const char *off, const char *on, bool disabled)
{
	read_all(off, on, NULL, NULL);
	CHECK_EQ(config.disabled, disabled);
}

TEST(either_switch_turns_it_off)
{
	check_disabled("SPANPROF_DISABLED=true", NULL, true);
	check_disabled("SPANPROF_DISABLED=1", NULL, true);
	check_disabled("SPANPROF_DISABLED=YES", NULL, true);
	check_disabled("SPANPROF_DISABLED=on", NULL, true);
	check_disabled("SPANPROF_DISABLED=false", NULL, false);
	check_disabled("SPANPROF_DISABLED=0", NULL, false);
	check_disabled("SPANPROF_ENABLED=false", NULL, true);
	check_disabled("SPANPROF_ENABLED=off", NULL, true);
	check_disabled("SPANPROF_ENABLED=true", NULL, false);
	check_disabled("SPANPROF_ENABLED=true", "SPANPROF_DISABLED=true", true);
	check_disabled("SPANPROF_ENABLED=no", "SPANPROF_DISABLED=no", true);
}

TEST(a_switch_that_is_no_truth_value_turns_nothing_off)
{
	read_all("SPANPROF_DISABLED=2", "SPANPROF_ENABLED=maybe", NULL, NULL);
	CHECK(!config.disabled);
	CHECK_EQ(warnings, 2);
}

/* name=xxx..., with `count` of them. Lives until the next call. */
static const char *long_entry(const char *name, size_t count)
{
	static char entry[4096];
	size_t used = (size_t)snprintf(entry, sizeof(entry), "%s=", name);

	CHECK(used + count < sizeof(entry));
	memset(entry + used, 'x', count);
	entry[used + count] = '\0';
	return entry;
}

TEST(a_path_is_taken_whole_or_not_at_all)
{
	read_one(long_entry("SPANPROF_OUTPUT", CONFIG_PATH_BYTES - 1));
	CHECK_EQ(strlen(config.output), CONFIG_PATH_BYTES - 1);
	CHECK_EQ(warnings, 0);
	read_one(long_entry("SPANPROF_OUTPUT", CONFIG_PATH_BYTES));
	CHECK_STR(config.output, "spanprof.out");
	CHECK_EQ(warnings, 1);
	read_one(long_entry("SPANPROF_LOG", CONFIG_PATH_BYTES));
	CHECK_STR(config.log, "");
	CHECK(strstr(warned, "longer than 1023 bytes|none"));
}

TEST(the_service_comes_from_the_first_name_that_is_set)
{
	static const char own[] = "SPANPROF_SERVICE=own";
	static const char pyroscope[] = "PYROSCOPE_APPLICATION_NAME=pyro";
	static const char otel[] = "OTEL_SERVICE_NAME=otel";
	static const char resource[] =
		"OTEL_RESOURCE_ATTRIBUTES=service.name=res";

	read_all(resource, otel, pyroscope, own);
	CHECK_STR(config.service, "own");
	read_all(resource, otel, pyroscope, "SPANPROF_SERVICE=");
	CHECK_STR(config.service, "pyro");
	read_all(resource, otel, NULL, NULL);
	CHECK_STR(config.service, "otel");
	read_one(resource);
	CHECK_STR(config.service, "res");
}

TEST(a_service_that_is_too_long_leaves_the_next_one)
{
	read_all(long_entry("SPANPROF_SERVICE", CONFIG_SERVICE_BYTES),
		 "OTEL_SERVICE_NAME=next", NULL, NULL);
	CHECK_STR(config.service, "next");
	CHECK_EQ(warnings, 1);
	read_one(long_entry("SPANPROF_SERVICE", CONFIG_SERVICE_BYTES));
	CHECK_STR(config.service, "");
	read_one(long_entry("SPANPROF_SERVICE", CONFIG_SERVICE_BYTES - 1));
	CHECK_EQ(strlen(config.service), CONFIG_SERVICE_BYTES - 1);
}

static void check_attribute(const char *attributes, const char *service)
{
	char entry[1024];

	snprintf(entry, sizeof(entry), "OTEL_RESOURCE_ATTRIBUTES=%s",
		 attributes);
	read_one(entry);
	CHECK_STR(config.service, service);
}

TEST(service_name_is_found_among_resource_attributes)
{
	check_attribute("service.name=shop", "shop");
	check_attribute("a=b,service.name=shop,c=d", "shop");
	check_attribute("a=b, service.name=shop", "shop");
	check_attribute("service.name=a%20b%2Cc%2c", "a b,c,");
	check_attribute("my.service.name=x,b=c", "");
	check_attribute("service.names=x", "");
	check_attribute(",,,service.name=x", "x");
}

TEST(a_malformed_service_name_is_none)
{
	check_attribute("service.name=", "");
	check_attribute("service.name=,a=b", "");
	check_attribute("service.name=%", "");
	check_attribute("service.name=%2", "");
	check_attribute("service.name=%2g", "");
	check_attribute("service.name=%00x", "");
}

TEST(a_service_name_is_decoded_up_to_its_bound)
{
	char entry[1024] = "OTEL_RESOURCE_ATTRIBUTES=service.name=";

	for (int i = 0; i < CONFIG_SERVICE_BYTES - 1; i++)
		strcat(entry, "%61");
	read_one(entry);
	CHECK_EQ(strlen(config.service), CONFIG_SERVICE_BYTES - 1);
	CHECK_EQ(strspn(config.service, "a"), CONFIG_SERVICE_BYTES - 1);
	strcat(entry, "a");
	read_one(entry);
	CHECK_STR(config.service, "");
}

static void check_server(const char *url, const char *reason)
{
	char entry[2048];
	char *environment[] = {entry, NULL};

	snprintf(entry, sizeof(entry), "SPANPROF_SERVER=%s", url);
	read_one(entry);
	CHECK_EQ(warnings, reason != NULL);
	if (!reason) {
		CHECK_STR(config_server(environment), url);
		CHECK_STR(config.output, "");
		return;
	}
	CHECK(!config_server(environment));
	CHECK(strstr(warned, reason) != NULL);
	CHECK(!strstr(warned, url)); /* there may be a password in it */
	CHECK_STR(config.output, "spanprof.out");
}

TEST(a_server_is_an_http_url_without_a_query)
{
	check_server("http://127.0.0.1:4040", NULL);
	check_server("HTTPS://pyroscope.example/base/", NULL);
	check_server("http://user:p@ss@host:1", NULL);
	check_server("http://[::1]:4040/x:y", NULL);
	check_server("http://[::1]", NULL);
	check_server("http://host:65535", NULL);
}

TEST(a_server_that_is_no_such_url_is_refused_without_being_shown)
{
	check_server("pyroscope:4040", "no http://");
	check_server("ftp://host", "no http://");
	check_server("http://host/?a=b", "no spaces");
	check_server("http://ho st", "no spaces");
	check_server("http://host#f", "no spaces");
	check_server("http://", "without a host");
	check_server("http://:4040", "without a host");
	check_server("http://user@", "without a host");
	check_server("http://host:", "without a host");
	check_server("http://host:0", "without a host");
	check_server("http://host:65536", "without a host");
	check_server("http://host:80x", "without a host");
}

TEST(a_server_url_that_is_too_long_is_refused)
{
	char url[1200] = "http://";

	memset(url + 7, 'a', CONFIG_PATH_BYTES - 8);
	check_server(url, NULL);
	strcat(url, "a");
	check_server(url, "longer than 1023 bytes");
}

TEST(the_server_falls_back_to_pyroscopes_variable)
{
	read_all("PYROSCOPE_SERVER_ADDRESS=http://b", "SPANPROF_SERVER=b", NULL,
		 NULL);
	CHECK_EQ(warnings, 1);
	CHECK_STR(warned, "SPANPROF_SERVER|...|no http:// or https:// URL|"
			  "the next one");
	CHECK_STR(config.output, "");
	read_all("PYROSCOPE_SERVER_ADDRESS=x", "SPANPROF_SERVER=http://a", NULL,
		 NULL);
	CHECK_EQ(warnings, 0);
}

TEST(a_server_and_a_folder_may_both_be_set)
{
	read_all("SPANPROF_SERVER=http://a", "SPANPROF_OUTPUT=/x", NULL, NULL);
	CHECK_STR(config.output, "/x");
}

TEST(trace_id_is_auto_or_a_truth_value)
{
	read_one(NULL);
	CHECK_EQ(config.trace_id, CONFIG_TRACE_ID_AUTO);
	read_one("SPANPROF_TRACE_ID=Auto");
	CHECK_EQ(config.trace_id, CONFIG_TRACE_ID_AUTO);
	read_one("SPANPROF_TRACE_ID=yes");
	CHECK_EQ(config.trace_id, CONFIG_TRACE_ID_TRUE);
	read_one("SPANPROF_TRACE_ID=0");
	CHECK_EQ(config.trace_id, CONFIG_TRACE_ID_FALSE);
	read_one("SPANPROF_TRACE_ID=2.1");
	CHECK_EQ(config.trace_id, CONFIG_TRACE_ID_AUTO);
	CHECK_STR(warned, "SPANPROF_TRACE_ID|2.1|not auto, true or false|auto");
}

TEST(any_resource_attribute_can_be_looked_up)
{
	char entry[] = "OTEL_RESOURCE_ATTRIBUTES=a=b,service.namespace=x%20y";
	char *environment[] = {entry, NULL};
	char value[CONFIG_SERVICE_BYTES];

	CHECK(config_resource_attribute(environment, "service.namespace",
					value));
	CHECK_STR(value, "x y");
	CHECK(!config_resource_attribute(environment, "service.name", value));
}
