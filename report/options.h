/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `spanprof COMMAND`. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/table.h"

enum span_order {
	ORDER_DURATION,
	ORDER_CPU,
	ORDER_SAMPLES,
	ORDER_START
};
enum when {
	WHEN_AUTO,
	WHEN_ALWAYS,
	WHEN_NEVER
};

struct options {
	bool json, wide;
	bool full;             /* show: nothing is cut */
	bool lines;            /* source lines, not functions */
	bool operations;       /* top: operations, not functions */
	enum span_order order; /* spans */
	const char *name;      /* NULL: all spans */
	const char *span;      /* show: as typed */
	size_t limit;          /* rows; OPTIONS_NO_LIMIT unless typed */
	enum when colour;
	/* Folders and files, at least one. Point into argv. */
	const char *const *inputs;
	size_t input_count;
};

#define OPTIONS_NO_LIMIT ((size_t)-1)

/* A command of `spanprof`. */
struct command {
	const char *name;
	const char *help;
	/* Returns the exit status. */
	int (*run)(const struct options *options);
	const char *options; /* getopt letters of those it knows */
	bool takes_span;
};

/*
 * Reads the words after the command's name; argv[0] is that name. -ECANCELED
 * when the help was asked for and printed, -EINVAL when a word is wrong, which
 * was said.
 */
int options_parse(struct options *options, const struct command *command,
		  int argc, char **argv);

/* The limit that was typed, or `usual` for a table and none for JSON. */
size_t options_limit(const struct options *options, size_t usual);

/* The inputs as words for a shell. Free with free(). */
char *options_inputs(const struct options *options);

/* What stdout can take: the terminal's width, else 80 columns. */
struct screen options_screen(const struct options *options);

#endif
