/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines come from another process, later, or never: when it crashes, is
 * killed, answers nonsense or can't be started, symbols are left, and only the
 * file that was to blame has no lines.
 * Runs on: the test program's main thread.
 */
#include "exporter/debug_info.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/elf_file.h"
#include "tests/lib/compile.h"
#include "tests/lib/unit.h"

#define FRAMES 8
#define ANSWER_MS 60000

#define CODE                                                                 \
	"static inline __attribute__((always_inline)) int inner(int a)\n"    \
	"{ int s = 0; for (int i = 1; i < a; i++) s += a / i; return s; }\n" \
	"int outer(int a)\n"                                                 \
	"{\n"                                                                \
	"	return inner(a + 1);\n"                                            \
	"}\n"

static struct debug_infos infos;
static struct elf_cache cache;
static struct line_frame frames[FRAMES];

static const char *reader_program(void)
{
	static char path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	CHECK(len > 0);
	path[len] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/spanprof-exporter");
	return path;
}

/* A program that runs these commands in the place of the reader. */
static const char *script(const char *commands)
{
	static char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s", compile_path("reader"));
	file = fopen(path, "w");
	CHECK(file != NULL);
	fprintf(file, "#!/bin/sh\n%s\n", commands);
	CHECK_EQ(fchmod(fileno(file), 0755), 0);
	fclose(file);
	return path;
}

static void begin(const char *program)
{
	elf_cache_fini(&cache);
	debug_infos_fini(&infos);
	cache = (struct elf_cache){.debug = &infos};
	debug_infos_init(&infos, program);
}

static struct elf_file *open_library(const char *name)
{
	struct elf_identity identity = {
		.path = compile_library(name, CODE, "-g -Wl,--build-id=sha1")};
	struct elf_image image;
	struct elf_file *file;

	CHECK(identity.path != NULL);
	CHECK_EQ(elf_image_open(&image, identity.path), 0);
	elf_image_close(&image);
	identity.build_id = image.build_id;
	identity.build_id_bytes = image.build_id_bytes;
	file = elf_cache_get(&cache, &identity);
	CHECK(file != NULL && file->debug != NULL);
	return file;
}

/* The loop of inner() is far from the ends of outer(). */
static uint64_t middle_of(const struct elf_file *file)
{
	struct eh_frame_fde fde;
	uint64_t found = 0;

	for (uint32_t i = 0; i < file->frames.entry_count; i++) {
		uint64_t start =
			file->frames.index_vaddr +
			(uint64_t)(int64_t)file->frames.entries[i].start;
		const char *name = elf_file_symbol(file, start);

		if (name && strcmp(name, "outer") == 0 &&
		    eh_frame_find(&file->frames, start, &fde) == 0)
			found = (fde.start + fde.end) / 2;
	}
	CHECK(found != 0);
	return found;
}

static int find(const struct elf_file *file)
{
	return debug_info_find(file->debug, middle_of(file), frames, FRAMES);
}

static int find_settled(const struct elf_file *file)
{
	int count;

	while ((count = find(file)) == -EAGAIN)
		dwarf_client_take(&infos.client, ANSWER_MS);
	return count;
}

static void check_lines(const struct elf_file *file)
{
	CHECK_EQ(find_settled(file), 2);
	CHECK_STR(frames[0].name, "inner");
	CHECK_EQ(frames[0].line, 2);
	CHECK_EQ(frames[0].start_line, 1);
	CHECK_STR(frames[1].name, "outer");
	CHECK_EQ(frames[1].line, 5);
	CHECK_EQ(frames[1].start_line, 3);
}

TEST(lines_come_when_they_were_asked_for)
{
	struct elf_file *file;

	begin(reader_program());
	file = open_library("liblines.so");
	CHECK_EQ(find(file), -EAGAIN);
	check_lines(file);
	CHECK(infos.bytes > 0);
	elf_cache_put(&cache, file);
	elf_cache_fini(&cache);
	CHECK_EQ(infos.bytes, 0);
}

TEST(what_was_read_outlives_the_reader)
{
	struct elf_file *file;

	begin(reader_program());
	file = open_library("libkept.so");
	check_lines(file);
	CHECK_EQ(kill(infos.client.pid, SIGKILL), 0);
	dwarf_client_take(&infos.client, ANSWER_MS);
	CHECK_EQ(infos.client.pid, 0);
	CHECK_EQ(find(file), 2);
	elf_cache_put(&cache, file);
}

TEST(a_reader_that_died_is_started_again_for_other_files)
{
	struct elf_file *first, *second;

	begin(reader_program());
	first = open_library("libfirst.so");
	second = open_library("libsecond.so");
	check_lines(first);
	/* Stopped, so that it dies with a question. */
	CHECK_EQ(kill(infos.client.pid, SIGSTOP), 0);
	CHECK_EQ(find(second), -EAGAIN);
	CHECK_EQ(kill(infos.client.pid, SIGKILL), 0);
	CHECK_EQ(find_settled(second), 0);
	CHECK_EQ(infos.client.deaths, 1);
	CHECK_EQ(infos.unusable, 1);
	elf_cache_put(&cache, first);
	elf_cache_put(&cache, second);
	first = open_library("libthird.so");
	check_lines(first);
	elf_cache_put(&cache, first);
}

TEST(a_file_that_kills_the_reader_has_symbols)
{
	struct elf_file *file;

	begin(script("head -c 1 <&3 >/dev/null; kill -SEGV $$"));
	file = open_library("libkiller.so");
	CHECK_EQ(find_settled(file), 0);
	CHECK_EQ(infos.client.deaths, 1);
	CHECK_EQ(find(file), 0);
	CHECK_EQ(infos.client.pid, 0); /* and isn't asked about again */
	CHECK_STR(elf_file_symbol(file, middle_of(file)), "outer");
	elf_cache_put(&cache, file);
}

TEST(after_many_deaths_nothing_is_asked)
{
	begin(script("exit 3"));
	for (unsigned int i = 0; i < DWARF_CLIENT_DEATHS_MAX + 3; i++) {
		char name[32];
		struct elf_file *file;

		snprintf(name, sizeof(name), "libdeadly%u.so", i);
		file = open_library(name);
		CHECK_EQ(find_settled(file), 0);
		elf_cache_put(&cache, file);
	}
	CHECK_EQ(infos.client.deaths, DWARF_CLIENT_DEATHS_MAX);
}

TEST(a_reader_that_can_not_be_started_is_done_without)
{
	struct elf_file *file;

	begin("/nonexistent");
	file = open_library("libnone.so");
	CHECK_EQ(find(file), 0);
	elf_cache_put(&cache, file);
	begin(NULL);
	file = open_library("libnone.so");
	CHECK_EQ(find(file), 0);
	elf_cache_put(&cache, file);
}

TEST(files_are_open_while_they_are_used)
{
	struct elf_file *file;

	begin(reader_program());
	file = open_library("libused.so");
	CHECK(debug_info_is_open(file->debug));
	elf_cache_put(&cache, file);
	CHECK(!debug_info_is_open(file->debug));
	CHECK_EQ(find(file), 0);
	file = open_library("libused.so");
	CHECK(debug_info_is_open(file->debug));
	check_lines(file);
	elf_cache_put(&cache, file);
}

TEST(the_end_waits_for_no_reader)
{
	struct elf_file *file;

	begin(script("while :; do sleep 1; done"));
	file = open_library("libwaiting.so");
	CHECK_EQ(find(file), -EAGAIN);
	CHECK(!dwarf_client_take(&infos.client, 10));
	elf_cache_put(&cache, file);
	begin(NULL);
}
