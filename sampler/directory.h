/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What getdents64(2) fills a buffer with: linux_dirent64, one behind the other.
 */
#ifndef SAMPLER_DIRECTORY_H
#define SAMPLER_DIRECTORY_H

#include <stdint.h>

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes; /* to the next one */
	uint8_t type;
	char name[];
};

#endif
