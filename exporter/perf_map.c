/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads perf maps.
 * Runs on: the exporter's main thread.
 */
#include "exporter/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/array.h"
#include "exporter/clock.h"
#include "exporter/regular_file.h"
#include "exporter/utf8.h"

/* How long a look at the file is good for. */
#define FRESH_NS UINT64_C(50000000)
#define CHUNK_BYTES (256u << 10)
/* Entries behind the sorted ones, newest last: looked through one by one. */
#define UNSORTED_MAX 1024u
/* Entries that a look-up goes through; more lie above one another only in files
 * that were made for it. */
#define STEPS_MAX 256u

struct entry {
	uint64_t start;
	uint64_t end;
	uint32_t name;  /* offset in names */
	uint32_t order; /* in the file */
};

struct perf_map {
	uint32_t pid;
	uint64_t looked_ns;
	/* The file that was read, and up to where. */
	dev_t device;
	ino_t inode;
	uint64_t read_bytes;
	bool is_refused; /* for good: it is too large */
	struct entry *entries;
	uint32_t count;
	uint32_t sorted; /* so many of them, by start */
	size_t capacity;
	uint64_t *reach; /* of each sorted one: the last end up to it */
	char *names;
	size_t names_bytes;
	size_t names_capacity;
};

/* ---- lines ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number, with or without 0x, and the space behind it. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *p = *at;
	unsigned int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	*number = 0;
	for (; p < end && hex_digit(*p) >= 0; p++, digits++)
		*number = *number << 4 | (unsigned int)hex_digit(*p);
	if (digits == 0 || digits > 16 || p == end || *p != ' ')
		return false;
	*at = p + 1;
	return true;
}

static bool make_room(struct perf_map *map)
{
	struct entry *entries =
		array_room(map->entries, &map->capacity, (size_t)map->count + 1,
			   sizeof(*entries));
	char *names;

	if (!entries)
		return false;
	map->entries = entries;
	names = array_room(map->names, &map->names_capacity,
			   map->names_bytes + PERF_MAP_NAME_BYTES + 1, 1);
	if (!names)
		return false;
	map->names = names;
	return map->count < PERF_MAP_ENTRIES_MAX;
}

static void clear(struct perf_map *map)
{
	map->count = map->sorted = 0;
	map->names_bytes = 0;
	map->read_bytes = 0;
}

static void refuse(struct perf_map *map)
{
	clear(map);
	map->is_refused = true;
}

static void take_line(struct perf_map *map, const char *line, const char *end)
{
	uint64_t start, len;
	struct entry *entry;

	if (!take_number(&line, end, &start) ||
	    !take_number(&line, end, &len) || line == end || len == 0 ||
	    start + len < start)
		return;
	if (!make_room(map)) {
		refuse(map);
		return;
	}
	entry = &map->entries[map->count];
	*entry = (struct entry){start, start + len, (uint32_t)map->names_bytes,
				map->count};
	map->count++;
	map->names_bytes +=
		utf8_copy(map->names + map->names_bytes,
			  PERF_MAP_NAME_BYTES + 1, line, (size_t)(end - line)) +
		1;
}

size_t perf_map_take(struct perf_map *map, const char *bytes, size_t len_bytes)
{
	const char *at = bytes, *end = bytes + len_bytes;
	const char *newline;

	while (!map->is_refused &&
	       (newline = memchr(at, '\n', (size_t)(end - at)))) {
		take_line(map, at, newline);
		at = newline + 1;
	}
	return (size_t)(at - bytes);
}

/* ---- the file ---- */

/* The process's number in its own pid namespace, and its users. */
struct status {
	uint32_t inner_pid;
	uint32_t user, effective_user;
};

/* Lines NSpid and Uid of /proc/PID/status. */
static bool read_status(uint32_t pid, struct status *status)
{
	char path[64], line[512];
	bool has_pid = false, has_user = false;
	const char *last;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		last = strrchr(line, '\t');
		if (strncmp(line, "NSpid:", 6) == 0 && last) {
			status->inner_pid = (uint32_t)strtoul(last, NULL, 10);
			has_pid = true;
		}
		/* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers. */
		if (sscanf(line, "Uid: %u %u", &status->user,
			   &status->effective_user) == 2)
			has_user = true;
	}
	fclose(file);
	return has_pid && has_user;
}

