/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwind information and symbols of ELF files, in bounds.
 * Runs on: the exporter's main thread.
 */
#include "exporter/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/debug_file.h"
#include "exporter/mini_debug.h"

static void destroy(struct elf_file *file)
{
	eh_frame_free(&file->frames);
	symbols_destroy(file->symbols);
	debug_info_destroy(file->debug);
	free(file->path);
	free(file);
}

/* An ELF file while it is read, with what belongs to it. */
struct opened {
	struct elf_image image;
	bool is_in_root; /* of the process */
	struct elf_sections sections;
	/* Symbols of a stripped file, unpacked. */
	struct elf_image mini;
	uint8_t *mini_bytes;
	/* Another file with symbols and source lines. */
	bool has_debug;
	struct elf_image debug;
	struct debug_path debug_path;
};

static int open_all(struct opened *o, const struct elf_identity *identity)
{
	int error = elf_source_open(&o->image, identity, &o->is_in_root);
	struct debug_wanted wanted = {.image = &o->image,
				      .sections = &o->sections,
				      .path = identity->path};

	if (error)
		return error;
	o->mini_bytes = NULL;
	o->has_debug = false;
	elf_sections_read(&o->sections, &o->image);
	if (o->is_in_root)
		wanted.pid = identity->pid;
	if (o->image.fd >= 0 && !debug_file_has_dwarf(&o->sections))
		o->has_debug = debug_file_find(&wanted, &o->debug,
					       &o->debug_path) == 0;
	if (!o->has_debug)
		mini_debug_open(&o->mini, &o->sections, &o->mini_bytes);
	return 0;
}

static void close_all(struct opened *o)
{
	if (o->has_debug)
		elf_image_close(&o->debug);
	free(o->mini_bytes);
	elf_sections_free(&o->sections);
	elf_image_close(&o->image);
}

static struct symbols *load_symbols(const struct opened *o)
{
	const struct elf_image *images[SYMBOLS_IMAGES_MAX + 1] = {&o->image};

	if (o->has_debug)
		images[1] = &o->debug;
	else if (o->mini_bytes)
		images[1] = &o->mini;
	return symbols_load(images);
}

static int duplicate(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* The files with the source lines: fds[0] is -1 when there are none. */
static void find_lines(const struct opened *o,
		       const struct elf_identity *identity, int fds[2])
{
	const struct elf_image *image = o->has_debug ? &o->debug : &o->image;
	struct elf_sections sections;
	struct debug_wanted file = {
		.image = image,
		.sections = &sections,
		.path = o->has_debug ? o->debug_path.text : identity->path,
		.pid = o->is_in_root ? identity->pid : 0,
	};

	fds[0] = fds[1] = -1;
	if (elf_sections_read(&sections, image) == 0 &&
	    debug_file_has_dwarf(&sections)) {
		fds[0] = duplicate(image->fd);
		fds[1] = fds[0] < 0 ? -1 : debug_file_alternate(&file);
	}
	elf_sections_free(&sections);
}

static void load_lines(struct elf_file *file, const struct opened *o,
		       const struct elf_identity *identity)
{
	int fds[2];

	if (!file->cache->debug)
		return;
	find_lines(o, identity, fds);
	if (fds[0] < 0)
		return;
	if (file->debug)
		debug_info_reopen(file->debug, fds);
	else
		file->debug = debug_info_create(file->cache->debug, fds);
}

static void load(struct elf_file *file, const struct opened *o,
		 struct elf_cache_counts *counts)
{
	file->image = o->image;
	file->image.fd = -1;
	file->image.bytes = NULL;
	if (eh_frame_load(&file->frames, &o->image))
		counts->without_frames++;
	file->symbols = load_symbols(o);
	if (!file->symbols)
		counts->without_symbols++;
	file->bytes = sizeof(*file) + file->frames.len_bytes +
		      file->frames.entry_count * sizeof(struct eh_frame_entry) +
		      symbols_bytes(file->symbols);
	counts->read++;
}

static void count_fault(struct elf_cache *cache, int error)
{
	cache->fault = error == -ESTALE   ? ELF_FILE_REPLACED
		       : error == -ENOENT ? ELF_FILE_GONE
					  : ELF_FILE_UNREADABLE;
	if (error == -ESTALE)
		cache->counts.replaced++;
	else
		cache->counts.unreadable++;
}

static struct elf_file *read_file(struct elf_cache *cache,
				  const struct elf_identity *identity)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	struct opened opened;
	int error = -ENOMEM;

	if (!file)
		return NULL;
	file->cache = cache;
	file->path = strdup(identity->path);
	if (file->path)
		error = open_all(&opened, identity);
	if (error) {
		count_fault(cache, error);
		destroy(file);
		return NULL;
	}
	load(file, &opened, &cache->counts);
	load_lines(file, &opened, identity);
	close_all(&opened);
	return file;
}

/* It was not used for a while, and its source lines' files were closed. */
static void reopen_lines(struct elf_file *file,
			 const struct elf_identity *identity)
{
	struct opened opened;

	if (!file->debug || debug_info_is_open(file->debug) ||
	    open_all(&opened, identity))
		return;
	load_lines(file, &opened, identity);
	close_all(&opened);
}

static struct elf_file **find(struct elf_cache *cache,
			      const struct elf_identity *identity)
{
	struct elf_file **link = &cache->files;

	while (*link && (strcmp((*link)->path, identity->path) != 0 ||
			 !elf_identity_matches(identity, &(*link)->image)))
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
		cache->fault = ELF_FILE_NO_ROOM;
		return NULL;
	}
	file = read_file(cache, identity);
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
	else if (file->users == 0)
		reopen_lines(file, identity);
	if (file)
		file->users++;
	return file;
}

void elf_file_hold(struct elf_file *file)
{
	file->users++;
}

void elf_cache_put(struct elf_cache *cache, struct elf_file *file)
{
	file->last_use = ++cache->clock;
	if (--file->users == 0 && file->debug)
		debug_info_close(file->debug);
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
