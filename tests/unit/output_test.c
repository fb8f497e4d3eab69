/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile files: whole or not at all, under names of their own, in a folder
 * that stays small.
 * Runs on: the test program's main thread, and children.
 */
#include "exporter/output.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/lib/crowd.h"
#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

#define START_NS (UINT64_C(1700000000) * 1000000000)
#define STAMP "20231114T221320Z"

static struct output output;

static void begin_in(const char *folder)
{
	memset(&output, 0, sizeof(output));
	output.folder = folder;
	output.service = "shop";
	output.max_bytes = 1 << 30;
}

static const char *begin(void)
{
	const char *folder = temp_folder();

	begin_in(folder);
	return folder;
}

/* Writes these texts; NULL: no such file. */
static int write_texts(const char *profile, const char *spans)
{
	struct output_files files = {
		.start_ns = START_NS,
		.profile = profile,
		.profile_bytes = profile ? strlen(profile) : 0,
		.spans = spans,
		.spans_bytes = spans ? strlen(spans) : 0,
	};

	return output_write(&output, &files);
}

/* A file's text; "(none)" when it is not there. */
static const char *content(const char *folder, const char *name)
{
	static char text[64];
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return "(none)";
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* How many files are in a folder, hidden ones and all. */
static unsigned count_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned count = 0;

	while (dir && (entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 &&
			 strcmp(entry->d_name, "..") != 0;
	if (dir)
		closedir(dir);
	return count;
}

TEST(both_files_bear_service_time_and_number)
{
	const char *folder = begin();

	CHECK_EQ(write_texts("profile", "spans"), 0);
	CHECK_STR(content(folder, "shop-" STAMP "-0001.pb.gz"), "profile");
	CHECK_STR(content(folder, "shop-" STAMP "-0001.spans.jsonl.gz"),
		  "spans");
	CHECK_EQ(count_files(folder), 2);
	CHECK_EQ(output.files_written, 1);
}

TEST(a_window_may_have_one_of_both)
{
	const char *folder = begin();

	CHECK_EQ(write_texts("profile", NULL), 0);
	CHECK_EQ(write_texts(NULL, "spans"), 0);
	CHECK_STR(content(folder, "shop-" STAMP "-0001.pb.gz"), "profile");
	CHECK_STR(content(folder, "shop-" STAMP "-0002.spans.jsonl.gz"),
		  "spans");
	CHECK_EQ(count_files(folder), 2);
}

TEST(the_service_becomes_a_plain_name)
{
	const char *folder = begin();

	output.service = "../a b\xc3\xa4:C.d_e-9";
	CHECK_EQ(write_texts("p", NULL), 0);
	CHECK_STR(content(folder, "_._a_b__:C.d_e-9-" STAMP "-0001.pb.gz"),
		  "(none)");
	CHECK_STR(content(folder, "_.._a_b___C.d_e-9-" STAMP "-0001.pb.gz"),
		  "(none)");
	CHECK_STR(content(folder, "_._a_b___C.d_e-9-" STAMP "-0001.pb.gz"),
		  "p");
}

TEST(a_long_service_still_makes_a_name)
{
	char service[300];
	const char *folder = begin();

	memset(service, 'x', sizeof(service) - 1);
	service[sizeof(service) - 1] = '\0';
	output.service = service;
	CHECK_EQ(write_texts("one", "two"), 0);
	CHECK_EQ(write_texts("one", "two"), 0);
	CHECK_EQ(count_files(folder), 4);
}

TEST(the_folder_is_made_with_the_first_file)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/a/b//c/", temp_folder());
	begin_in(path);
	CHECK(access(path, F_OK) != 0);
	CHECK_EQ(write_texts("p", "s"), 0);
	CHECK_EQ(count_files(path), 2);
}

/* ---- names that are taken ---- */

TEST(a_restarted_exporter_writes_beside_what_is_there)
{
	const char *folder = begin();

	CHECK_EQ(write_texts("one", "two"), 0);
	begin_in(folder);
	CHECK_EQ(write_texts("three", "four"), 0);
	CHECK_STR(content(folder, "shop-" STAMP "-0001.pb.gz"), "one");
	CHECK_STR(content(folder, "shop-" STAMP "-0002.pb.gz"), "three");
	CHECK_EQ(count_files(folder), 4);
}

TEST(spans_without_a_profile_keep_their_name_too)
{
	const char *folder = begin();

	CHECK_EQ(write_texts(NULL, "first"), 0);
	begin_in(folder);
	CHECK_EQ(write_texts("profile", "second"), 0);
	CHECK_STR(content(folder, "shop-" STAMP "-0001.spans.jsonl.gz"),
		  "first");
	CHECK_STR(content(folder, "shop-" STAMP "-0002.spans.jsonl.gz"),
		  "second");
	CHECK_STR(content(folder, "shop-" STAMP "-0002.pb.gz"), "profile");
}

#define WRITERS 4
#define EACH 24

/* As of programs that were started at the same time. Half of the windows have
 * no spans. */
static int write_many(void *number)
{
	char text[16];

	for (int i = 0; i < EACH; i++) {
		int has_spans = (i + *(int *)number) % 2;

		snprintf(text, sizeof(text), "%d-%d", *(int *)number, i);
		if (write_texts(text, has_spans ? text : NULL) != 0)
			return 1;
	}
	return 0;
}

TEST(exporters_that_share_a_folder_overwrite_nothing)
{
	const char *folder = begin();
	pid_t children[WRITERS];
	char name[64];

	for (int i = 0; i < WRITERS; i++)
		children[i] = crowd_fork(write_many, &i);
	for (int i = 0; i < WRITERS; i++)
		CHECK_EQ(crowd_wait(children[i]), 0);
	CHECK_EQ(count_files(folder), WRITERS * EACH * 3 / 2);
	for (int i = 1; i <= WRITERS * EACH; i++) {
		char profile[64];
		const char *spans;

		snprintf(name, sizeof(name), "shop-" STAMP "-%04d.pb.gz", i);
		strcpy(profile, content(folder, name));
		CHECK(strcmp(profile, "(none)") != 0);
		snprintf(name, sizeof(name),
			 "shop-" STAMP "-%04d.spans.jsonl.gz", i);
		spans = content(folder, name);
		CHECK(!strcmp(spans, profile) || !strcmp(spans, "(none)"));
	}
}

/* ---- what can't be written ---- */

TEST(a_folder_that_cannot_be_made_is_an_error)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/x", temp_file("", 0));
	begin_in(path);
	CHECK_EQ(write_texts("p", "s"), -ENOTDIR);
	begin_in(temp_file("", 0));
	CHECK_EQ(write_texts("p", "s"), -ENOTDIR);
	CHECK_EQ(output.files_written, 0);
}

