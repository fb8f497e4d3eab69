/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the unit tests of one program and prints a line a test.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/unit.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static struct unit_test *first_test;
static jmp_buf leave_test;
enum outcome {
	PASSED,
	FAILED,
	SKIPPED
};

void unit_register(struct unit_test *test)
{
	test->next = first_test;
	first_test = test;
}

void unit_fail(const char *file, int line, const char *text)
{
	printf("  %s:%d: %s\n", file, line, text);
	longjmp(leave_test, FAILED);
}

void unit_fail_numbers(const char *file, int line, const char *text,
		       long long a, long long b)
{
	printf("  %s:%d: %s: %lld and %lld\n", file, line, text, a, b);
	longjmp(leave_test, FAILED);
}

void unit_fail_strings(const char *file, int line, const char *a, const char *b)
{
	printf("  %s:%d: \"%s\" is not \"%s\"\n", file, line, a ? a : "(null)",
	       b ? b : "(null)");
	longjmp(leave_test, FAILED);
}

void unit_skip(const char *reason)
{
	printf("  %s\n", reason);
	longjmp(leave_test, SKIPPED);
}

int main(int argc, char **argv)
{
	static const char *const word[] = {"ok", "FAIL", "SKIP"};
	volatile int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct unit_test *volatile t = first_test; t; t = t->next) {
		int outcome;

		if (argc > 1 && strcmp(argv[1], t->name) != 0)
			continue;
		outcome = setjmp(leave_test);
		if (outcome == PASSED)
			t->body();
		failed += outcome == FAILED;
		printf("%s %s\n", word[outcome], t->name);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
