/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that are to be read.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/mem.h"
#include "report/message.h"

#define SPANS_ENDING ".spans.jsonl"

enum kind {
	KIND_OTHER,
	KIND_PROFILE,
	KIND_SPANS
};

/* Takes `ending` off the end of `length` bytes of `name`, if it is there. */
static bool strip(const char *name, size_t *length, const char *ending)
{
	size_t bytes = strlen(ending);

	if (*length <= bytes ||
	    memcmp(name + *length - bytes, ending, bytes) != 0)
		return false;
	*length -= bytes;
	return true;
}

static enum kind kind_of(const char *name)
{
	size_t length = strlen(name);

	if (name[0] == '.')
		return KIND_OTHER;
	strip(name, &length, ".gz");
	if (strip(name, &length, SPANS_ENDING))
		return KIND_SPANS;
	return strip(name, &length, ".pb") ? KIND_PROFILE : KIND_OTHER;
}

static bool has_file(const struct inputs *inputs, const struct stat *status)
{
	for (size_t i = 0; i < inputs->count; i++)
		if (inputs->files[i].device == status->st_dev &&
		    inputs->files[i].inode == status->st_ino)
			return true;
	return false;
}

/* Adds one file unless it is there already. Takes over `path`. */
static void add_file(struct inputs *inputs, char *path, bool spans,
		     const struct stat *status)
{
	if (has_file(inputs, status)) {
		free(path);
		return;
	}
	inputs->files = mem_room(inputs->files, &inputs->capacity,
				 inputs->count + 1, sizeof(*inputs->files));
	inputs->files[inputs->count++] = (struct input_file){
		path, spans, status->st_dev, status->st_ino};
}

/* Adds a file of a folder. One that has just been removed is no error: the
 * oldest go when the folder is full. */
static void add_entry(struct inputs *inputs, const char *folder,
		      const char *name)
{
	enum kind kind = kind_of(name);
	struct stat status;
	char *path;

	if (kind == KIND_OTHER) {
		inputs->others += name[0] != '.';
		return;
	}
	path = mem_printf("%s/%s", folder, name);
	if (stat(path, &status) == 0)
		add_file(inputs, path, kind == KIND_SPANS, &status);
	else
		free(path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(struct inputs *inputs, const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, by_name);

	if (count < 0) {
		int error = errno;

		message("%s: the folder can't be read: %s", path,
			strerror(error));
		return -error;
	}
	for (int i = 0; i < count; i++) {
		add_entry(inputs, path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

/* The spans of the window of a profile, if they are there. */
static void add_companion(struct inputs *inputs, const char *path)
{
	size_t length = strlen(path);
	struct stat status;
	bool packed = strip(path, &length, ".gz");
	char *spans;

	if (!strip(path, &length, ".pb"))
		return;
	spans = mem_printf("%.*s" SPANS_ENDING "%s", (int)length, path,
			   packed ? ".gz" : "");
	if (stat(spans, &status) == 0)
		add_file(inputs, spans, true, &status);
	else
		free(spans);
}

static int refuse(const char *path, int error)
{
	if (error == ENOENT)
		message("%s: there is no such folder or file. Either nothing "
			"was recorded yet: record with 'spanprof-run PROGRAM'; "
			"or it went elsewhere (SPANPROF_OUTPUT): name that "
			"folder",
			path);
	else
		message("%s: %s", path, strerror(error));
	return -error;
}

int inputs_add(struct inputs *inputs, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	bool spans;

	if (stat(path, &status) < 0)
		return refuse(path, errno);
	if (S_ISDIR(status.st_mode))
		return add_folder(inputs, path);
	spans = kind_of(slash ? slash + 1 : path) == KIND_SPANS;
	add_file(inputs, mem_copy(path, strlen(path)), spans, &status);
	if (!spans)
		add_companion(inputs, path);
	return 0;
}

void inputs_fini(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++)
		free(inputs->files[i].path);
	free(inputs->files);
	*inputs = (struct inputs){0};
}
