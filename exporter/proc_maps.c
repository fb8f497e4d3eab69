/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a list of modules of /proc/PID/maps.
 * Runs on: the exporter's main thread; reading also on the joining thread.
 */
#include "exporter/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/elf_image.h"

/* Before any that a process tells: those count from 1. */
#define LIST_NUMBER 0u

#define AGENT_NAME "/libspanprof.so"

/* One line of proc(5): "start-end perms offset dev inode   path". */
struct mapping {
	uint64_t start, end, offset, inode;
	bool executable;
	const char *path;
	size_t path_bytes; /* without a NUL */
};

struct teller {
	struct address_map *map;
	uint64_t agent_address;
	bool has_agent;
	uint32_t count; /* of modules told */
	/* The module at hand: consecutive mappings of one file. */
	union {
		struct record_module record;
		char room[sizeof(struct record_module) +
			  ADDRESS_MAP_PATH_BYTES];
	};
};

/* Bytes that all texts hold. Written by the joining thread and by the main
 * thread. */
static _Atomic size_t total_bytes;

static ssize_t read_all(int fd, char *to, size_t bytes)
{
	size_t used = 0;
	ssize_t got = 1;

	while (used < bytes && got > 0) {
		got = read(fd, to + used, bytes - used);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			used += (size_t)got;
	}
	return got < 0 ? -errno : (ssize_t)used;
}

/* What was cut in a line loses it. */
static size_t whole_lines(const char *text, size_t len_bytes)
{
	while (len_bytes && text[len_bytes - 1] != '\n')
		len_bytes--;
	return len_bytes;
}

static int keep(struct proc_maps *maps, const char *text, size_t len_bytes)
{
	if (!len_bytes)
		return -ESRCH;
	if (total_bytes + len_bytes > PROC_MAPS_TOTAL_BYTES)
		return -ENOSPC;
	maps->text = strndup(text, len_bytes);
	if (!maps->text)
		return -ENOMEM;
	maps->len_bytes = len_bytes;
	total_bytes += len_bytes;
	return 0;
}

static int read_text(struct proc_maps *maps, int fd)
{
	char *text = malloc(PROC_MAPS_BYTES);
	ssize_t got = text ? read_all(fd, text, PROC_MAPS_BYTES) : -ENOMEM;
	int error = got < 0 ? (int)got
			    : keep(maps, text, whole_lines(text, (size_t)got));

	free(text);
	return error;
}

int proc_maps_read(struct proc_maps *maps, uint32_t pid)
{
	char path[64];
	int error;
	int fd;

	*maps = (struct proc_maps){.text = NULL};
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = read_text(maps, fd);
	close(fd);
	return error;
}

void proc_maps_free(struct proc_maps *maps)
{
	if (maps->text)
		total_bytes -= maps->len_bytes;
	free(maps->text);
	maps->text = NULL;
}

static bool parse(const char *line, size_t len_bytes, struct mapping *map)
{
	char head[128];
	char permissions[8];
	int path_at = 0;
	size_t head_bytes =
		len_bytes < sizeof(head) - 1 ? len_bytes : sizeof(head) - 1;

	memcpy(head, line, head_bytes);
	head[head_bytes] = '\0';
	/* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers. */
	if (sscanf(head,
		   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*x:%*x %" SCNu64
		   " %n",
		   &map->start, &map->end, permissions, &map->offset,
		   &map->inode, &path_at) != 5 ||
	    path_at == 0)
		return false;
	map->executable = strlen(permissions) > 2 && permissions[2] == 'x';
	map->path = line + path_at;
	map->path_bytes = len_bytes - (size_t)path_at;
	return map->path_bytes < ADDRESS_MAP_PATH_BYTES;
}

static bool is_module(const struct mapping *map)
{
	return map->path_bytes > 0 &&
	       (map->inode != 0 ||
		(map->path_bytes == strlen(ELF_IMAGE_VDSO) &&
		 !memcmp(map->path, ELF_IMAGE_VDSO, map->path_bytes)));
}

