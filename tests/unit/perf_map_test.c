/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps: of the right process, user and kind, as they grow, and no others.
 * Runs on: the test program's main thread.
 */
#include "exporter/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/compile.h"
#include "tests/lib/unit.h"

static char path[64];
static struct perf_map *map;

static void remove_file(void)
{
	rmdir(path);
	unlink(path);
}

static void begin(void)
{
	if (!path[0])
		atexit(remove_file);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	remove_file();
	perf_map_destroy(map);
	map = perf_map_create((uint32_t)getpid());
	CHECK(map != NULL);
}

static void append(const char *text)
{
	FILE *file = fopen(path, "a");

	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
}

/* After the time for which an earlier look was good. */
static const char *find(uint64_t address)
{
	const struct timespec a_while = {.tv_nsec = 60000000};
	const char *name;

	nanosleep(&a_while, NULL);
	name = perf_map_find(map, address);
	return name ? name : "none";
}

static const char *find_in(const char *text, uint64_t address)
{
	const char *name;

	perf_map_destroy(map);
	map = perf_map_create(0);
	CHECK_EQ(perf_map_take(map, text, strlen(text)), strlen(text));
	name = perf_map_find(map, address);
	return name ? name : "none";
}

TEST(a_name_holds_from_the_first_to_the_last_byte)
{
	CHECK_STR(find_in("100 10 f\n", 0xff), "none");
	CHECK_STR(find_in("100 10 f\n", 0x100), "f");
	CHECK_STR(find_in("100 10 f\n", 0x10f), "f");
	CHECK_STR(find_in("100 10 f\n", 0x110), "none");
	CHECK_STR(find_in("0x100 0x10 f g\n", 0x105), "f g");
}

TEST(what_stands_last_holds_wherever_it_begins)
{
	CHECK_STR(find_in("100 10 f\n100 10 g\n", 0x100), "g");
	CHECK_STR(find_in("100 10 f\n0 1000 g\n", 0x100), "g");
	CHECK_STR(find_in("0 1000 g\n100 10 f\n", 0x100), "f");
	CHECK_STR(find_in("0 1000 g\n100 10 f\n", 0x200), "g");
}

/* More than are looked through one by one. */
TEST(it_does_so_among_many)
{
	char line[64];

	begin();
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int i = 0; i < 3000; i++) {
			int len = snprintf(line, sizeof(line), "%x 10 f%u_%u\n",
					   i * 16, i, round);

			perf_map_take(map, line, (size_t)len);
			if (i % 700 == 0)
				perf_map_find(map, i);
		}
	for (unsigned int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "f%u_2", i);
		CHECK_STR(perf_map_find(map, i * 16 + 15), line);
	}
	CHECK(perf_map_find(map, 3000 * 16) == NULL);
}

TEST(a_file_is_read_on_when_it_grew)
{
	begin();
	CHECK_STR(find(0x100), "none");
	append("100 10 f\n200 10 half");
	CHECK_STR(find(0x100), "f");
	CHECK_STR(find(0x200), "none");
	append(" of it\n100 8 g\n");
	CHECK_STR(find(0x200), "half of it");
	CHECK_STR(find(0x100), "g");
	CHECK_STR(find(0x108), "f");
}

TEST(what_was_read_outlives_the_file)
{
	begin();
	append("100 10 f\n");
	CHECK_STR(find(0x100), "f");
	unlink(path);
	CHECK_STR(find(0x100), "f");
	perf_map_set_process(map, 0);
	append("100 10 another_process\n");
	CHECK_STR(find(0x100), "f");
}

TEST(another_file_of_that_name_begins_afresh)
{
	begin();
	append("100 10 f\n200 10 g\n");
	CHECK_STR(find(0x200), "g");
	unlink(path);
	append("100 10 h\n");
	CHECK_STR(find(0x100), "h");
	CHECK_STR(find(0x200), "none");
}

TEST(links_pipes_and_folders_are_refused)
{
	char target[256];

	begin();
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_STR(find(0x100), "none"); /* and doesn't wait */
	unlink(path);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_STR(find(0x100), "none");
	rmdir(path);
	snprintf(target, sizeof(target), "%s", compile_path("target"));
	append("100 10 f\n");
	CHECK_EQ(rename(path, target), 0);
	CHECK_EQ(symlink(target, path), 0);
	CHECK_STR(find(0x100), "none");
}

TEST(the_file_of_another_user_is_refused)
{
	if (geteuid() != 0)
		unit_skip("needs root to give a file away");
	begin();
	append("100 10 f\n");
	CHECK_EQ(chown(path, 12345, 12345), 0);
	CHECK_STR(find(0x100), "none");
	CHECK_EQ(chown(path, 0, 0), 0);
	CHECK_STR(find(0x100), "f");
}

TEST(a_file_beyond_the_bound_gives_no_names)
{
	begin();
	append("100 10 f\n");
	CHECK_STR(find(0x100), "f");
	CHECK_EQ(truncate(path, 200 << 20), 0);
	CHECK_STR(find(0x100), "none");
	CHECK_EQ(truncate(path, 9), 0);
	CHECK_STR(find(0x100), "none");
}

TEST(names_are_text)
{
	char line[PERF_MAP_NAME_BYTES * 3];
	const char *name;

	CHECK_STR(find_in("1 1 a\tb\xff\n", 1), "a?b?");
	strcpy(line, "1 1 ");
	memset(line + 4, 'x', sizeof(line) - 6);
	strcpy(line + sizeof(line) - 2, "\n");
	name = find_in(line, 1);
	CHECK_EQ(strlen(name), PERF_MAP_NAME_BYTES);
}
