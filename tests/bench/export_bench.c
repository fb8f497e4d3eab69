/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what a full window costs to export: 10,000 samples of depth 30,
 * 20 a span.
 * Runs on: the bench program's main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/clock.h"
#include "exporter/gzip.h"
#include "exporter/pprof.h"
#include "tests/lib/unit.h"
#include "tests/lib/windows.h"

#define SAMPLES 10000u
#define SAMPLES_A_SPAN 20u
#define DEPTH 30u
#define ROUNDS 21

/* How tests/lib fails; the runner of tests is not linked. */
void unit_fail(const char *file, int line, const char *text)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, text);
	abort();
}

void unit_fail_numbers(const char *file, int line, const char *text,
		       long long a, long long b)
{
	fprintf(stderr, "%s:%d: %s: %lld, %lld\n", file, line, text, a, b);
	abort();
}

/* Frames near the root are few, as in programs; leaves are many. */
static void set_stack(unsigned random)
{
	const struct module *module = windows.stack.frames[0].module;

	windows.stack.count = DEPTH;
	for (unsigned i = 0; i < DEPTH; i++) {
		unsigned variety = 1 + 800 / (1 + i * i);

		random = random * 1103515245u + 12345u;
		windows.stack.frames[i].module = module;
		windows.stack.frames[i].vaddr =
			16u * (i * 1000 + (random >> 8) % variety);
	}
}

static void fill(void)
{
	windows_begin();
	windows_set_stack(LIB + 8, UINT64_C(0));
	for (unsigned i = 0; i < SAMPLES; i++) {
		unsigned span = 1 + i / SAMPLES_A_SPAN;
		struct window_sample weight =
			windows_weight(1, "GET", 1, 10000000);

		memcpy(weight.labels.span_id, &span, sizeof(span));
		memcpy(weight.labels.trace_id, &span, sizeof(span));
		set_stack(i);
		if (!window_add_stack(&windows.window, windows.map,
				      &windows.stack, COMPLETE, &weight))
			abort();
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_ms(void (*what)(void))
{
	double ms[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);

		what();
		ms[i] = (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) /
			1e6;
	}
	qsort(ms, ROUNDS, sizeof(*ms), compare);
	return ms[ROUNDS / 2];
}

static void *plain;
static size_t plain_bytes;
static size_t gzip_bytes;

static void encode(void)
{
	static const char *const comments[] = {"producer=bench", NULL};
	struct pprof_times times = {1, 10000000000u, 10000000, PPROF_IDS_LOCAL};
	void *bytes;

	if (pprof_encode(&windows.window, &times, comments, &bytes,
			 &gzip_bytes) != 0)
		abort();
	free(bytes);
}

static void compress(void)
{
	void *bytes;

	if (gzip_compress(plain, plain_bytes, &bytes, &gzip_bytes) != 0)
		abort();
	free(bytes);
}

/* The profile without gzip, as a reader sees it. */
static void unpack(void)
{
	const Perftools__Profiles__Profile *profile = windows_profile();

	plain_bytes = perftools__profiles__profile__get_packed_size(profile);
	plain = malloc(plain_bytes);
	if (!plain)
		abort();
	perftools__profiles__profile__pack(profile, plain);
}

int main(void)
{
	double gzip;

	fill();
	unpack();
	gzip = median_ms(compress);
	printf("%u samples of depth %u, made and packed %15.2f ms\n", SAMPLES,
	       DEPTH, median_ms(encode) - gzip);
	printf("gzip -1 of these %zu kB, to %zu kB %17.2f ms\n",
	       plain_bytes / 1000, gzip_bytes / 1000, gzip);
	free(plain);
	return 0;
}
