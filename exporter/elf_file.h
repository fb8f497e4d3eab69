/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we know of the files behind modules: unwind information and symbols,
 * read once, and shared by all processes that map the same file.
 *
 * All of it is private memory; no file stays open or mapped.
 */
#ifndef EXPORTER_ELF_FILE_H
#define EXPORTER_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/eh_frame.h"
#include "exporter/elf_image.h"
#include "exporter/symbols.h"

/* The cache forgets files that nobody uses above either bound, and reads no
 * further one while those in use alone exceed it. */
#define ELF_CACHE_FILES 1024u
#define ELF_CACHE_BYTES (256u << 20)

/* A file, as the process that mapped it described it. */
struct elf_identity {
	const char *path; /* absolute, or ELF_IMAGE_VDSO */
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0 when the mapped file has none */
	uint64_t inode;          /* 0 when unknown */
};

struct elf_file {
	struct elf_image image; /* closed: its headers alone are of use */
	struct eh_frame frames;
	struct symbols *symbols;
	size_t bytes;
	/* The cache's. */
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
};

/*
 * A file for the caller to use until elf_cache_put, or NULL.
 *
 * The file at `path` must be the one that was mapped: where a build id is told
 * it must have that one, else the same inode. A file that was replaced since,
 * or deleted, is never used, and its addresses stay without names.
 */
struct elf_file *elf_cache_get(struct elf_cache *cache,
			       const struct elf_identity *identity);

void elf_cache_put(struct elf_cache *cache, struct elf_file *file);

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
