/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the supervisor's arguments.
 * Runs on: the supervisor.
 */
#include "supervisor/options.h"

#include <string.h>
#include <strings.h>

/* Returns how many arguments were taken. */
static int read_option(struct options *options, char **argv)
{
	const char **values[] = {&options->given, &options->report};
	static const char *const names[] = {"--given", "--report"};

	if (strcmp(argv[0], "--exec") == 0)
		return options->in_place = true;
	if (strcmp(argv[0], "--progress") == 0)
		return options->progress = true;
	for (int i = 0; i < 2 && argv[1]; i++) {
		if (strcmp(argv[0], names[i]) != 0)
			continue;
		*values[i] = argv[1];
		return 2;
	}
	return 0;
}

bool options_read(struct options *options, char **argv)
{
	int taken;

	memset(options, 0, sizeof(*options));
	options->given = "";
	options->report = "spanprof";
	while (*argv && (taken = read_option(options, argv)) > 0)
		argv += taken;
	for (int i = 0; i < 3; i++) {
		if (!argv[i])
			return false;
	}
	options->exporter = argv[0];
	options->library = argv[1];
	options->command = argv + 2;
	return true;
}

bool options_given(const struct options *options, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = options->given; (at = strchr(at, '-')); at++) {
		if (strncasecmp(at + 1, name, length) == 0 &&
		    at[1 + length] == '-')
			return true;
	}
	return false;
}
