/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes lines to stderr.
 * Runs on: the supervisor.
 */
#include "supervisor/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/printable.h"

static const char prefix[] = "spanprof: ";

void say_init(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

bool say_is_quiet(void)
{
	const char *quiet = getenv("SPANPROF_QUIET");

	return quiet && *quiet;
}

static void write_line(const char *format, va_list arguments)
{
	char text[SAY_BYTES];
	char line[sizeof(prefix) + SAY_BYTES];
	int error = errno;
	size_t length = sizeof(prefix) - 1;
	void (*before)(int);

	vsnprintf(text, sizeof(text), format, arguments);
	memcpy(line, prefix, length);
	length += printable_copy(line + length, text, strlen(text));
	line[length++] = '\n';
	before = signal(SIGPIPE, SIG_IGN);
	if (write(STDERR_FILENO, line, length) < 0)
		(void)0; /* there is nobody to tell */
	signal(SIGPIPE, before);
	errno = error;
}

void say(const char *format, ...)
{
	va_list arguments;

	if (say_is_quiet())
		return;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void say_failure(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}
