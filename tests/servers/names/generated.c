/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code that it generates: generated SECONDS [ROOT]. It writes a perf map
 * as a runtime with a compiler would, after changing its root to ROOT; what
 * stands in the map is read from standard input, in which %A and %B are the
 * addresses of its two functions and %L their length.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION_BYTES 64u

/* mov ecx, 0x1000000; loop: dec ecx; jnz loop; ret */
static const unsigned char code[] = {0xb9, 0,    0,    0,    1,
				     0xff, 0xc9, 0x75, 0xfc, 0xc3};

static int is_over(int seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec >= seconds;
}

static void write_map(const unsigned char *functions)
{
	char path[64];
	FILE *map;
	int c;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return;
	while ((c = getchar()) != EOF) {
		if (c != '%') {
			putc(c, map);
			continue;
		}
		c = getchar();
		if (c == 'L')
			fprintf(map, "%x", FUNCTION_BYTES);
		else
			fprintf(map, "%llx",
				(unsigned long long)(uintptr_t)functions +
					(c == 'B' ? FUNCTION_BYTES : 0));
	}
	fclose(map);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned char *functions = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*first)(void), (*second)(void);

	if (functions == MAP_FAILED)
		return EXIT_FAILURE;
	memcpy(functions, code, sizeof(code));
	memcpy(functions + FUNCTION_BYTES, code, sizeof(code));
	if (mprotect(functions, 4096, PROT_READ | PROT_EXEC) != 0)
		return EXIT_FAILURE;
	if (argc > 2 && (chroot(argv[2]) != 0 || chdir("/") != 0))
		return EXIT_FAILURE;
	write_map(functions);
	*(void **)&first = functions;
	*(void **)&second = functions + FUNCTION_BYTES;
	do {
		first();
		second();
	} while (!is_over(seconds));
	return 0;
}
