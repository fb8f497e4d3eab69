/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading files of /proc line by line: lines that are cut, lines of every
 * length around the buffer's, and a last line without its newline.
 * Runs on: the test program's main thread.
 */
#include "sampler/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

/* What sampler/lines.h says of a line. */
#define LONGEST 4351u

static void open_text(const char *text)
{
	CHECK_EQ(lines_open(temp_file(text, strlen(text))), 0);
}

static void check_end(void)
{
	CHECK(!lines_next());
	CHECK(!lines_next());
	lines_close();
}

TEST(lines_come_without_their_newline)
{
	open_text("one\ntwo\nthree\n");
	CHECK_STR(lines_next(), "one");
	CHECK_STR(lines_next(), "two");
	CHECK_STR(lines_next(), "three");
	check_end();
}

TEST(a_last_line_needs_no_newline)
{
	open_text("one\ntwo");
	CHECK_STR(lines_next(), "one");
	CHECK_STR(lines_next(), "two");
	check_end();
}

TEST(empty_lines_are_lines)
{
	open_text("\n\nx\n\n");
	CHECK_STR(lines_next(), "");
	CHECK_STR(lines_next(), "");
	CHECK_STR(lines_next(), "x");
	CHECK_STR(lines_next(), "");
	check_end();
}

TEST(an_empty_file_has_no_line)
{
	open_text("");
	check_end();
}

TEST(a_file_that_is_not_there_is_an_error)
{
	char text[8];

	CHECK_EQ(lines_open("/nowhere/at/all"), -ENOENT);
	CHECK_EQ(lines_read_file("/nowhere/at/all", text, sizeof(text)),
		 -ENOENT);
}

/* A file of lines of the given length, each with its number in front. */
static const char *file_of(size_t length, unsigned lines, bool last_newline)
{
	size_t bytes = (length + 1) * lines;
	char *text = malloc(bytes + 1);
	char *to = text;
	const char *path;

	CHECK(text != NULL);
	memset(text, '.', bytes);
	for (unsigned i = 0; i < lines; i++, to += length + 1) {
		char number[12];

		snprintf(number, sizeof(number), "%08u", i);
		memcpy(to, number, 8);
		to[length] = '\n';
	}
	path = temp_file(text, bytes - !last_newline);
	free(text);
	return path;
}

static void check_line(const char *line, unsigned number, size_t length)
{
	char expected[12];

	CHECK(line != NULL);
	CHECK_EQ(strlen(line), length);
	snprintf(expected, sizeof(expected), "%08u", number);
	CHECK(strncmp(line, expected, 8) == 0);
	CHECK_EQ(strspn(line + 8, "."), length - 8);
}

static void check_lines(size_t length, unsigned lines, bool last_newline)
{
	CHECK_EQ(lines_open(file_of(length, lines, last_newline)), 0);
	for (unsigned i = 0; i < lines; i++)
		check_line(lines_next(), i,
			   length < LONGEST ? length : LONGEST);
	check_end();
}

TEST(lines_of_any_length_are_whole_across_the_buffer)
{
	static const size_t lengths[] = {8,    63,   64,   100,  1000,
					 4094, 4095, 4096, 4300, 4350};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		check_lines(lengths[i], 40000 / (unsigned)lengths[i], true);
		check_lines(lengths[i], 40000 / (unsigned)lengths[i], false);
	}
}

TEST(a_longer_line_is_cut_and_its_rest_is_no_line)
{
	static const size_t lengths[] = {LONGEST,     LONGEST + 1, 5000,
					 2 * LONGEST, 17407,       17408,
					 17409,       50000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		check_lines(lengths[i], 5, true);
		check_lines(lengths[i], 5, false);
	}
}

/* The kernel hands out /proc files in pieces; so does a pipe. */
TEST(a_file_that_comes_in_pieces_is_read_on)
{
	char path[64];
	int pipes[2];

	CHECK_EQ(pipe(pipes), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipes[0]);
	CHECK_EQ(write(pipes[1], "on", 2), 2);
	CHECK_EQ(lines_open(path), 0);
	close(pipes[0]);
	CHECK_EQ(write(pipes[1], "e\nt", 3), 3);
	CHECK_STR(lines_next(), "one");
	CHECK_EQ(write(pipes[1], "wo\n", 3), 3);
	close(pipes[1]);
	CHECK_STR(lines_next(), "two");
	check_end();
}

TEST(a_small_file_is_read_up_to_the_room)
{
	char text[6];
	const char *path = temp_file("123456789", 9);

	CHECK_EQ(lines_read_file(path, text, sizeof(text)), 5);
	CHECK_STR(text, "12345");
	path = temp_file("12", 2);
	CHECK_EQ(lines_read_file(path, text, sizeof(text)), 2);
	CHECK_STR(text, "12");
	path = temp_file("", 0);
	CHECK_EQ(lines_read_file(path, text, sizeof(text)), 0);
	CHECK_STR(text, "");
}
