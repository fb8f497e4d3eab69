/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What spanprof-run tells the supervisor.
 */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>

struct options {
	bool in_place; /* --exec: become the program */
	bool progress; /* --progress */
	const char
		*given; /* --given: options of the command line, "-rate-log-" */
	const char *report; /* --report: how to call the report command */
	const char *exporter;
	const char *library;
	char **command; /* the program and its arguments, ended by NULL */
};

/* Points into `argv`. Returns false when it is not as spanprof-run makes it. */
bool options_read(struct options *options, char **argv);

/* Whether the value of SPANPROF_<NAME> came as option --<name>. */
bool options_given(const struct options *options, const char *name);

#endif
