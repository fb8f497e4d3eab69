/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are to be read. In a folder: *.pb.gz (profiles) and
 * *.spans.jsonl.gz (spans), also unpacked, but neither hidden files nor *.tmp,
 * which are still being written. A profile that is named itself brings the
 * spans file beside it.
 */
#ifndef REPORT_INPUTS_H
#define REPORT_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct input_file {
	char *path;
	bool spans; /* a spans file, else a profile */
	dev_t device;
	ino_t inode;
};

struct inputs {
	struct input_file *files; /* each file once, sorted within a folder */
	size_t count, capacity;
	size_t others; /* files in folders that were passed over */
};

/*
 * Adds a folder's files, or a file. Returns 0 or a negative errno, with the
 * reason said. inputs_fini is due in any case.
 */
int inputs_add(struct inputs *inputs, const char *path);
void inputs_fini(struct inputs *inputs);

#endif
