/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes profile files and keeps their folder small.
 * Runs on: the exporter's main thread.
 */
#include "exporter/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/log.h"

#define PROFILE_ENDING ".pb.gz"
#define SPANS_ENDING ".spans.jsonl.gz"
#define NAME_BYTES 200 /* without the ending */

/* mkdir -p */
static int make_folder(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", folder);
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

static int write_all(int fd, const void *bytes, size_t length)
{
	const char *from = bytes;

	while (length) {
		ssize_t done = write(fd, from, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		from += done;
		length -= (size_t)done;
	}
	return 0;
}

/* Never over another exporter's file: -EEXIST. Some file systems can't promise
 * that; there the look before must do. */
static int publish(int folder, const char *unfinished, const char *name)
{
	if (renameat2(folder, unfinished, folder, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return renameat(folder, unfinished, folder, name) == 0 ? 0 : -errno;
}

static int write_file(int folder, const char *name, const void *bytes,
		      size_t length)
{
	char unfinished[NAME_MAX + 1];
	int fd;
	int error;

	snprintf(unfinished, sizeof(unfinished), ".%.200s.%d.tmp", name,
		 (int)getpid());
	fd = openat(folder, unfinished,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	error = write_all(fd, bytes, length);
	if (close(fd) != 0 && !error)
		error = -errno;
	if (!error)
		error = publish(folder, unfinished, name);
	if (error)
		unlinkat(folder, unfinished, 0);
	return error;
}

/* The service's name as part of a file name. */
static void plain_name(char *to, size_t to_bytes, const char *from)
{
	size_t i = 0;

	for (; from[i] && i + 1 < to_bytes; i++) {
		bool plain = (from[i] >= 'a' && from[i] <= 'z') ||
			     (from[i] >= 'A' && from[i] <= 'Z') ||
			     (from[i] >= '0' && from[i] <= '9') ||
			     (i && strchr("._-", from[i]));

		to[i] = (char)(plain ? from[i] : '_');
	}
	to[i] = '\0';
}

static bool is_taken(int folder, const char *name, const char *ending)
{
	char file[NAME_MAX + 1];

	snprintf(file, sizeof(file), "%s%s", name, ending);
	return faccessat(folder, file, F_OK, 0) == 0;
}

/* Several exporters may share a folder: the sequence passes by what is
 * there. */
static void new_name(struct output *output, int folder, uint64_t start_ns,
		     char name[NAME_BYTES])
{
	time_t seconds = (time_t)(start_ns / 1000000000);
	char service[128];
	char stamp[32];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	plain_name(service, sizeof(service), output->service);
	do
		snprintf(name, NAME_BYTES, "%s-%s-%04u", service, stamp,
			 ++output->sequence);
	while (is_taken(folder, name, PROFILE_ENDING) ||
	       is_taken(folder, name, SPANS_ENDING));
}

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name);
	size_t tail = strlen(ending);

	return length > tail && strcmp(name + length - tail, ending) == 0;
}

static int is_ours(const struct dirent *entry)
{
	return entry->d_name[0] != '.' &&
	       (ends_with(entry->d_name, PROFILE_ENDING) ||
		ends_with(entry->d_name, SPANS_ENDING));
}

struct old_file {
	struct timespec modified;
	off_t bytes;
	const char *name;
};

static int by_age(const void *left, const void *right)
{
	const struct old_file *a = left;
	const struct old_file *b = right;

	if (a->modified.tv_sec != b->modified.tv_sec)
		return a->modified.tv_sec < b->modified.tv_sec ? -1 : 1;
	if (a->modified.tv_nsec != b->modified.tv_nsec)
		return a->modified.tv_nsec < b->modified.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void remove_oldest(struct output *output, int folder,
			  struct old_file *files, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += (uint64_t)files[i].bytes;
	qsort(files, count, sizeof(*files), by_age);
	for (size_t i = 0; i < count && total > output->max_bytes; i++) {
		total -= (uint64_t)files[i].bytes;
		if (unlinkat(folder, files[i].name, 0) == 0)
			output->files_removed++;
	}
}

static void keep_small(struct output *output, int folder)
{
	struct dirent **entries;
	int count = scandirat(folder, ".", &entries, is_ours, NULL);
	struct old_file *files;
	size_t used = 0;

	if (count <= 0)
		return;
	files = calloc((size_t)count, sizeof(*files));
	for (int i = 0; files && i < count; i++) {
		struct stat file;

		if (fstatat(folder, entries[i]->d_name, &file,
			    AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		files[used].modified = file.st_mtim;
		files[used].bytes = file.st_size;
		files[used++].name = entries[i]->d_name;
	}
	if (files)
		remove_oldest(output, folder, files, used);
	free(files);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

/* The spans first: who sees a profile finds its spans. They go again when
 * another exporter has a profile of that name. */
static int write_named(int folder, const char *name,
		       const struct output_files *files)
{
	char spans[NAME_MAX + 1];
	char profile[NAME_MAX + 1];
	int error = 0;

	snprintf(spans, sizeof(spans), "%s" SPANS_ENDING, name);
	snprintf(profile, sizeof(profile), "%s" PROFILE_ENDING, name);
	if (files->spans)
		error = write_file(folder, spans, files->spans,
				   files->spans_bytes);
	if (error || !files->profile)
		return error;
	error = write_file(folder, profile, files->profile,
			   files->profile_bytes);
	if (error == -EEXIST && files->spans)
		unlinkat(folder, spans, 0);
	return error;
}

/* A name that was free may be taken by now. */
static int write_both(struct output *output, int folder,
		      const struct output_files *files)
{
	char name[NAME_BYTES];
	int error;

	do {
		new_name(output, folder, files->start_ns, name);
		error = write_named(folder, name, files);
	} while (error == -EEXIST);
	return error;
}

int output_write(struct output *output, const struct output_files *files)
{
	int error = make_folder(output->folder);
	int folder;

	if (error)
		return error;
	folder = open(output->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	error = write_both(output, folder, files);
	if (!error) {
		output->files_written++;
		keep_small(output, folder);
	}
	close(folder);
	return error;
}
