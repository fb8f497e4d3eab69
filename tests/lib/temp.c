/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps temporary files.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/temp.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static char *top; /* of all that this process made */
static pid_t maker;
static unsigned count;

static int remove_one(const char *path, const struct stat *stat, int type,
		      struct FTW *place)
{
	(void)stat;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

static void remove_all(void)
{
	/* A forked child that ends by exit leaves its parent's files. */
	if (getpid() == maker)
		nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *top_folder(void)
{
	if (top)
		return top;
	top = strdup("/tmp/spanprof-unit-XXXXXX");
	CHECK(top && mkdtemp(top));
	maker = getpid();
	atexit(remove_all);
	return top;
}

#define FOLDERS_MAX 64u

const char *temp_folder(void)
{
	static char paths[FOLDERS_MAX][128];
	static unsigned folders;
	char *path = paths[folders];

	CHECK(++folders < FOLDERS_MAX);
	snprintf(path, sizeof(paths[0]), "%s/folder-%u", top_folder(), ++count);
	CHECK_EQ(mkdir(path, 0755), 0);
	return path;
}

const char *temp_file(const void *bytes, size_t length)
{
	static char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/file-%u", top_folder(), ++count);
	file = fopen(path, "w");
	CHECK(file != NULL);
	CHECK_EQ(fwrite(bytes, 1, length, file), length);
	fclose(file);
	return path;
}
