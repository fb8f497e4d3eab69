/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a pprof message that its samples refer to, checked: texts,
 * sample types, mappings, functions, locations.
 */
#ifndef REPORT_PPROF_TABLES_H
#define REPORT_PPROF_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/profile.pb-c.h"
#include "report/arena.h"
#include "report/fault.h"
#include "report/idmap.h"

/* Ids of a table to places in it. Most writers count from 1. */
struct pprof_ids {
	struct idmap places;
	bool counted; /* the id is the place plus 1, `places` is empty */
	size_t count;
};

struct pprof_tables {
	const Perftools__Profiles__Profile *message;
	struct arena *arena; /* for texts that the message lacks */
	bool with_lines;     /* texts of frames are `NAME FILE:LINE` */
	const char **texts;
	size_t text_count;
	size_t count_column, cpu_column; /* in Sample.value */
	struct pprof_ids mappings, functions, locations;
	/* The functions of location i, innermost first, are the text numbers
	 * frames[first_frame[i]] up to frames[first_frame[i + 1]]. */
	uint32_t *frames;
	size_t *first_frame;
};

/* Checks and indexes the tables; errors as profile_read has them.
 * pprof_tables_fini is due after failure too. `texts` stays the caller's. */
int pprof_tables_read(struct pprof_tables *tables, struct fault *fault);
void pprof_tables_fini(struct pprof_tables *tables);

/* The place of the location with this id, or IDMAP_NONE. */
uint32_t pprof_tables_location(const struct pprof_tables *tables, uint64_t id);

/* Whose text is being checked: for the message about a bad one. */
struct pprof_owner {
	const char *kind;
	size_t place; /* from 0 */
};

/* -EBADMSG unless `text` is a text number of the message. */
int pprof_tables_check_text(const struct pprof_tables *tables, int64_t text,
			    struct pprof_owner owner, struct fault *fault);

#endif
