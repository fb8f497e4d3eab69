/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do after an attempt: a table of classes, delays, Retry-After.
 * Runs on: the test program's main thread.
 */
#include "exporter/retry.h"

#include <time.h>

#include "exporter/http.h"
#include "tests/lib/unit.h"

#define S UINT64_C(1000000000)

static uint64_t delay_ns;

static enum retry_verdict after(int status, unsigned tries)
{
	struct retry_attempt made = {.status = status, .tries = tries};

	return retry_decide(&made, &delay_ns);
}

TEST(only_200_is_success)
{
	CHECK_EQ(after(200, 1), RETRY_DONE);
	CHECK_EQ(after(200, 99), RETRY_DONE);
	for (int status = 100; status < 400; status++)
		CHECK_EQ(after(status, 1),
			 status == 200 ? RETRY_DONE : RETRY_REFUSED);
}

TEST(what_may_pass_is_tried_8_times)
{
	static const int statuses[] = {HTTP_STATUS_IO, 408, 429, 502, 503, 504};

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		CHECK_EQ(after(statuses[i], 1), RETRY_AGAIN);
		CHECK_EQ(after(statuses[i], 7), RETRY_AGAIN);
		CHECK_EQ(after(statuses[i], 8), RETRY_TIRED);
	}
}

TEST(a_500_is_tried_3_times)
{
	CHECK_EQ(after(500, 2), RETRY_AGAIN);
	CHECK_EQ(after(500, 3), RETRY_TIRED);
}

TEST(what_will_not_pass_is_never_tried_again)
{
	static const int statuses[] = {400, 401, 403, 404, 405,
				       413, 415, 422, 501, HTTP_STATUS_NEVER};

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		CHECK_EQ(after(statuses[i], 1), RETRY_REFUSED);
}

static uint64_t delay_of(unsigned tries, uint32_t chance, uint64_t after_ns)
{
	struct retry_attempt made = {.status = 503,
				     .tries = tries,
				     .chance = chance,
				     .after_ns = after_ns};

	CHECK_EQ(retry_decide(&made, &delay_ns), RETRY_AGAIN);
	return delay_ns;
}

TEST(delays_grow_between_half_a_second_and_30_seconds)
{
	static const uint64_t longest[] = {1, 2, 4, 8, 16, 30, 30};

	for (unsigned tries = 1; tries <= 7; tries++) {
		CHECK_EQ(delay_of(tries, 0, 0), S / 2);
		CHECK_EQ(delay_of(tries, UINT32_MAX, 0),
			 longest[tries - 1] * S);
		CHECK(delay_of(tries, UINT32_MAX / 2, 0) <
		      longest[tries - 1] * S);
	}
}

TEST(the_servers_wish_is_the_least)
{
	CHECK_EQ(delay_of(1, 0, 5 * S), 5 * S + S / 20);
	CHECK_EQ(delay_of(1, UINT32_MAX, 5 * S), 5 * S + S / 10);
	CHECK_EQ(delay_of(7, UINT32_MAX, S), S + 3 * S);
}

TEST(what_would_come_too_late_is_given_up)
{
	struct retry_attempt made = {
		.status = 503, .tries = 1, .age_ns = RETRY_OLDEST_NS - S / 2};

	CHECK_EQ(retry_decide(&made, &delay_ns), RETRY_AGAIN);
	made.age_ns++;
	CHECK_EQ(retry_decide(&made, &delay_ns), RETRY_OLD);
	made.age_ns = 0;
	made.after_ns = 3600 * S;
	CHECK_EQ(retry_decide(&made, &delay_ns), RETRY_OLD);
}

TEST(retry_after_is_seconds)
{
	CHECK_EQ(retry_after_ns("5", 0), 5 * S);
	CHECK_EQ(retry_after_ns("0", 0), 0);
	CHECK_EQ(retry_after_ns("007", 0), 7 * S);
	CHECK_EQ(retry_after_ns("99999999999999999999", 0), 86400 * S);
	CHECK_EQ(retry_after_ns("5s", 0), 0);
	CHECK_EQ(retry_after_ns("1.5", 0), 0);
	CHECK_EQ(retry_after_ns("-5", 0), 0);
	CHECK_EQ(retry_after_ns("", 0), 0);
}

TEST(retry_after_is_a_date_in_each_of_http_s_forms)
{
	/* RFC 9110 §5.6.7: 784111777 */
	int64_t now = 784111777 - 30;

	CHECK_EQ(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", now), 30 * S);
	CHECK_EQ(retry_after_ns("Sunday, 06-Nov-94 08:49:37 GMT", now), 30 * S);
	CHECK_EQ(retry_after_ns("Sun Nov  6 08:49:37 1994", now), 30 * S);
	CHECK_EQ(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", now + 31), 0);
	CHECK_EQ(retry_after_ns("Sun, 06 Nov 1994 08:49:37 CET", now), 0);
	CHECK_EQ(retry_after_ns("tomorrow", now), 0);
}
