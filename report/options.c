/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the command line of a command.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/mem.h"
#include "report/message.h"
#include "report/suggest.h"
#include "report/text.h"

#define USUAL_WIDTH 80
#define LEAST_WIDTH 60

/* Where recording goes unless it is told otherwise. */
static const char *const usual_inputs[] = {"spanprof.out"};

/* Every option there is; a command knows some of them. */
static const struct option all_options[] = {
	{"color", required_argument, NULL, 'c'},
	{"full", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{"json", no_argument, NULL, 'j'},
	{"limit", required_argument, NULL, 'n'},
	{"lines", no_argument, NULL, 'l'},
	{"name", required_argument, NULL, 'N'},
	{"operations", no_argument, NULL, 'o'},
	{"sort", required_argument, NULL, 's'},
	{"wide", no_argument, NULL, 'w'},
};
#define ALL_OPTIONS (sizeof(all_options) / sizeof(*all_options))

/* Those without a letter for people. */
#define LONG_ONLY "cj"

/* The options of one command, for getopt and for suggestions. */
struct known {
	struct option options[ALL_OPTIONS + 1];
	const char *words[ALL_OPTIONS + 1]; /* with their dashes */
	char word_room[ALL_OPTIONS][16];
	char letters[3 * ALL_OPTIONS];
};

static void select_options(struct known *known, const char *letters)
{
	char *to = known->letters;
	size_t count = 0;

	*known = (struct known){0};
	*to++ = ':'; /* tell a missing value from an unknown option */
	for (size_t i = 0; i < ALL_OPTIONS; i++) {
		const struct option *option = &all_options[i];

		if (!strchr(letters, option->val))
			continue;
		known->options[count] = *option;
		known->words[count] = known->word_room[count];
		snprintf(known->word_room[count], 16, "--%s", option->name);
		count++;
		if (strchr(LONG_ONLY, option->val))
			continue;
		*to++ = (char)option->val;
		if (option->has_arg == required_argument)
			*to++ = ':';
	}
}

/* Says that a word isn't one of those possible. */
static int refuse_word(const char *what, const char *typed,
		       const char *const *words)
{
	const char *near = suggest(typed, words);
	char list[200] = "";

	for (size_t i = 0; words[i]; i++) {
		strncat(list, i ? ", " : "", sizeof(list) - strlen(list) - 1);
		strncat(list, words[i], sizeof(list) - strlen(list) - 1);
	}
	if (near)
		message("unknown %s '%s'; did you mean '%s'?", what, typed,
			near);
	else
		message("unknown %s '%s'; there are: %s", what, typed, list);
	return -EINVAL;
}

/* The place of a word in a NULL-terminated list, or -EINVAL. */
static int find_word(const char *what, const char *typed,
		     const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(typed, words[i]) == 0)
			return i;
	return refuse_word(what, typed, words);
}

static int set_order(struct options *options, const char *typed)
{
	static const char *const words[] = {
		[ORDER_DURATION] = "duration", [ORDER_CPU] = "cpu",
		[ORDER_SAMPLES] = "samples",   [ORDER_START] = "start",
		[ORDER_START + 1] = NULL,
	};
	int order = find_word("order", typed, words);

	options->order = (enum span_order)order;
	return order < 0 ? order : 0;
}

static int set_colour(struct options *options, const char *typed)
{
	static const char *const words[] = {
		[WHEN_AUTO] = "auto",
		[WHEN_ALWAYS] = "always",
		[WHEN_NEVER] = "never",
		[WHEN_NEVER + 1] = NULL,
	};
	int colour = find_word("colour mode", typed, words);

	options->colour = (enum when)colour;
	return colour < 0 ? colour : 0;
}

/* A number of rows; 0 means all. */
static int set_limit(struct options *options, const char *typed)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(typed, &end, 10);
	if (typed[0] < '0' || typed[0] > '9' || *end || errno) {
		message("--limit takes a number of rows (0: all), not '%s'",
			typed);
		return -EINVAL;
	}
	/* One less than "not typed", so that a typed 0 lifts the usual limit
	 * too. */
	options->limit = number ? (size_t)number : OPTIONS_NO_LIMIT - 1;
	return 0;
}

