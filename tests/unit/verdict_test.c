/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of judging what samples are worth.
 * Runs on: the test program's main thread.
 */
#include "report/verdict.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

#define MS UINT64_C(1000000)

/* A span with samples of 10 ms and a known CPU time. */
static struct span sampled(uint64_t samples, uint64_t cpu_ns)
{
	return (struct span){.id = 1,
			     .samples = samples,
			     .sampled_ns = samples * 10 * MS,
			     .period_ns = samples ? 10 * MS : 0,
			     .cpu_ns = cpu_ns,
			     .cpu_known = true};
}

static void check_verdict(const struct span *span, const char *expected)
{
	const struct model model = {.period_ns = 10 * MS};
	char *text = verdict_text(&model, span);

	CHECK_STR(text, expected);
	free(text);
}

TEST(verdict_gives_the_standard_error)
{
	struct span span = sampled(100, 1000 * MS);

	check_verdict(&span, "100 samples = 1.00 s ± 100 ms CPU");
	span = sampled(10, 100 * MS);
	check_verdict(&span, "10 samples = 100 ms ± 31.6 ms CPU");
}

TEST(verdict_says_when_samples_are_too_few)
{
	struct span span = sampled(9, 90 * MS);

	check_verdict(&span, "too few samples to judge (9 samples = about "
			     "90.0 ms ± 30.0 ms)");
	span = sampled(1, 90 * MS);
	check_verdict(&span, "too few samples to judge (1 sample = about "
			     "10.0 ms ± 10.0 ms)");
}

TEST(verdict_explains_none)
{
	struct span span = sampled(0, 2100000);

	check_verdict(&span, "no samples: the span used 2.10 ms CPU; at "
			     "10.0 ms a sample that is expected");
	span = sampled(0, 80 * MS);
	check_verdict(&span,
		      "no samples: the span used 80.0 ms CPU; at 10.0 ms a "
		      "sample about 8 were due, so they were lost or their "
		      "file is missing");
	span.cpu_known = false;
	check_verdict(&span, "no samples, and the CPU time of the span is not "
			     "known");
}

TEST(verdict_explains_that_no_profile_was_read)
{
	const struct model model = {0};
	struct span span = sampled(0, MS);
	char *text = verdict_text(&model, &span);

	CHECK_STR(text, "no samples: no profile was read");
	free(text);
}

TEST(verdict_tells_a_gap_that_is_not_chance)
{
	struct span span = sampled(40, 1000 * MS);
	char *gap = verdict_gap(&span);

	CHECK_STR(gap, "the profiles show 400 ms of its 1.00 s CPU: samples "
		       "were lost, or a file is missing");
	free(gap);
	span = sampled(95, 1000 * MS);
	CHECK(!verdict_gap(&span));
	span = sampled(1, 30 * MS);
	CHECK(!verdict_gap(&span));
	span = sampled(40, 1000 * MS);
	span.cpu_known = false;
	CHECK(!verdict_gap(&span));
}
