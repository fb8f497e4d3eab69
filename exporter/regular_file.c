/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens regular files and nothing else.
 * Runs on: the exporter's main thread.
 */
#include "exporter/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

bool regular_file_is(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Looked at before it is opened, and again afterwards, because the name may
 * stand for another file by then. */
int regular_file_open(const char *path)
{
	struct stat st;
	int fd;

	if (path[0] != '/')
		return -EINVAL;
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = open(path, READ);
	if (fd < 0)
		return -errno;
	if (regular_file_is(fd))
		return fd;
	close(fd);
	return -EINVAL;
}

/* What O_PATH found is looked at without opening it, and is the same file when
 * it is opened. */
static int open_found(int found)
{
	char path[64];
	int fd;

	if (!regular_file_is(found))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, READ);
	return fd < 0 ? -errno : fd;
}

int regular_file_open_in(uint32_t pid, const char *path, bool is_strict)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (is_strict ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root_path[64];
	int root, found, fd;

	snprintf(root_path, sizeof(root_path), "/proc/%u/root", pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	fd = found < 0 ? -errno : open_found(found);
	if (found >= 0)
		close(found);
	close(root);
	return fd;
}
