/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-registering unit tests. A test file contains TEST bodies and no main;
 * tests/lib/unit.c brings it. A failed check is reported with its place and
 * ends the test, not the program.
 */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct unit_test {
	const char *name;
	void (*body)(void);
	struct unit_test *next;
};

void unit_register(struct unit_test *test);

/* Reports a failure and leaves the running test. */
__attribute__((noreturn)) void unit_fail(const char *file, int line,
					 const char *text);
__attribute__((noreturn)) void unit_fail_numbers(const char *file, int line,
						 const char *text, long long a,
						 long long b);
__attribute__((noreturn)) void unit_fail_strings(const char *file, int line,
						 const char *a, const char *b);

/* Leaves the running test as skipped; CI counts a skip as a failure. */
__attribute__((noreturn)) void unit_skip(const char *reason);

#define TEST(statement)                                                        \
	static void test_##statement(void);                                    \
	__attribute__((constructor)) static void register_##statement(void)    \
	{                                                                      \
		static struct unit_test t = {#statement, test_##statement, 0}; \
		unit_register(&t);                                             \
	}                                                                      \
	static void test_##statement(void)

#define CHECK(condition)                                           \
	do {                                                       \
		if (!(condition))                                  \
			unit_fail(__FILE__, __LINE__, #condition); \
	} while (0)

#define CHECK_EQ(a, b)                                                      \
	do {                                                                \
		long long a_ = (long long)(a), b_ = (long long)(b);         \
		if (a_ != b_)                                               \
			unit_fail_numbers(__FILE__, __LINE__, #a " == " #b, \
					  a_, b_);                          \
	} while (0)

#define CHECK_STR(a, b)                                                \
	do {                                                           \
		const char *a_ = (a), *b_ = (b);                       \
		if (!a_ || !b_ || strcmp(a_, b_) != 0)                 \
			unit_fail_strings(__FILE__, __LINE__, a_, b_); \
	} while (0)

#endif
