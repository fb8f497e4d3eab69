/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the names of spans.
 * Runs on: the exporter's main thread.
 */
#include "exporter/names.h"

int names_init(struct names *names)
{
	return strings_init(&names->seen);
}

void names_fini(struct names *names)
{
	strings_fini(&names->seen);
}

const char *names_bound(struct names *names, const char *name)
{
	uint32_t known = names->seen.count;
	/* 0 stands for no memory, too. */
	uint32_t index = strings_intern(&names->seen, name);

	if (index > NAMES_MAX)
		strings_cut(&names->seen, known);
	return index == 0 || index > NAMES_MAX ? NAMES_OTHER : name;
}
