/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers lists of modules and finds the module of an address.
 * Runs on: the exporter's main thread.
 */
#include "exporter/address_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/array.h"
#include "exporter/perf_map.h"
#include "exporter/utf8.h"

#define LISTS_PENDING 4u
#define PAGE_BYTES 4096u
/* User space ends here (five-level paging needs a program to ask for more). */
#define ADDRESS_END (UINT64_C(1) << 47)
#define AGENT_NAME "libspanprof.so"
#define DELETED " (deleted)"

struct entry {
	struct module module; /* first, so that one leads to the other */
	bool is_deleted;
	bool is_file_known;
	struct elf_file *file;
	uint64_t inode;
	struct module_segment code; /* the first one */
};

struct segment {
	uint64_t start;
	uint64_t end;
	uint32_t module;
};

struct list {
	uint32_t number;
	uint32_t expected; /* 0: its end hasn't come yet */
	uint32_t count;
	uint32_t segment_count;
	size_t capacity;
	size_t segment_capacity;
	bool is_bad;
	struct entry *entries;
	struct segment *segments;
	size_t bytes;
	uint64_t last_use;
};

struct address_map {
	struct elf_cache *cache;
	struct list current;
	struct list pending[LISTS_PENDING];
	uint32_t generation;
	uint32_t pid;
	struct perf_map *generated; /* made when it is first wanted */
	uint64_t clock;
};

/* Of all maps together. */
static size_t total_bytes;

static void list_free(struct list *list, struct elf_cache *cache)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct entry *e = &list->entries[i];

		if (e->file)
			elf_cache_put(cache, e->file);
		free(e->module.path);
		free((void *)(uintptr_t)e->module.name);
	}
	free(list->entries);
	free(list->segments);
	total_bytes -= list->bytes;
	*list = (struct list){.number = 0};
}

static bool list_may_grow(struct list *list, size_t bytes)
{
	if (list->bytes + bytes > ADDRESS_MAP_LIST_BYTES ||
	    total_bytes + bytes > ADDRESS_MAP_TOTAL_BYTES)
		return false;
	list->bytes += bytes;
	total_bytes += bytes;
	return true;
}

static bool segment_is_sane(const struct module_segment *s)
{
	return s->start < s->end && s->end <= ADDRESS_END &&
	       s->start % PAGE_BYTES == 0;
}

static bool record_is_sane(const struct record_module *record)
{
	if (record->path_bytes < 2 ||
	    record->path_bytes > record->head.bytes - sizeof(*record) ||
	    record->path_bytes > ADDRESS_MAP_PATH_BYTES ||
	    record->path[record->path_bytes - 1] != '\0' ||
	    record->path[0] == '\0' ||
	    record->build_id_bytes > MODULE_BUILD_ID_BYTES ||
	    record->segment_count == 0 ||
	    record->segment_count > MODULE_SEGMENTS ||
	    record->load_bias % PAGE_BYTES != 0)
		return false;
	for (uint32_t i = 0; i < record->segment_count; i++)
		if (!segment_is_sane(&record->segments[i]))
			return false;
	return true;
}

static bool is_agent_name(const char *name)
{
	size_t len = sizeof(AGENT_NAME) - 1;

	return strncmp(name, AGENT_NAME, len) == 0 &&
	       (name[len] == '\0' || name[len] == '.');
}

static char *display_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	size_t capacity = strlen(name) + 1;
	char *copy = malloc(capacity);

	if (copy)
		utf8_copy(copy, capacity, name, capacity - 1);
	return copy;
}

/* The kernel marks the path of a file that is gone. */
static bool strip_deleted(char *path)
{
	size_t len = strlen(path), mark = sizeof(DELETED) - 1;

	if (len <= mark || strcmp(path + len - mark, DELETED) != 0)
		return false;
	path[len - mark] = '\0';
	return true;
}

