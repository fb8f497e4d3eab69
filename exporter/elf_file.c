/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwind information and symbols of ELF files, in bounds.
 * Runs on: the exporter's main thread.
 */
#include "exporter/elf_file.h"

#include <stdlib.h>
#include <string.h>

static bool has_build_id(const struct elf_image *image,
			 const struct elf_identity *identity)
{
	return image->build_id_bytes == identity->build_id_bytes &&
	       memcmp(image->build_id, identity->build_id,
		      image->build_id_bytes) == 0;
}

static bool is_same(const struct elf_image *image,
		    const struct elf_identity *identity)
{
	if (identity->build_id_bytes)
		return has_build_id(image, identity);
	return image->inode == identity->inode;
}

static void destroy(struct elf_file *file)
{
	eh_frame_free(&file->frames);
	symbols_destroy(file->symbols);
	free(file->path);
	free(file);
}

static void load(struct elf_file *file, struct elf_cache_counts *counts)
{
	if (eh_frame_load(&file->frames, &file->image))
		counts->without_frames++;
	file->symbols = symbols_load(&file->image);
	if (!file->symbols)
		counts->without_symbols++;
	file->bytes = sizeof(*file) + file->frames.len_bytes +
		      file->frames.entry_count * sizeof(struct eh_frame_entry) +
		      symbols_bytes(file->symbols);
	counts->read++;
}

static struct elf_file *read_file(const struct elf_identity *identity,
				  struct elf_cache_counts *counts)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->path = strdup(identity->path);
	if (!file->path || elf_image_open(&file->image, identity->path)) {
		counts->unreadable++;
		destroy(file);
		return NULL;
	}
	if (!is_same(&file->image, identity)) {
		counts->replaced++;
		elf_image_close(&file->image);
		destroy(file);
		return NULL;
	}
	load(file, counts);
	elf_image_close(&file->image);
	return file;
}

static struct elf_file **find(struct elf_cache *cache,
			      const struct elf_identity *identity)
{
	struct elf_file **link = &cache->files;

	while (*link && (strcmp((*link)->path, identity->path) != 0 ||
			 !is_same(&(*link)->image, identity)))
		link = &(*link)->next;
	return link;
}

static bool is_full(const struct elf_cache *cache)
{
	return cache->count >= ELF_CACHE_FILES ||
	       cache->bytes >= ELF_CACHE_BYTES;
}

static void forget(struct elf_cache *cache, struct elf_file **link)
{
	struct elf_file *file = *link;

	*link = file->next;
	cache->count--;
	cache->bytes -= file->bytes;
	destroy(file);
}

static void make_room(struct elf_cache *cache)
{
	while (is_full(cache)) {
		struct elf_file **oldest = NULL;

		for (struct elf_file **link = &cache->files; *link;
		     link = &(*link)->next)
			if ((*link)->users == 0 &&
			    (!oldest ||
			     (*link)->last_use < (*oldest)->last_use))
				oldest = link;
		if (!oldest)
			return;
		forget(cache, oldest);
	}
}

static struct elf_file *add(struct elf_cache *cache,
			    const struct elf_identity *identity)
{
	struct elf_file *file;

	make_room(cache);
	if (is_full(cache)) {
		cache->counts.no_room++;
		return NULL;
	}
	file = read_file(identity, &cache->counts);
	if (!file)
		return NULL;
	file->next = cache->files;
	cache->files = file;
	cache->count++;
	cache->bytes += file->bytes;
	return file;
}

struct elf_file *elf_cache_get(struct elf_cache *cache,
			       const struct elf_identity *identity)
{
	struct elf_file **link = find(cache, identity);
	struct elf_file *file = *link;

	/* Without a build id a file may have been written over in place. */
	if (file && file->users == 0 && identity->build_id_bytes == 0) {
		forget(cache, link);
		file = NULL;
	}
	if (!file)
		file = add(cache, identity);
	if (file)
		file->users++;
	return file;
}

void elf_cache_put(struct elf_cache *cache, struct elf_file *file)
{
	file->users--;
	file->last_use = ++cache->clock;
}

void elf_cache_fini(struct elf_cache *cache)
{
	while (cache->files)
		forget(cache, &cache->files);
}

bool elf_file_maps(const struct elf_file *file, uint64_t vaddr, uint64_t offset)
{
	for (uint32_t i = 0; i < file->image.segment_count; i++) {
		const struct elf_segment *s = &file->image.segments[i];

		/* The kernel maps whole pages, from the one that the segment
		 * begins in. */
		if (s->executable && vaddr - offset == s->vaddr - s->offset &&
		    vaddr + 4096 > s->vaddr && vaddr < s->vaddr + s->bytes)
			return true;
	}
	return false;
}

const char *elf_file_symbol(const struct elf_file *file, uint64_t vaddr)
{
	struct eh_frame_fde fde;
	const char *name;

	if (!file->symbols)
		return NULL;
	name = symbols_find(file->symbols, vaddr);
	if (name || eh_frame_find(&file->frames, vaddr, &fde))
		return name;
	return symbols_find_unsized(file->symbols, vaddr, fde.start);
}
