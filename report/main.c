/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spanprof command: finds the command that was typed and runs it.
 * Runs on: the main thread of the spanprof command.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/version.h"
#include "report/commands.h"
#include "report/help.h"
#include "report/message.h"
#include "report/suggest.h"
#include "report/text.h"

#define EXIT_USAGE 2

static const struct command commands[] = {
	{"spans", help_spans, spans_run, "chjnNsw", false},
	{"show", help_show, show_run, "cfhjlnw", true},
	{"top", help_top, top_run, "chjlnNow", false},
};
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int refuse_command(const char *typed)
{
	static const char *const words[] = {"spans",     "show",   "top",
					    "--version", "--help", NULL};
	const char *near = suggest(typed, words);

	if (near)
		message("there is no '%s'; did you mean 'spanprof %s'?", typed,
			near);
	else
		message("there is no '%s'; 'spanprof --help' tells what there "
			"is",
			typed);
	return EXIT_USAGE;
}

/* `spanprof help` and `spanprof help COMMAND`. */
static int help(const char *about)
{
	const struct command *command;

	if (!about) {
		fputs(help_all, stdout);
		return EXIT_SUCCESS;
	}
	command = find_command(about);
	if (!command)
		return refuse_command(about);
	fputs(command->help, stdout);
	return EXIT_SUCCESS;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options;
	int error = options_parse(&options, command, argc, argv);

	if (error == -ECANCELED)
		return EXIT_SUCCESS;
	return error ? EXIT_USAGE : command->run(&options);
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (!word[0]) {
		fputs(help_all, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("spanprof " SPANPROF_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
	    strcmp(word, "help") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (!find_command(word))
		return refuse_command(word);
	return run(find_command(word), argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status;

	text_init();
	/* Keep what one file needed for the next one, or a third of the time
	 * goes into the kernel's clearing of pages. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	status = dispatch(argc, argv);
	/* A full disk must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message("writing the output: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return status;
}
