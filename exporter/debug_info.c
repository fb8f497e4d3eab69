/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers the debug information of files, unit by unit.
 * Runs on: the exporter's main thread.
 */
#include "exporter/debug_info.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum state {
	NOT_ASKED,
	ASKED,
	KNOWN,
	UNUSABLE, /* for good */
};

struct debug_unit {
	uint64_t offset;
	enum state state;
	struct debug_info *info;
	struct line_index *index;
	size_t bytes;
	uint64_t last_use;
	LIST_ENTRY(debug_unit) link; /* while it is KNOWN */
};

struct debug_info {
	struct debug_infos *infos;
	int fds[2];
	uint32_t number;
	enum state state;                /* of the units' list */
	struct dwarf_unit_range *ranges; /* .unit: index in `units` */
	uint32_t range_count;
	struct debug_unit *units; /* by offset */
	uint32_t unit_count;
};

static void close_both(int fds[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* ---- indexes ---- */

static void drop_index(struct debug_unit *unit)
{
	struct debug_infos *infos = unit->info->infos;

	if (unit->state != KNOWN)
		return;
	LIST_REMOVE(unit, link);
	infos->bytes -= unit->bytes;
	free(unit->index);
	unit->index = NULL;
	unit->state = NOT_ASKED;
}

static struct debug_unit *oldest_unit(struct debug_infos *infos)
{
	struct debug_unit *oldest = NULL, *unit;

	LIST_FOREACH(unit, &infos->units, link)
	if (!oldest || unit->last_use < oldest->last_use)
		oldest = unit;
	return oldest;
}

static void make_room(struct debug_infos *infos, size_t bytes)
{
	struct debug_unit *oldest;

	while (infos->bytes + bytes > DEBUG_INFO_BYTES_MAX &&
	       (oldest = oldest_unit(infos))) {
		drop_index(oldest);
		infos->dropped++;
	}
}

static void take_index(struct debug_unit *unit, void *bytes, size_t len_bytes)
{
	struct debug_infos *infos = unit->info->infos;

	if (!line_index_check(bytes, len_bytes)) {
		free(bytes);
		unit->state = UNUSABLE;
		infos->unusable++;
		return;
	}
	make_room(infos, len_bytes);
	unit->index = bytes;
	unit->bytes = len_bytes;
	unit->state = KNOWN;
	infos->bytes += len_bytes;
	infos->indexes++;
	unit->last_use = ++infos->clock;
	LIST_INSERT_HEAD(&infos->units, unit, link);
}

/* ---- the list of units ---- */

static int by_offset(const void *left, const void *right)
{
	const struct debug_unit *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool ranges_are_sane(const struct dwarf_unit_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].start >= ranges[i].end ||
		    (i && ranges[i].start < ranges[i - 1].end))
			return false;
	return true;
}

static void fill_units(struct debug_info *info)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < info->range_count; i++)
		info->units[i] = (struct debug_unit){
			.offset = info->ranges[i].unit, .info = info};
	qsort(info->units, info->range_count, sizeof(*info->units), by_offset);
	for (uint32_t i = 0; i < info->range_count; i++)
		if (!kept ||
		    info->units[i].offset != info->units[kept - 1].offset)
			info->units[kept++] = info->units[i];
	info->unit_count = kept;
}

static bool take_ranges(struct debug_info *info, void *bytes, size_t len_bytes)
{
	size_t count = len_bytes / sizeof(*info->ranges);

	if (len_bytes % sizeof(*info->ranges) || count == 0 ||
	    count > DWARF_RANGES_MAX || !ranges_are_sane(bytes, count))
		return false;
	info->units = calloc(count, sizeof(*info->units));
	if (!info->units)
		return false;
	info->ranges = bytes;
	info->range_count = (uint32_t)count;
	fill_units(info);
	for (uint32_t i = 0; i < info->range_count; i++) {
		struct debug_unit key = {.offset = info->ranges[i].unit};
		struct debug_unit *unit =
			bsearch(&key, info->units, info->unit_count,
				sizeof(key), by_offset);

		info->ranges[i].unit = (uint64_t)(unit - info->units);
	}
	return true;
}

/* ---- questions and answers ---- */

static struct debug_unit *unit_at(struct debug_info *info, uint64_t offset)
{
	struct debug_unit key = {.offset = offset};

