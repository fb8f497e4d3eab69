/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the log.
 * Runs on: the exporter.
 */
#include "exporter/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static FILE *file;
static enum config_log_level most;

void log_open(const char *path, enum config_log_level level)
{
	int fd;

	most = level;
	if (!path[0])
		return;
	fd = open(path,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
			  O_NONBLOCK,
		  0600);
	if (fd < 0)
		return;
	file = fdopen(fd, "a");
	if (file)
		setvbuf(file, NULL, _IOLBF, 0);
	else
		close(fd);
}

void log_message(enum config_log_level level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];
	va_list arguments;

	if (!file || level > most)
		return;
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
	fprintf(file, "%s spanprof: %s: ", stamp, names[level]);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fputc('\n', file);
}
