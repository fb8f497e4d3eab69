/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the own command line.
 * Runs on: the exporter, when it starts.
 */
#include "exporter/own_command.h"

#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define BYTES_MAX 16384
#define ARGUMENTS_MAX 16u

static ssize_t read_file(char *to, size_t capacity)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, to, capacity);

	if (fd >= 0)
		close(fd);
	return got;
}

char *const *own_command(unsigned int left_out)
{
	static char text[BYTES_MAX + 1];
	static char *arguments[ARGUMENTS_MAX + 1];
	ssize_t len = read_file(text, BYTES_MAX);
	unsigned int count = 0;

	if (len <= 0 || len == BYTES_MAX)
		return NULL;
	for (char *at = text; at < text + len && count < ARGUMENTS_MAX;
	     at += strlen(at) + 1)
		arguments[count++] = at;
	if (count <= left_out || count == ARGUMENTS_MAX)
		return NULL;
	arguments[count - left_out] = NULL;
	return arguments;
}