	return bsearch(&key, info->units, info->unit_count, sizeof(key),
		       by_offset);
}

static void fail(struct debug_info *info, enum state *state, int error)
{
	*state = error == -EAGAIN ? NOT_ASKED : UNUSABLE;
	if (error == -EFAULT)
		info->state = UNUSABLE;
	if (error != -EAGAIN && error != -ENODATA)
		info->infos->unusable++;
}

static void answered_units(void *asker, const struct dwarf_request *request,
			   int error, void *bytes, size_t len_bytes)
{
	struct debug_info *info = asker;

	(void)request;
	if (error) {
		fail(info, &info->state, error);
	} else if (take_ranges(info, bytes, len_bytes)) {
		info->state = KNOWN;
	} else {
		free(bytes);
		info->state = UNUSABLE;
	}
}

static void answered_index(void *asker, const struct dwarf_request *request,
			   int error, void *bytes, size_t len_bytes)
{
	struct debug_info *info = asker;
	struct debug_unit *unit = unit_at(info, request->unit);

	if (error)
		fail(info, &unit->state, error);
	else
		take_index(unit, bytes, len_bytes);
}

static int ask(struct debug_info *info, enum state *state,
	       const struct dwarf_asked *question)
{
	int error = -ENOENT;

	if (*state == ASKED)
		return -EAGAIN;
	if (*state == NOT_ASKED && info->fds[0] >= 0)
		error = dwarf_client_ask(&info->infos->client, question,
					 info->fds);
	if (!error)
		*state = ASKED;
	return error == 0 || error == -EAGAIN ? -EAGAIN : 0;
}

static int ask_units(struct debug_info *info)
{
	const struct dwarf_asked question = {
		{DWARF_UNITS, info->number, 0}, info, answered_units};

	return ask(info, &info->state, &question);
}

static int ask_index(struct debug_info *info, struct debug_unit *unit)
{
	const struct dwarf_asked question = {
		{DWARF_INDEX, info->number, unit->offset},
		info,
		answered_index};

	return ask(info, &unit->state, &question);
}

static struct debug_unit *find_unit(struct debug_info *info, uint64_t vaddr)
{
	uint32_t low = 0, high = info->range_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (vaddr < info->ranges[middle].start)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || vaddr >= info->ranges[low - 1].end)
		return NULL;
	return &info->units[info->ranges[low - 1].unit];
}

int debug_info_find(struct debug_info *info, uint64_t vaddr,
		    struct line_frame *frames, uint32_t capacity)
{
	struct debug_unit *unit;

	if (info->state != KNOWN)
		return ask_units(info);
	unit = find_unit(info, vaddr);
	if (!unit)
		return 0;
	if (unit->state != KNOWN)
		return ask_index(info, unit);
	unit->last_use = ++info->infos->clock;
	return (int)line_index_find(unit->index, vaddr, frames, capacity);
}

/* ---- life ---- */

void debug_infos_init(struct debug_infos *infos, const char *program)
{
	*infos = (struct debug_infos){.client.program = program};
	LIST_INIT(&infos->units);
}

void debug_infos_fini(struct debug_infos *infos)
{
	dwarf_client_fini(&infos->client);
}

struct debug_info *debug_info_create(struct debug_infos *infos,
				     const int fds[2])
{
	struct debug_info *info = calloc(1, sizeof(*info));

	if (!info) {
		int unwanted[2] = {fds[0], fds[1]};

		close_both(unwanted);
		return NULL;
	}
	info->infos = infos;
	info->fds[0] = info->fds[1] = -1;
	debug_info_reopen(info, fds);
	return info;
}

void debug_info_reopen(struct debug_info *info, const int fds[2])
{
	close_both(info->fds);
	info->fds[0] = fds[0];
	info->fds[1] = fds[1];
	info->number = dwarf_client_number(&info->infos->client);
}

void debug_info_close(struct debug_info *info)
{
	close_both(info->fds);
}

bool debug_info_is_open(const struct debug_info *info)
{
	return info->fds[0] >= 0;
}

void debug_info_destroy(struct debug_info *info)
{
	if (!info)
		return;
	dwarf_client_forget(&info->infos->client, info);
	for (uint32_t i = 0; i < info->unit_count; i++)
		drop_index(&info->units[i]);
	close_both(info->fds);
	free(info->ranges);
	free(info->units);
	free(info);
}
