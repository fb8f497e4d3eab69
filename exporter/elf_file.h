/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we know of the files behind modules: unwind information, symbols and
 * source lines, read once, and shared by all processes that map the same file.
 *
 * Unwind information and symbols are private memory. Files with source lines
 * stay open as long as somebody uses them, and are read unit by unit.
 */
#ifndef EXPORTER_ELF_FILE_H
#define EXPORTER_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/debug_info.h"
#include "exporter/eh_frame.h"
#include "exporter/elf_source.h"
#include "exporter/symbols.h"

/* The cache forgets files that nobody uses above either bound, and reads no
 * further one while those in use alone exceed it. */
#define ELF_CACHE_FILES 1024u
#define ELF_CACHE_BYTES (256u << 20)

/* Why there is no file. */
enum elf_fault {
	ELF_FILE_GONE = 1,   /* deleted, and whoever mapped it has ended */
	ELF_FILE_REPLACED,   /* another one is there now */
	ELF_FILE_UNREADABLE, /* not permitted, or no ELF file */
	ELF_FILE_NO_ROOM,    /* the cache is full */
};

struct elf_file {
	struct elf_image image; /* closed: its headers alone are of use */
	struct eh_frame frames;
	struct symbols *symbols;
	struct debug_info *debug; /* NULL: it has no source lines */
	size_t bytes;
	/* The cache's. */
	struct elf_cache *cache;
	struct elf_file *next;
	char *path;
	uint32_t users;
	uint64_t last_use;
};

/* Events since the cache was made. */
struct elf_cache_counts {
	uint64_t read;
	uint64_t unreadable; /* gone, no ELF file, not permitted */
	uint64_t replaced;   /* not the file that was mapped */
	uint64_t without_frames;
	uint64_t without_symbols;
	uint64_t no_room;
};

struct elf_cache {
	struct elf_file *files;
	uint32_t count;
	size_t bytes;
	uint64_t clock;
	struct elf_cache_counts counts;
	enum elf_fault fault; /* why elf_cache_get gave none last */
	/* Where source lines come from; NULL: no file has any. Set before the
	 * first file is asked for; it must outlive the cache. */
	struct debug_infos *debug;
};

/*
 * A file for the caller to use until elf_cache_put, or NULL.
 *
 * The file must be the one that was mapped, wherever elf_source.h finds it:
 * where a build id is told it must have that one, else the same inode. Without
 * that its addresses stay without names.
 */
struct elf_file *elf_cache_get(struct elf_cache *cache,
			       const struct elf_identity *identity);

void elf_cache_put(struct elf_cache *cache, struct elf_file *file);

/* One more user, who will call elf_cache_put. */
void elf_file_hold(struct elf_file *file);

/* Frees everything; no file may be in use. */
void elf_cache_fini(struct elf_cache *cache);

/* Whether the file's code is mapped so that the byte at `offset` has the
 * address `vaddr`, as a module says it is. */
bool elf_file_maps(const struct elf_file *file, uint64_t vaddr,
		   uint64_t offset);

/* Name of the function that holds an ELF vaddr, mangled as it is in the file,
 * or NULL. Lives as long as the file is in use. */
const char *elf_file_symbol(const struct elf_file *file, uint64_t vaddr);

#endif
