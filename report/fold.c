/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says which requests are the same operation.
 * Runs on: the main thread of the spanprof command.
 */
#include "report/fold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/fold_ids.h"
#include "report/mem.h"

char *fold_path(const char *path)
{
	size_t bytes = FOLD_IDS_BYTES(strlen(path));
	char *folded = mem_zeroed(bytes, 1);

	fold_ids(folded, bytes, path);
	return folded;
}

char *fold_request(const struct fold_names *names)
{
	if (!names->path[0])
		return mem_copy(names->name, strlen(names->name));
	if (!names->method[0])
		return mem_copy(names->path, strlen(names->path));
	return mem_printf("%s %s", names->method, names->path);
}

char *fold_operation(const struct fold_names *names)
{
	/* "HTTP" is the name under an unknown method and without a route. */
	bool has_route = names->name[0] && names->method[0] &&
			 strcmp(names->name, names->method) != 0 &&
			 strcmp(names->name, "HTTP") != 0;
	struct fold_names folded = *names;
	char *path, *operation;

	if (has_route)
		return mem_copy(names->name, strlen(names->name));
	path = fold_path(names->path);
	folded.path = path;
	operation = fold_request(&folded);
	free(path);
	return operation;
}
