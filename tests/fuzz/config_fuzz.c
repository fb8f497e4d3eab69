/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads environments of any bytes: entries are separated by NULs. Whatever they
 * hold, each result lies in its documented range, each string ends, and each
 * refusal is told in full.
 * Runs on: the fuzzer's or the replay program's main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/config.h"
#include "preload/rendezvous.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENTRIES_MAX 64u

static void demand(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}
#define DEMAND(condition) demand((condition) != 0, #condition)

/* A copy of the bytes, cut into entries; the caller frees environment[0], or
 * nothing when there is none. */
static void split(const uint8_t *data, size_t size,
		  char *environment[ENTRIES_MAX + 1])
{
	char *copy = malloc(size + 1);
	size_t count = 0;

	DEMAND(copy);
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (size_t at = 0; at <= size && count < ENTRIES_MAX;) {
		environment[count++] = copy + at;
		at += strlen(copy + at) + 1;
	}
	environment[count] = NULL;
}

static void count_warning(void *context, const struct config_warning *warning)
{
	DEMAND(warning->name && *warning->name);
	DEMAND(warning->value && *warning->value);
	DEMAND(warning->reason && *warning->reason);
	DEMAND(warning->taken);
	++*(unsigned *)context;
}

static void check_text(const char *text, size_t bytes)
{
	DEMAND(memchr(text, '\0', bytes));
}

static void check_ranges(const struct config *config)
{
	DEMAND(config->rate_hz >= 1 && config->rate_hz <= 1000);
	DEMAND(config->interval_ms >= 1000 && config->interval_ms <= 15000);
	DEMAND(config->spans >= CONFIG_SPANS_ROOT &&
	       config->spans <= CONFIG_SPANS_NONE);
	DEMAND(config->log_level >= CONFIG_LOG_ERROR &&
	       config->log_level <= CONFIG_LOG_DEBUG);
	DEMAND(config->output_max_bytes >= 1u << 20);
	check_text(config->output, sizeof(config->output));
	check_text(config->service, sizeof(config->service));
	check_text(config->log, sizeof(config->log));
	DEMAND(config->trace_id >= CONFIG_TRACE_ID_AUTO &&
	       config->trace_id <= CONFIG_TRACE_ID_FALSE);
}

/* The exporter reads what the library has read, and both must agree. */
static void check_same(const struct config *a, const struct config *b)
{
	DEMAND(a->disabled == b->disabled);
	DEMAND(a->rate_hz == b->rate_hz);
	DEMAND(a->interval_ms == b->interval_ms);
	DEMAND(a->spans == b->spans);
	DEMAND(a->trace_id == b->trace_id);
	DEMAND(a->log_level == b->log_level);
	DEMAND(a->output_max_bytes == b->output_max_bytes);
	DEMAND(strcmp(a->output, b->output) == 0);
	DEMAND(strcmp(a->service, b->service) == 0);
	DEMAND(strcmp(a->log, b->log) == 0);
}

static void check_configuration(char *const *environment)
{
	static struct config one;
	static struct config two;
	unsigned warnings = 0;

	memset(&one, 0x5a, sizeof(one));
	memset(&two, 0xa5, sizeof(two));
	config_read(&one, environment, count_warning, &warnings);
	config_read(&two, environment, NULL, NULL);
	check_ranges(&one);
	check_same(&one, &two);
	/* Profiles always have somewhere to go. */
	DEMAND(one.output[0] || config_server(environment));
	DEMAND(warnings <= ENTRIES_MAX);
}

/* Any order gives the same name. */
static void check_name(char **environment)
{
	char one[RENDEZVOUS_NAME_BYTES];
	char two[RENDEZVOUS_NAME_BYTES];
	size_t count = 0;

	if (rendezvous_name(one, environment) != 0)
		return;
	while (environment[count])
		count++;
	for (size_t i = 0; i < count / 2; i++) {
		char *entry = environment[i];

		environment[i] = environment[count - 1 - i];
		environment[count - 1 - i] = entry;
	}
	DEMAND(rendezvous_name(two, environment) == 0);
	check_text(one, sizeof(one));
	DEMAND(strcmp(one, two) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *environment[ENTRIES_MAX + 1];
	char *copy;

	split(data, size, environment);
	copy = environment[0];
	check_configuration(environment);
	check_name(environment);
	free(copy);
	return 0;
}