static int apply(struct options *options, int letter, const char *value)
{
	switch (letter) {
	case 'c':
		return set_colour(options, value);
	case 'n':
		return set_limit(options, value);
	case 's':
		return set_order(options, value);
	case 'N':
		options->name = value;
		break;
	case 'f':
		options->full = true;
		break;
	case 'j':
		options->json = true;
		break;
	case 'l':
		options->lines = true;
		break;
	case 'o':
		options->operations = true;
		break;
	case 'w':
		options->wide = true;
		break;
	}
	return 0;
}

/* Says what getopt didn't understand. */
static int refuse_option(const struct known *known, int letter, char **argv)
{
	const char *typed = argv[optind - 1];
	char word[64];

	if (letter == ':') {
		message("'%s' needs a value", typed);
		return -EINVAL;
	}
	if (strncmp(typed, "--", 2) != 0) {
		message("unknown option '-%c'", optopt);
		return -EINVAL;
	}
	if (optopt) {
		message("'%s': this option takes no value", typed);
		return -EINVAL;
	}
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed, "="), typed);
	return refuse_word("option", word, known->words);
}

static int parse_options(struct options *options, const struct command *command,
			 int argc, char **argv)
{
	struct known known;
	int letter, error;

	select_options(&known, command->options);
	opterr = 0;
	optind = 0; /* also resets glibc's state */
	for (;;) {
		letter = getopt_long(argc, argv, known.letters, known.options,
				     NULL);
		if (letter < 0)
			return 0;
		if (letter == 'h') {
			fputs(command->help, stdout);
			return -ECANCELED;
		}
		error = letter == '?' || letter == ':'
				? refuse_option(&known, letter, argv)
				: apply(options, letter, optarg);
		if (error)
			return error;
	}
}

static void take_inputs(struct options *options, int argc, char **argv)
{
	options->inputs = usual_inputs;
	options->input_count = 1;
	if (optind >= argc)
		return;
	options->inputs = (const char *const *)argv + optind;
	options->input_count = (size_t)(argc - optind);
}

int options_parse(struct options *options, const struct command *command,
		  int argc, char **argv)
{
	int error;

	*options = (struct options){.limit = OPTIONS_NO_LIMIT};
	error = parse_options(options, command, argc, argv);
	if (error == -EINVAL)
		message("'spanprof %s --help' tells what there is",
			command->name);
	if (error)
		return error;
	if (command->takes_span && optind >= argc) {
		message("which span? spanprof %s SPAN_ID [DIR]; "
			"'spanprof spans [DIR]' lists them",
			command->name);
		return -EINVAL;
	}
	if (command->takes_span)
		options->span = argv[optind++];
	take_inputs(options, argc, argv);
	return 0;
}

size_t options_limit(const struct options *options, size_t usual)
{
	if (options->limit != OPTIONS_NO_LIMIT)
		return options->limit;
	return options->json ? OPTIONS_NO_LIMIT : usual;
}

/* https://no-color.org: set and not empty. */
static bool wants_colour(enum when when, bool terminal)
{
	const char *never = getenv("NO_COLOR"), *kind = getenv("TERM");

	if (when != WHEN_AUTO)
		return when == WHEN_ALWAYS;
	if (!terminal || (never && never[0]))
		return false;
	return kind && strcmp(kind, "dumb") != 0;
}

struct screen options_screen(const struct options *options)
{
	bool terminal = isatty(STDOUT_FILENO);
	struct screen screen = {USUAL_WIDTH,
				wants_colour(options->colour, terminal)};
	struct winsize size;

	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col)
		screen.width =
			size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
	if (options->wide)
		screen.width = 0;
	return screen;
}

char *options_inputs(const struct options *options)
{
	char *words = mem_copy("", 0);

	for (size_t i = 0; i < options->input_count; i++) {
		char *word = text_quote(options->inputs[i]);
		char *longer = mem_printf("%s%s%s", words, i ? " " : "", word);

		free(words);
		free(word);
		words = longer;
	}
	return words;
}
