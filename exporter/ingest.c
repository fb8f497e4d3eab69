/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the query of an older push.
 * Runs on: the exporter's uploading thread.
 */
#include "exporter/ingest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS                      \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* RFC 3986 §2.3 */
static const char unreserved[] = LETTERS DIGITS "-._~";

static void put_byte(FILE *to, char byte)
{
	if (byte && strchr(unreserved, byte))
		fputc(byte, to);
	else
		fprintf(to, "%%%02X", (unsigned char)byte);
}

static void put(FILE *to, const char *text)
{
	while (*text)
		put_byte(to, *text++);
}

static void put_if(FILE *to, bool good, char byte)
{
	if (good)
		put_byte(to, byte);
	else
		fputc('_', to);
}

static void put_of(FILE *to, const char *text, const char *allowed)
{
	for (; *text; text++)
		put_if(to, strchr(allowed, *text) != NULL, *text);
}

static void put_without(FILE *to, const char *text, const char *refused)
{
	for (; *text; text++)
		put_if(to, !strchr(refused, *text), *text);
}

static const char *service_of(const struct series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		if (strcmp(series->labels[i].name, "service_name") == 0)
			return series->labels[i].value;
	}
	return "unknown_service";
}

static void put_labels(FILE *to, const struct series *series)
{
	bool first = true;

	for (size_t i = 0; i < series->count; i++) {
		const struct series_label *label = &series->labels[i];

		if (strcmp(label->name, "__name__") == 0)
			continue;
		if (!first)
			put(to, ",");
		first = false;
		put_of(to, label->name, LETTERS DIGITS "_.");
		put(to, "=");
		put_without(to, label->value, ",}");
	}
}

char *ingest_path(const struct series *series, const struct ingest_times *times)
{
	char *path = NULL;
	size_t bytes;
	FILE *to = open_memstream(&path, &bytes);

	if (!to)
		return NULL;
	fputs("/ingest?name=", to);
	put_of(to, service_of(series), LETTERS DIGITS "_./-");
	put(to, "{");
	put_labels(to, series);
	put(to, "}");
	fprintf(to, "&from=%" PRIu64 "&until=%" PRIu64 "&spyName=spanprof",
		times->from_ns, times->until_ns);
	if (fclose(to) == 0)
		return path;
	free(path);
	return NULL;
}
