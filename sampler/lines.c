/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc files line by line.
 * Runs on: the sampler thread; raw system calls only.
 */
#include "sampler/lines.h"

#include <errno.h>
#include <fcntl.h>

#include "sampler/arch.h"

/* PATH_MAX and the columns before the path. */
#define LONGEST_LINE 4352u

static struct {
	long fd;
	size_t from; /* unread bytes: text[from..to) */
	size_t to;
	bool at_end;
	bool in_line; /* the rest of a line that was cut comes next */
	char text[4 * LONGEST_LINE];
} file;

static long read_again(long fd, char *to, size_t bytes)
{
	long got;

	do
		got = SYS3(SYS_read, fd, to, bytes);
	while (got == -EINTR);
	return got;
}

long lines_read_file(const char *path, char *text, size_t text_bytes)
{
	long fd = SYS3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	long got;

	if (fd < 0)
		return fd;
	got = read_again(fd, text, text_bytes - 1);
	SYS1(SYS_close, fd);
	if (got >= 0)
		text[got] = '\0';
	return got;
}

int lines_open(const char *path)
{
	file.fd = SYS3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	file.from = file.to = 0;
	file.at_end = file.in_line = false;
	return file.fd < 0 ? (int)file.fd : 0;
}

void lines_close(void)
{
	SYS1(SYS_close, file.fd);
}

static void fill(void)
{
	long got;

	/* Moves forward over itself: the target lies below the source. */
	copy_bytes_sig(file.text, file.text + file.from, file.to - file.from);
	file.to -= file.from;
	file.from = 0;
	got = read_again(file.fd, file.text + file.to,
			 sizeof(file.text) - 1 - file.to);
	if (got <= 0)
		file.at_end = true;
	else
		file.to += (size_t)got;
}

static size_t line_length(void)
{
	size_t n = 0;

	while (file.from + n < file.to && file.text[file.from + n] != '\n')
		n++;
	return n;
}

/* Moves behind the newline, if it is there. */
static void pass_line(size_t length)
{
	file.from += length;
	file.in_line = file.from == file.to && !file.at_end;
	if (file.from < file.to)
		file.from++;
}

char *lines_next(void)
{
	size_t length;
	char *line;

	while (file.in_line) {
		fill();
		pass_line(line_length());
	}
	length = line_length();
	while (file.from + length == file.to && !file.at_end &&
	       length < LONGEST_LINE) {
		fill();
		length = line_length();
	}
	if (file.from == file.to)
		return 0;
	line = file.text + file.from;
	pass_line(length);
	line[length < LONGEST_LINE ? length : LONGEST_LINE - 1] = '\0';
	return line;
}
