/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server answers, and what the variables of a push hold. The first byte
 * says which.
 * Runs on: the fuzzer's main thread.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/destination.h"
#include "exporter/ingest.h"
#include "exporter/json.h"
#include "exporter/retry.h"
#include "exporter/series.h"
#include "exporter/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void warn(const char *name, const char *reason)
{
	if (!*name || !*reason)
		abort();
}

static void warn_label(const char *label, const char *reason)
{
	if (strlen(label) > 64 || !*reason)
		abort();
}

static void read_json(const char *text)
{
	static const char *const path[] = {"data", "version", NULL};
	char value[16];

	if (json_text(text, path, value, sizeof(value)))
		server_version_keeps_trace_id(value);
}

/* A query is of the characters that need no escape, and of the escapes. */
static void check_path(const struct series *series)
{
	struct ingest_times times = {1, 2};
	char *path = ingest_path(series, &times);

	for (const char *p = path; p && *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("-._~%/?&=", *p))
			abort();
	}
	free(path);
}

static void read_labels(const char *text)
{
	struct series series = {0};
	struct series_list list = {text, text[0] & 1};

	series_add_list(&series, &list, warn_label);
	check_path(&series);
	series_fini(&series);
}

static void read_destination(const char *text)
{
	struct destination destination;
	char *environment[] = {(char *)(uintptr_t)text, (char[]){"A=b"}, NULL};
	char *copy = strdup(text);

	if (copy && destination_init(&destination, environment, warn) == 0) {
		destination_hide(&destination, copy);
		destination_fini(&destination);
	}
	free(copy);
}

static void read_headers(const char *text)
{
	char server[] = "SPANPROF_SERVER=http://a";
	char *environment[] = {server, (char *)(uintptr_t)text, NULL};
	struct destination destination;

	if (destination_init(&destination, environment, warn) != 0)
		return;
	for (size_t i = 0; i < destination.header_count; i++) {
		if (strpbrk(destination.headers[i], "\r\n"))
			abort();
	}
	destination_fini(&destination);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const char *) = {
		read_json, read_labels, read_destination, read_headers};
	char *text;

	if (size == 0)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] % 5 == 4)
		retry_after_ns(text, 784111777);
	else
		readers[data[0] % 5](text);
	free(text);
	return 0;
}
