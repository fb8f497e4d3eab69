/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the labels of a series.
 * Runs on: the exporter's main thread.
 */
#include "exporter/series.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/utf8.h"

/* utf8_copy replaces what is no UTF-8 and what controls a terminal; a text that
 * it leaves alone is clean. */
static bool is_clean(const char *text, size_t most_bytes)
{
	char copy[SERIES_VALUE_MAX_BYTES + 1];
	size_t bytes = strlen(text);

	return bytes <= most_bytes &&
	       utf8_copy(copy, sizeof(copy), text, bytes) == bytes &&
	       strcmp(copy, text) == 0;
}

static bool is_there(const struct series *series, const char *name)
{
	for (size_t i = 0; i < series->count; i++) {
		if (strcmp(series->labels[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Labels of samples become labels of the series, and those that begin so are
 * the server's. */
static bool is_reserved(const char *name)
{
	static const char *const names[] = {"span_id", "trace_id", "span_name",
					    "profile_id", "pid"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return strncmp(name, "__", 2) == 0;
}

static const char *add_part(struct series *series, char *part, bool colon)
{
	char *value = strpbrk(part, colon ? "=:" : "=");

	if (!value)
		return colon ? "no NAME=VALUE or NAME:VALUE" : "no NAME=VALUE";
	*value++ = '\0';
	if (is_reserved(part))
		return "the name has a meaning of its own";
	return series_add(series, part, value);
}

void series_fini(struct series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		free(series->labels[i].name);
		free(series->labels[i].value);
	}
	memset(series, 0, sizeof(*series));
}

const char *series_add(struct series *series, const char *name,
		       const char *value)
{
	struct series_label label;

	if (!*name)
		return "the name is empty";
	if (!*value)
		return "the value is empty";
	if (!is_clean(name, SERIES_NAME_MAX_BYTES))
		return "the name is not UTF-8 of at most 1024 bytes";
	if (!is_clean(value, SERIES_VALUE_MAX_BYTES))
		return "the value is not UTF-8 of at most 2048 bytes";
	if (is_there(series, name))
		return "the name is taken";
	if (series->count == SERIES_LABELS_MAX)
		return "more than 30 labels";
	label.name = strdup(name);
	label.value = strdup(value);
	if (label.name && label.value) {
		series->labels[series->count++] = label;
		return NULL;
	}
	free(label.name);
	free(label.value);
	return "no memory";
}

void series_add_list(struct series *series, const struct series_list *list,
		     series_warn *warn)
{
	char *copy = strdup(list->text);
	char *rest = copy;
	char *part;

	while (rest && (part = strsep(&rest, ","))) {
		char shown[64];
		const char *fault;

		part += strspn(part, " ");
		if (!*part)
			continue;
		utf8_copy(shown, sizeof(shown), part, strlen(part));
		fault = add_part(series, part, list->colon);
		if (fault)
			warn(shown, fault);
	}
	free(copy);
}
