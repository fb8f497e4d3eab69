/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzzer over files, without a fuzzing engine.
 * Runs on: the replay program's main thread.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST (1u << 20)

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	bytes = malloc(LARGEST);
	size = bytes ? fread(bytes, 1, LARGEST, file) : 0;
	fclose(file);
	if (bytes) {
		/* As large as the input, so that a sanitizer sees its end. */
		uint8_t *exact = malloc(size ? size : 1);

		if (exact) {
			memcpy(exact, bytes, size);
			LLVMFuzzerTestOneInput(exact, size);
		}
		free(exact);
	}
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (replay(argv[i]) != 0)
			return EXIT_FAILURE;
	}
	printf("%d inputs\n", argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