/* Where the file's code asked to be. */
static void find_load_bias(struct record_module *record,
			   const struct elf_image *image)
{
	const struct module_segment *code = &record->segments[0];

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *s = &image->segments[i];

		if (!s->executable || code->offset < (s->offset & ~4095ull) ||
		    code->offset >= s->offset + s->bytes)
			continue;
		/* Else the kernel would not have mapped it. */
		if ((s->offset - s->vaddr) % 4096 == 0)
			record->load_bias = code->start - code->offset +
					    s->offset - s->vaddr;
		return;
	}
}

/* A file that isn't the one that was mapped tells nothing. */
static void ask_file(struct record_module *record)
{
	struct elf_image image;

	record->load_bias =
		record->segments[0].start - record->segments[0].offset;
	if (elf_image_open(&image, record->path) != 0)
		return;
	if (image.inode == record->inode) {
		find_load_bias(record, &image);
		memcpy(record->build_id, image.build_id, image.build_id_bytes);
		record->build_id_bytes = image.build_id_bytes;
	}
	elf_image_close(&image);
}

static void end_module(struct teller *teller)
{
	struct record_module *record = &teller->record;

	if (record->segment_count == 0)
		return;
	ask_file(record);
	if (address_map_add(teller->map, record) >= 0)
		teller->count++;
	record->segment_count = 0;
}

static void begin_module(struct teller *teller, const struct mapping *map)
{
	struct record_module *record = &teller->record;

	end_module(teller);
	memset(record, 0, sizeof(*record));
	record->list = LIST_NUMBER;
	record->inode = map->inode;
	memcpy(record->path, map->path, map->path_bytes);
	record->path[map->path_bytes] = '\0';
	record->path_bytes = (uint32_t)map->path_bytes + 1;
	record->head.bytes =
		(uint32_t)(sizeof(*record) + record->path_bytes + 7) & ~7u;
}

static bool is_same_module(const struct record_module *record,
			   const struct mapping *map)
{
	return map->offset != 0 && map->inode == record->inode &&
	       map->path_bytes + 1 == record->path_bytes &&
	       !memcmp(map->path, record->path, map->path_bytes);
}

static void see(struct teller *teller, const struct mapping *map)
{
	struct record_module *record = &teller->record;

	if (!is_same_module(record, map))
		begin_module(teller, map);
	if (map->start <= teller->agent_address &&
	    teller->agent_address < map->end)
		teller->has_agent |= strstr(record->path, AGENT_NAME) != NULL;
	if (map->executable && record->segment_count < MODULE_SEGMENTS)
		record->segments[record->segment_count++] =
			(struct module_segment){map->start, map->end,
						map->offset};
}

static void see_all(struct teller *teller, const struct proc_maps *maps)
{
	const char *line = maps->text;

	while (*line) {
		size_t len_bytes = strcspn(line, "\n");
		struct mapping map;

		if (parse(line, len_bytes, &map) && is_module(&map))
			see(teller, &map);
		line += len_bytes + (line[len_bytes] == '\n');
	}
	end_module(teller);
}

int proc_maps_tell(const struct proc_maps *maps, uint64_t agent_address,
		   struct address_map *map)
{
	struct record_modules end = {.head.bytes = sizeof(end),
				     .list = LIST_NUMBER};
	struct teller *teller = calloc(1, sizeof(*teller));
	int result = -ESTALE;

	if (!teller)
		return -ENOMEM;
	teller->map = map;
	teller->agent_address = agent_address;
	see_all(teller, maps);
	end.count = teller->count;
	/* Without its end a list is none. */
	if (teller->has_agent)
		result = address_map_end(map, &end);
	free(teller);
	if (result == 0)
		result = -EINVAL; /* it isn't the map now: one was refused */
	return result < 0 ? result : 0;
}
