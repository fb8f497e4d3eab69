/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds requests up by their kind.
 * Runs on: the exporter's main thread.
 */
#include "exporter/operations.h"

#include <stdio.h>
#include <string.h>

#include "exporter/fold_ids.h"

static void name_operation(char name[OPERATION_NAME_BYTES],
			   const struct known_span *span)
{
	char path[FOLD_IDS_BYTES(SPAN_PATH_BYTES)];

	fold_ids(path, sizeof(path), span->path);
	snprintf(name, OPERATION_NAME_BYTES, "%s%s%.79s", span->method,
		 span->method[0] && path[0] ? " " : "", path);
	if (!name[0])
		strcpy(name, "(no name)");
	for (char *c = name; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

static struct operation *find(struct operations *operations, const char *name)
{
	struct operation *operation = operations->all;
	const struct operation *end = operation + operations->count;

	for (; operation < end; operation++) {
		if (strcmp(operation->name, name) == 0)
			return operation;
	}
	if (operations->count > OPERATIONS_MAX)
		return &operations->all[OPERATIONS_MAX];
	if (operations->count == OPERATIONS_MAX)
		name = OPERATIONS_OTHER;
	snprintf(operation->name, OPERATION_NAME_BYTES, "%s", name);
	operations->count++;
	return operation;
}

void operations_add(struct operations *operations,
		    const struct known_span *span)
{
	char name[OPERATION_NAME_BYTES];
	struct operation *operation;

	name_operation(name, span);
	operation = find(operations, name);
	if (__builtin_add_overflow(operation->cpu_ns, span->cpu_ns,
				   &operation->cpu_ns))
		operation->cpu_ns = UINT64_MAX;
	histogram_add(&operation->durations, span->end_ns - span->start_ns);
}

uint32_t operations_dearest(const struct operations *operations,
			    const struct operation **dearest, uint32_t wanted)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < operations->count; i++) {
		const struct operation *next = &operations->all[i];
		uint32_t at = count < wanted ? count++ : wanted;

		/* Sinks to its place; the last one falls out. */
		for (; at > 0 && dearest[at - 1]->cpu_ns < next->cpu_ns; at--) {
			if (at < wanted)
				dearest[at] = dearest[at - 1];
		}
		if (at < wanted)
			dearest[at] = next;
	}
	return count;
}
