/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interns strings.
 * Runs on: the exporter's main thread.
 */
#include "exporter/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->refused = true)
#include <uthash.h>

#include "exporter/array.h"

struct string_entry {
	char *text;
	uint32_t index;
	bool refused;
	UT_hash_handle hh;
};

static bool reserve(struct strings *strings)
{
	char **texts = array_room(strings->texts, &strings->capacity,
				  (size_t)strings->count + 1, sizeof(*texts));

	if (!texts)
		return false;
	strings->texts = texts;
	return true;
}

static struct string_entry *add(struct strings *strings, const char *text)
{
	struct string_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->text = strdup(text);
	entry->index = strings->count;
	if (entry->text && reserve(strings))
		HASH_ADD_KEYPTR(hh, strings->by_text, entry->text,
				strlen(entry->text), entry);
	else
		entry->refused = true;
	if (!entry->refused) {
		strings->texts[strings->count++] = entry->text;
		strings->bytes += strlen(text);
		return entry;
	}
	free(entry->text);
	free(entry);
	return NULL;
}

int strings_init(struct strings *strings)
{
	memset(strings, 0, sizeof(*strings));
	return add(strings, "") ? 0 : -ENOMEM;
}

void strings_fini(struct strings *strings)
{
	struct string_entry *entry;
	struct string_entry *next;

	HASH_ITER (hh, strings->by_text, entry, next) {
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, strings->by_text, entry);
		free(entry->text);
		free(entry);
	}
	free(strings->texts);
	memset(strings, 0, sizeof(*strings));
}

void strings_cut(struct strings *strings, uint32_t count)
{
	while (strings->count > count) {
		const char *text = strings->texts[--strings->count];
		struct string_entry *entry;

		HASH_FIND_STR(strings->by_text, text, entry);
		/* NOLINTNEXTLINE(clang-analyzer-*): can't follow uthash. */
		HASH_DELETE(hh, strings->by_text, entry);
		strings->bytes -= strlen(text);
		free(entry->text);
		free(entry);
	}
}

uint32_t strings_intern(struct strings *strings, const char *text)
{
	struct string_entry *entry;

	HASH_FIND_STR(strings->by_text, text, entry);
	if (!entry)
		entry = add(strings, text);
	return entry ? entry->index : 0;
}