static int fill_entry(struct entry *e, const struct record_module *record)
{
	*e = (struct entry){.inode = record->inode,
			    .module.build_id_bytes = record->build_id_bytes,
			    .code = record->segments[0]};
	memcpy(e->module.build_id, record->build_id,
	       sizeof(e->module.build_id));
	e->module.path = strdup(record->path);
	if (!e->module.path)
		return -ENOMEM;
	e->is_deleted = strip_deleted(e->module.path);
	e->module.name = display_name(e->module.path);
	if (!e->module.name) {
		free(e->module.path);
		return -ENOMEM;
	}
	e->module.load_bias = record->load_bias;
	e->module.is_agent = is_agent_name(e->module.name);
	return 0;
}

static int add_segments(struct list *list, const struct record_module *record)
{
	for (uint32_t i = 0; i < record->segment_count; i++) {
		struct segment *array = array_room(
			list->segments, &list->segment_capacity,
			(size_t)list->segment_count + 1, sizeof(*array));

		if (!array)
			return -ENOMEM;
		list->segments = array;
		array[list->segment_count++] = (struct segment){
			record->segments[i].start, record->segments[i].end,
			list->count - 1};
	}
	return 0;
}

static int add_entry(struct list *list, const struct record_module *record)
{
	size_t bytes = sizeof(struct entry) + 2 * (size_t)record->path_bytes +
		       record->segment_count * sizeof(struct segment);
	struct entry *array;
	int error;

	if (list->count == ADDRESS_MAP_MODULES || !list_may_grow(list, bytes))
		return -ENOSPC;
	array = array_room(list->entries, &list->capacity,
			   (size_t)list->count + 1, sizeof(*array));
	if (!array)
		return -ENOMEM;
	list->entries = array;
	error = fill_entry(&array[list->count], record);
	if (error)
		return error;
	list->count++;
	return add_segments(list, record);
}

static int compare_segments(const void *left, const void *right)
{
	const struct segment *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

static void sort_segments(struct list *list)
{
	uint32_t kept = 0;

	qsort(list->segments, list->segment_count, sizeof(*list->segments),
	      compare_segments);
	for (uint32_t i = 0; i < list->segment_count; i++)
		if (!kept ||
		    list->segments[i].start >= list->segments[kept - 1].end)
			list->segments[kept++] = list->segments[i];
	list->segment_count = kept;
}

static bool is_same_mapping(const struct entry *a, const struct entry *b)
{
	return a->module.load_bias == b->module.load_bias &&
	       a->code.start == b->code.start && a->inode == b->inode &&
	       a->code.offset == b->code.offset &&
	       a->module.build_id_bytes == b->module.build_id_bytes &&
	       memcmp(a->module.build_id, b->module.build_id,
		      a->module.build_id_bytes) == 0 &&
	       strcmp(a->module.path, b->module.path) == 0;
}

/* Numbers of lists go up and may wrap. */
static bool is_newer(uint32_t number, uint32_t than)
{
	return (int32_t)(number - than) > 0;
}

/* A process that loads a hundred plugins sends as many lists, and most modules
 * of each are those of the one before. */
static void carry_files(struct list *from, struct list *to)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct entry *old = &from->entries[i];

		for (uint32_t j = 0; old->file && j < to->count; j++) {
			struct entry *new = &to->entries[j];

			if (new->file || !is_same_mapping(old, new))
				continue;
			new->file = old->file;
			new->is_file_known = true;
			old->file = NULL;
		}
	}
}

static int swap_if_complete(struct address_map *map, struct list *list)
{
	if (list->is_bad || list->expected == 0 ||
	    list->count != list->expected)
		return 0;
	if (map->generation && !is_newer(list->number, map->current.number)) {
		list_free(list, map->cache);
		return 0;
	}
	carry_files(&map->current, list);
	list_free(&map->current, map->cache);
	map->current = *list;
	*list = (struct list){.number = 0};
	sort_segments(&map->current);
	if (++map->generation == 0)
		map->generation = 1;
	return 1;
}

/* A slot that isn't in use has never been used: last_use is 0. The list that
 * nothing was added to for longest gives way. */
