/* SPDX-License-Identifier: Apache-2.0 */
/* Calls work() of each library that it is given, in turns, for some seconds of
 * CPU time. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIBRARIES_MAX 8

static int is_over(int seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec >= seconds;
}

int main(int argc, char **argv)
{
	uint64_t (*work[LIBRARIES_MAX])(uint64_t);
	int seconds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t sum = 0;
	int count = 0;

	for (int i = 2; i < argc && count < LIBRARIES_MAX; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return EXIT_FAILURE;
		}
		*(void **)&work[count++] = dlsym(library, "work");
	}
	puts("ready");
	fflush(stdout);
	do
		for (int i = 0; i < count; i++)
			sum += work[i](1u << 18);
	while (!is_over(seconds));
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
