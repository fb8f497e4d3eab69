/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges what the samples of a span are worth.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/mem.h"
#include "report/sum.h"
#include "report/text.h"

/* With none of 5 samples that were due on average, chance is below 1 %. */
#define DUE_UNEXPECTED 5
/* Three standard errors, and a fifth of the whole, are no chance. */
#define GAP_ERRORS 3
#define GAP_SHARE 5

static uint64_t standard_error_ns(uint64_t samples, uint64_t period_ns)
{
	double error = sqrt((double)samples) * (double)period_ns;

	return error < 1e18 ? (uint64_t)error : UINT64_MAX;
}

static char *judge_none(const struct span *span, uint64_t period_ns)
{
	uint64_t cpu_ns = span_cpu_ns(span);
	char cpu[TEXT_NUMBER_BYTES], period[TEXT_NUMBER_BYTES];

	if (period_ns == 0)
		return mem_printf("no samples: no profile was read");
	words_duration(cpu, cpu_ns);
	words_duration(period, period_ns);
	if (!span->cpu_known && cpu_ns == 0)
		return mem_printf("no samples, and the CPU time of the span is "
				  "not known");
	if (cpu_ns / period_ns < DUE_UNEXPECTED)
		return mem_printf("no samples: the span used %s CPU; at %s a "
				  "sample that is expected",
				  cpu, period);
	return mem_printf("no samples: the span used %s CPU; at %s a sample "
			  "about %" PRIu64 " were due, so they were lost or "
			  "their file is missing",
			  cpu, period, cpu_ns / period_ns);
}

char *verdict_text(const struct model *model, const struct span *span)
{
	uint64_t period_ns =
		span->period_ns ? span->period_ns : model->period_ns;
	char cpu[TEXT_NUMBER_BYTES], error[TEXT_NUMBER_BYTES];

	if (span->samples == 0)
		return judge_none(span, period_ns);
	words_duration(cpu, span->sampled_ns);
	words_duration(error, standard_error_ns(span->samples, period_ns));
	if (span->samples >= VERDICT_ENOUGH)
		return mem_printf("%" PRIu64 " samples = %s ± %s CPU",
				  span->samples, cpu, error);
	return mem_printf("too few samples to judge (%" PRIu64 " sample%s = "
			  "about %s ± %s)",
			  span->samples, span->samples == 1 ? "" : "s", cpu,
			  error);
}

char *verdict_gap(const struct span *span)
{
	uint64_t shown_ns = sum_of(span->sampled_ns, span->unsampled_ns);
	uint64_t lacking_ns = sum_less(span->cpu_ns, shown_ns);
	uint64_t due = span->period_ns ? span->cpu_ns / span->period_ns : 0;
	char shown[TEXT_NUMBER_BYTES], cpu[TEXT_NUMBER_BYTES];

	if (!span->cpu_known || span->samples == 0 ||
	    lacking_ns / GAP_ERRORS <=
		    standard_error_ns(due, span->period_ns) ||
	    lacking_ns < span->cpu_ns / GAP_SHARE)
		return NULL;
	words_duration(shown, shown_ns);
	words_duration(cpu, span->cpu_ns);
	return mem_printf("the profiles show %s of its %s CPU: samples were "
			  "lost, or a file is missing",
			  shown, cpu);
}
