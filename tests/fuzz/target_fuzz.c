/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a user may ask to run: damaged ELF headers, first lines of
 * scripts.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "supervisor/target.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct target target;
	char path[64];

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	target_look(&target, path);
	if (memchr(target.file, 0, sizeof(target.file)) == NULL ||
	    memchr(target.loader, 0, sizeof(target.loader)) == NULL ||
	    memchr(target.missing, 0, sizeof(target.missing)) == NULL)
		abort();
	target_refuses_preload(&target);
	return 0;
}