static int write_as_stranger(void *unused)
{
	(void)unused;
	if (setuid(65534) != 0)
		return 2;
	return write_texts("p", "s") != -EACCES;
}

TEST(a_folder_that_is_not_writable_is_an_error)
{
	const char *folder = begin();

	if (geteuid() != 0)
		unit_skip("changing the user needs root");
	CHECK_EQ(chmod(folder, 0555), 0);
	CHECK_EQ(crowd_wait(crowd_fork(write_as_stranger, NULL)), 0);
	CHECK_EQ(count_files(folder), 0);
}

/* The disk is full after some bytes. */
static int write_beyond_limit(void *unused)
{
	struct rlimit limit = {100, 100};
	char text[200];

	(void)unused;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 2;
	if (write_texts("profile", text) != -EFBIG)
		return 3;
	return write_texts(text, "spans") != -EFBIG;
}

/* The spans of a profile that does not fit are whole. */
TEST(no_half_written_file_stays_behind)
{
	const char *folder = begin();

	CHECK_EQ(crowd_wait(crowd_fork(write_beyond_limit, NULL)), 0);
	CHECK_STR(content(folder, "shop-" STAMP "-0002.spans.jsonl.gz"),
		  "spans");
	CHECK_EQ(count_files(folder), 1);
}

/* ---- the bound of the folder ---- */

static void set_age(const char *folder, const char *name, time_t seconds)
{
	char path[512];
	struct timeval times[2] = {{1000000 - seconds, 0},
				   {1000000 - seconds, 0}};

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(utimes(path, times), 0);
}

TEST(the_oldest_files_go_first)
{
	const char *folder = begin();

	output.max_bytes = 40;
	CHECK_EQ(write_texts("0123456789", NULL), 0);
	CHECK_EQ(write_texts("0123456789", NULL), 0);
	CHECK_EQ(write_texts("0123456789", NULL), 0);
	CHECK_EQ(write_texts("0123456789", NULL), 0);
	CHECK_EQ(output.files_removed, 0);
	set_age(folder, "shop-" STAMP "-0002.pb.gz", 900);
	set_age(folder, "shop-" STAMP "-0004.pb.gz", 800);
	CHECK_EQ(write_texts("01234567890123456789", NULL), 0);
	CHECK_EQ(output.files_removed, 2);
	CHECK_STR(content(folder, "shop-" STAMP "-0002.pb.gz"), "(none)");
	CHECK_STR(content(folder, "shop-" STAMP "-0004.pb.gz"), "(none)");
	CHECK_STR(content(folder, "shop-" STAMP "-0001.pb.gz"), "0123456789");
	CHECK_EQ(count_files(folder), 3);
}

TEST(files_of_others_neither_count_nor_go)
{
	const char *folder = begin();
	char path[512];

	snprintf(path, sizeof(path), "%s/notes.txt", folder);
	CHECK_EQ(rename(temp_file("0123456789012345678901234567", 28), path),
		 0);
	set_age(folder, "notes.txt", 999999);
	snprintf(path, sizeof(path), "%s/.hidden.pb.gz", folder);
	CHECK_EQ(rename(temp_file("01234567890", 11), path), 0);
	output.max_bytes = 25;
	CHECK_EQ(write_texts("0123456789", "0123456789"), 0);
	CHECK_EQ(output.files_removed, 0);
	CHECK_EQ(write_texts("0123456789", NULL), 0);
	CHECK_EQ(output.files_removed, 1);
	CHECK_EQ(access(path, F_OK), 0);
	CHECK_EQ(count_files(folder), 4);
}
