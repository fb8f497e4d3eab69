/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the map and the completer of a test's own process.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/walked.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/demangle.h"
#include "tests/lib/compile.h"
#include "tests/lib/snapshot.h"
#include "tests/lib/unit.h"

struct walked walked;

void walked_open(void)
{
	walked.map = address_map_create(&walked.cache);
	CHECK_EQ(snapshot_map(walked.map, 1), 1);
	walked.completer = completer_create(walked.map);
	CHECK(walked.completer != NULL);
}

void walked_close(void)
{
	completer_destroy(walked.completer);
	address_map_destroy(walked.map);
	elf_cache_fini(&walked.cache);
	walked.completer = NULL;
	walked.map = NULL;
}

enum complete_result walked_walk(const struct record_sample *sample)
{
	return completer_walk(walked.completer, sample, &walked.stack);
}

const char *walked_name(uint32_t index)
{
	static char name[DEMANGLE_NAME_MAX_BYTES + 1];
	const struct stack_frame *f = &walked.stack.frames[index];
	const struct elf_file *file =
		f->module ? address_map_file(walked.map, f->module) : NULL;
	const char *raw = file ? elf_file_symbol(file, f->vaddr) : NULL;
	char *text = demangle(raw ? raw : "");

	snprintf(name, sizeof(name), "%s", text);
	free(text);
	return name;
}

uint32_t walked_find(const char *name, uint32_t from)
{
	uint32_t i = from;

	while (i < walked.stack.count && strcmp(walked_name(i), name) != 0)
		i++;
	return i;
}

void *walked_library(const char *name, const char *code, const char *flags)
{
	const char *path = compile_library(name, code, flags);

	return path ? dlopen(path, RTLD_LAZY) : NULL;
}
