/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses up CPU time in functions that a profile can tell apart.
 * Runs on: the connection threads of the truth server.
 */
#include "tests/servers/burn_functions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* About 20 us of arithmetic: the clock costs 0.4 us. */
#define STEPS_BETWEEN_LOOKS 8000

uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Where the results go, so that the compiler must compute them. */
static _Atomic uint64_t sink;

/*
 * A xorshift generator. It is a part of each function that calls it, and the
 * seed, a constant of that function, keeps gcc's folding of identical code from
 * making one function of all of them.
 */
__attribute__((always_inline)) static inline uint64_t
compute_for(uint64_t cpu_ns, uint64_t seed)
{
	uint64_t begin_ns = thread_cpu_ns();
	uint64_t used_ns, state = seed;

	do {
		for (int i = 0; i < STEPS_BETWEEN_LOOKS; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
		}
		used_ns = thread_cpu_ns() - begin_ns;
	} while (used_ns < cpu_ns);
	sink = state;
	return used_ns;
}

#define BURN(number)                                                         \
	__attribute__((noinline)) static uint64_t burn_##number(uint64_t ns) \
	{                                                                    \
		return compute_for(ns, 1##number);                           \
	}

#define TEN(tens, OF) \
	OF(tens##0)   \
	OF(tens##1)   \
	OF(tens##2)   \
	OF(tens##3)   \
	OF(tens##4)   \
	OF(tens##5)   \
	OF(tens##6)   \
	OF(tens##7)   \
	OF(tens##8)   \
	OF(tens##9)

#define ALL(OF)    \
	TEN(0, OF) \
	TEN(1, OF) \
	TEN(2, OF) \
	TEN(3, OF) \
	TEN(4, OF) \
	TEN(5, OF) \
	OF(60)     \
	OF(61)     \
	OF(62)     \
	OF(63)

ALL(BURN)

#define ENTRY(number) burn_##number,
static uint64_t (*const functions[BURN_FUNCTIONS])(uint64_t) = {ALL(ENTRY)};

int burn_find(const char *name)
{
	char *end;
	unsigned long number;

	if (strncmp(name, "burn_", 5) != 0 || strlen(name) != 7)
		return -1;
	number = strtoul(name + 5, &end, 10);
	return *end == '\0' && number < BURN_FUNCTIONS ? (int)number : -1;
}

uint64_t burn_run(int number, uint64_t cpu_ns)
{
	return functions[number](cpu_ns);
}

__attribute__((noinline)) uint64_t housekeeping(uint64_t cpu_ns)
{
	return compute_for(cpu_ns, 7);
}
