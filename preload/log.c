/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a line to the agent's log.
 * Runs on: the program's main thread, in the constructor.
 */
#include "preload/log.h"

#include <fcntl.h>
#include <stdarg.h>

#include "preload/process.h"
#include "preload/text.h"
#include "sampler/arch.h"

#define LINE_BYTES 1024u

void log_line(const char *text, ...)
{
	char line[LINE_BYTES] = "spanprof: ";
	size_t used = text_length_sig(line);
	va_list more;
	long fd;

	if (!agent.config.log[0])
		return;
	va_start(more, text);
	for (; text && used < LINE_BYTES - 2;
	     text = va_arg(more, const char *)) {
		text_copy_sig(line + used, LINE_BYTES - 1 - used, text);
		used += text_length_sig(line + used);
	}
	va_end(more);
	line[used++] = '\n';
	fd = SYS3(SYS_open, agent.config.log,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
			  O_NONBLOCK,
		  0600);
	if (fd < 0)
		return;
	SYS3(SYS_write, fd, line, used);
	SYS1(SYS_close, fd);
}
