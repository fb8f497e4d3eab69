/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of a window as comments of its profile: lines key=value, so
 * that whoever reads the file can judge it.
 */
#ifndef EXPORTER_COMMENTS_H
#define EXPORTER_COMMENTS_H

struct recorder;

#define COMMENTS_LINES 52
#define COMMENT_BYTES 96

struct comments {
	char text[COMMENTS_LINES][COMMENT_BYTES];
	const char *lines[COMMENTS_LINES + 1]; /* ended by NULL */
};

/* Counts since the last call. */
void comments_make(struct comments *comments, struct recorder *recorder);

#endif