static struct list *pending_list(struct address_map *map, uint32_t number)
{
	struct list *oldest = &map->pending[0];

	for (unsigned int i = 0; i < LISTS_PENDING; i++) {
		struct list *list = &map->pending[i];

		if (list->last_use && list->number == number) {
			oldest = list;
			break;
		}
		if (list->last_use < oldest->last_use)
			oldest = list;
	}
	if (oldest->last_use == 0 || oldest->number != number) {
		list_free(oldest, map->cache);
		oldest->number = number;
	}
	oldest->last_use = ++map->clock;
	return oldest;
}

struct address_map *address_map_create(struct elf_cache *cache)
{
	struct address_map *map = calloc(1, sizeof(*map));

	if (map)
		map->cache = cache;
	return map;
}

void address_map_set_process(struct address_map *map, uint32_t pid)
{
	map->pid = pid;
	if (map->generated)
		perf_map_set_process(map->generated, pid);
}

void address_map_destroy(struct address_map *map)
{
	if (!map)
		return;
	for (unsigned int i = 0; i < LISTS_PENDING; i++)
		list_free(&map->pending[i], map->cache);
	list_free(&map->current, map->cache);
	perf_map_destroy(map->generated);
	free(map);
}

int address_map_add(struct address_map *map, const struct record_module *record)
{
	struct list *list;
	int error;

	if (record->head.bytes < sizeof(*record))
		return -EINVAL;
	list = pending_list(map, record->list);
	error = record_is_sane(record) ? add_entry(list, record) : -EINVAL;
	if (error) {
		list->is_bad = true;
		return error;
	}
	return swap_if_complete(map, list);
}

int address_map_end(struct address_map *map,
		    const struct record_modules *record)
{
	struct list *list;

	if (record->head.bytes < sizeof(*record) || record->count == 0)
		return -EINVAL;
	list = pending_list(map, record->list);
	list->expected = record->count;
	return swap_if_complete(map, list);
}

uint32_t address_map_generation(const struct address_map *map)
{
	return map->generation;
}

const struct module *address_map_find(const struct address_map *map,
				      uint64_t address)
{
	const struct list *list = &map->current;
	uint32_t low = 0, high = list->segment_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < list->segments[middle].start)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || address >= list->segments[low - 1].end)
		return NULL;
	return &list->entries[list->segments[low - 1].module].module;
}

const char *address_map_generated(struct address_map *map, uint64_t address)
{
	if (!map->generated && map->pid)
		map->generated = perf_map_create(map->pid);
	return map->generated ? perf_map_find(map->generated, address) : NULL;
}

static struct elf_file *open_entry(struct address_map *map, struct entry *e)
{
	const struct elf_identity identity = {
		.path = e->module.path,
		.build_id = e->module.build_id,
		.build_id_bytes = e->module.build_id_bytes,
		.inode = e->inode,
		.pid = map->pid,
		.start = e->code.start,
		.end = e->code.end,
		.is_deleted = e->is_deleted,
	};
	struct elf_file *file = elf_cache_get(map->cache, &identity);

	if (!file) {
		e->module.fault = map->cache->fault;
	} else if (!elf_file_maps(file, e->code.start - e->module.load_bias,
				  e->code.offset)) {
		e->module.fault = ELF_FILE_REPLACED;
		map->cache->counts.replaced++;
		elf_cache_put(map->cache, file);
		file = NULL;
	}
	return file;
}

struct elf_file *address_map_file(struct address_map *map,
				  const struct module *module)
{
	struct entry *e =
		&map->current
			 .entries[(const struct entry *)(const void *)module -
				  map->current.entries];

	if (!e->is_file_known) {
		e->is_file_known = true;
		e->file = open_entry(map, e);
	}
	return e->file;
}

bool address_map_is_program(const struct address_map *map,
			    const struct module *module)
{
	const struct list *list = &map->current;

	return list->segment_count &&
	       &list->entries[list->segments[0].module].module == module;
}
