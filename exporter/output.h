/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of profile files.
 *
 * Names: SERVICE-YYYYMMDDTHHMMSSZ-SEQ.pb.gz and, beside it, the same with
 * .spans.jsonl.gz. A file is written under a name that begins with a dot and
 * renamed once it is whole. The folder is made with the first file.
 */
#ifndef EXPORTER_OUTPUT_H
#define EXPORTER_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct output {
	const char *folder; /* absolute */
	const char *service;
	uint64_t max_bytes; /* of the folder; the oldest files go first */
	uint32_t sequence;
	uint64_t files_written;
	uint64_t files_removed;
};

/* Two files that belong together. NULL bytes: no such file. */
struct output_files {
	uint64_t start_ns; /* since 1970: the time in their names */
	const void *profile;
	size_t profile_bytes;
	const void *spans;
	size_t spans_bytes;
};

/* Returns 0 or a negative errno; no half-written file stays behind. Files of
 * other exporters are never overwritten. */
int output_write(struct output *output, const struct output_files *files);

#endif