/* A descriptor, or a negative errno. */
static int open_file(const struct perf_map *map, struct stat *st)
{
	struct status status;
	char path[64];
	int fd;

	if (!read_status(map->pid, &status))
		return -ESRCH;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", status.inner_pid);
	fd = regular_file_open_in(map->pid, path, true);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 &&
	    (st->st_uid == 0 || st->st_uid == status.user ||
	     st->st_uid == status.effective_user))
		return fd;
	close(fd);
	return -EPERM;
}

static void read_on(struct perf_map *map, int fd)
{
	char *chunk = malloc(CHUNK_BYTES);
	ssize_t got;

	while (chunk && !map->is_refused &&
	       (got = pread(fd, chunk, CHUNK_BYTES, (off_t)map->read_bytes)) >
		       0) {
		size_t used = perf_map_take(map, chunk, (size_t)got);

		/* A line that is longer than the chunk is none. */
		if (used == 0 && (size_t)got == CHUNK_BYTES)
			used = CHUNK_BYTES;
		if (used == 0 || map->is_refused)
			break;
		map->read_bytes += used;
		if (map->read_bytes > PERF_MAP_BYTES_MAX)
			refuse(map);
	}
	free(chunk);
}

/* Another file, or one that became shorter, is read from its beginning. */
static void look(struct perf_map *map)
{
	struct stat st;
	int fd = open_file(map, &st);

	if (fd < 0)
		return;
	if (st.st_dev != map->device || st.st_ino != map->inode ||
	    (uint64_t)st.st_size < map->read_bytes)
		clear(map);
	map->device = st.st_dev;
	map->inode = st.st_ino;
	if ((uint64_t)st.st_size > PERF_MAP_BYTES_MAX)
		refuse(map);
	else if ((uint64_t)st.st_size > map->read_bytes)
		read_on(map, fd);
	close(fd);
}

/* ---- looking up ---- */

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(struct perf_map *map)
{
	uint64_t *reach = reallocarray(map->reach, map->count, sizeof(*reach));

	if (!reach)
		return;
	map->reach = reach;
	qsort(map->entries, map->count, sizeof(*map->entries), by_start);
	for (uint32_t i = 0; i < map->count; i++) {
		reach[i] = map->entries[i].end;
		if (i && reach[i - 1] > reach[i])
			reach[i] = reach[i - 1];
	}
	map->sorted = map->count;
}

static bool holds(const struct entry *entry, uint64_t address)
{
	return address >= entry->start && address < entry->end;
}

static uint32_t count_below(const struct perf_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->sorted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < map->entries[middle].start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static const struct entry *find_sorted(const struct perf_map *map,
				       uint64_t address)
{
	uint32_t i = count_below(map, address);
	const struct entry *found = NULL;

	for (uint32_t n = 0; i > 0 && map->reach[i - 1] > address; n++, i--) {
		const struct entry *entry = &map->entries[i - 1];

		if (n == STEPS_MAX)
			return NULL;
		if (holds(entry, address) &&
		    (!found || entry->order > found->order))
			found = entry;
	}
	return found;
}

static const struct entry *find(const struct perf_map *map, uint64_t address)
{
	for (uint32_t i = map->count; i > map->sorted; i--)
		if (holds(&map->entries[i - 1], address))
			return &map->entries[i - 1];
	return find_sorted(map, address);
}

const char *perf_map_find(struct perf_map *map, uint64_t address)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	const struct entry *entry;

	if (map->is_refused)
		return NULL;
	if (map->pid && now >= map->looked_ns + FRESH_NS) {
		map->looked_ns = now;
		look(map);
	}
	if (map->count - map->sorted > UNSORTED_MAX)
		sort(map);
	entry = find(map, address);
	return entry ? map->names + entry->name : NULL;
}

struct perf_map *perf_map_create(uint32_t pid)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (map)
		map->pid = pid;
	return map;
}

void perf_map_set_process(struct perf_map *map, uint32_t pid)
{
	map->pid = pid;
}

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map->reach);
	free(map->names);
	free(map);
}
