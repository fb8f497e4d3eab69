/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges settings and where data are to go.
 * Runs on: the supervisor.
 */
#include "supervisor/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/config.h"
#include "supervisor/options.h"
#include "supervisor/say.h"

struct judge {
	const struct options *options;
	bool refused;
};

static void judge(void *context, const struct config_warning *warning)
{
	static const char prefix[] = "SPANPROF_";
	struct judge *judge = context;
	const char *name = warning->name;
	char option[32];

	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		name += sizeof(prefix) - 1;
	if (!options_given(judge->options, name)) {
		say("%s=\"%.200s\": %s; using %s", warning->name,
		    warning->value, warning->reason, warning->taken);
		return;
	}
	snprintf(option, sizeof(option), "%s", name);
	for (char *c = option; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
	say_failure("option --%s: \"%.200s\" is %s", option, warning->value,
		    warning->reason);
	judge->refused = true;
}

/* The folder that holds the last part of a path. */
static void parent_of(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		strcpy(path, ".");
	else if (slash == path)
		path[1] = '\0';
	else
		*slash = '\0';
}

static bool can_write(const char *path, int more)
{
	return faccessat(AT_FDCWD, path, W_OK | more, AT_EACCESS) == 0;
}

/* The folder is made with the first file, and what is missing above it, too.
 * Returns 0 or a negative errno. */
static int folder_fault(const char *folder)
{
	char path[CONFIG_PATH_BYTES];
	struct stat file;

	snprintf(path, sizeof(path), "%s", folder);
	while (stat(path, &file) != 0) {
		if (errno != ENOENT || strcmp(path, ".") == 0)
			return -errno;
		parent_of(path);
	}
	if (!S_ISDIR(file.st_mode))
		return -ENOTDIR;
	return can_write(path, X_OK) ? 0 : -errno;
}

static int log_fault(const char *log)
{
	char path[CONFIG_PATH_BYTES];
	struct stat file;

	snprintf(path, sizeof(path), "%s", log);
	if (lstat(path, &file) == 0) {
		if (S_ISLNK(file.st_mode))
			return -ELOOP;
		if (S_ISDIR(file.st_mode))
			return -EISDIR;
		return can_write(path, 0) ? 0 : -errno;
	}
	parent_of(path);
	return can_write(path, X_OK) ? 0 : -errno;
}

/* Returns false when the option is refused. */
static bool check_output(const struct config *config,
			 const struct options *options)
{
	int error = config->output[0] ? folder_fault(config->output) : 0;

	if (!error)
		return true;
	if (!options_given(options, "output")) {
		say("cannot write profiles to %s: %s;", config->output,
		    strerror(-error));
		say("set SPANPROF_OUTPUT to a folder, or SPANPROF_SERVER");
		return true;
	}
	say_failure(
		"option --output: cannot write to %s: %s; name another folder",
		config->output, strerror(-error));
	return false;
}

static bool check_log(const struct config *config,
		      const struct options *options)
{
	int error = config->log[0] ? log_fault(config->log) : 0;

	if (!error)
		return true;
	if (!options_given(options, "log")) {
		say("cannot write the log to %s: %s; set SPANPROF_LOG to a "
		    "plain file",
		    config->log, strerror(-error));
		return true;
	}
	say_failure("option --log: cannot write to %s: %s; name a plain file",
		    config->log, strerror(-error));
	return false;
}

bool settings_read(struct config *config, const struct options *options)
{
	struct judge by = {.options = options};

	config_read(config, environ, judge, &by);
	if (by.refused || !check_output(config, options) ||
	    !check_log(config, options)) {
		say_failure("see: spanprof-run --help");
		return false;
	}
	return true;
}
