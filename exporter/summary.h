/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of a run, in a few lines for the person who started it.
 */
#ifndef EXPORTER_SUMMARY_H
#define EXPORTER_SUMMARY_H

struct known_span;
struct output_files;
struct recorder;
struct summary;

/* The supervisor puts "spanprof: " in front of each line; 80 columns in all. */
#define SUMMARY_LINES 12
#define SUMMARY_COLUMNS 70
#define SUMMARY_BYTES 4096

/* NULL when there is no memory; all functions here take that. */
struct summary *summary_create(void);
void summary_destroy(struct summary *summary);

/* A span that has ended, once. */
void summary_add_span(struct summary *summary, const struct known_span *span);

/* A window that is about to be emptied; which files it made, and the negative
 * errno of writing them, or 0. */
void summary_add_window(struct summary *summary,
			const struct recorder *recorder,
			const struct output_files *files, int error);

/* What calls the report: SPANPROF_REPORT of the environment, "spanprof". The
 * folder is named as the user did. Whole lines, ended by NUL. */
void summary_write(const struct summary *summary,
		   const struct recorder *recorder, const char *report,
		   char text[SUMMARY_BYTES]);

#endif
