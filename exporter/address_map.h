/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped where in one process, from the module records of the ring.
 *
 * A list of modules replaces the one before it in whole, once all of its
 * records are there. They may lie in several blocks of the ring and come in
 * any order, and two threads of a process may write lists at the same time.
 * Nothing in them is believed: sizes and addresses are checked, and where
 * segments overlap, the one that begins first stays.
 */
#ifndef EXPORTER_ADDRESS_MAP_H
#define EXPORTER_ADDRESS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/elf_file.h"
#include "sampler/layout.h"

/* Bounds of one list, and of what all maps together hold. */
#define ADDRESS_MAP_MODULES 4096u
#define ADDRESS_MAP_PATH_BYTES 4096u
#define ADDRESS_MAP_LIST_BYTES (4u << 20)
#define ADDRESS_MAP_TOTAL_BYTES (256u << 20)

struct address_map;

struct module {
	/* Last part of the path, for people; "[vdso]" for the vDSO. Valid
	 * UTF-8, without " (deleted)". Never NULL or "". */
	const char *name;
	char *path; /* as it came, without " (deleted)"; any bytes */
	uint32_t build_id_bytes; /* 0 when it has none */
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	uint64_t load_bias;   /* address = load_bias + ELF vaddr */
	bool is_agent;        /* our own preloaded library */
	enum elf_fault fault; /* why address_map_file gives none */
};

/* The files that it finds come from `cache`, which must outlive it. NULL when
 * there is no memory. */
struct address_map *address_map_create(struct elf_cache *cache);

/* The process, as long as it lives: some files can only be reached through it,
 * and it may tell the names of code that it generates. 0: none. */
void address_map_set_process(struct address_map *map, uint32_t pid);

void address_map_destroy(struct address_map *map); /* NULL is fine */

/*
 * Takes one record of a list. Its head.bytes must be there to read; all else
 * is checked. 1 when that completed a list and the map is now another, 0 when
 * not yet; -EINVAL when the record makes no sense, -ENOSPC beyond a bound,
 * -ENOMEM. A list with a refused record never becomes complete.
 */
int address_map_add(struct address_map *map,
		    const struct record_module *record);

/* Takes the end of a list; returns the same. */
int address_map_end(struct address_map *map,
		    const struct record_modules *record);

/* 0 before the first list; another number with each one. */
uint32_t address_map_generation(const struct address_map *map);

/* The module whose code is at an address, or NULL. It lives until the next
 * call of address_map_add, address_map_end or address_map_destroy. */
const struct module *address_map_find(const struct address_map *map,
				      uint64_t address);

/* The name of generated code, which is in no module (perf_map.h), or NULL.
 * Lives until the next call. */
const char *address_map_generated(struct address_map *map, uint64_t address);

/*
 * The file behind a module, read now if it wasn't yet; NULL when it can't be
 * had or isn't the one that is mapped. It lives as long as the module.
 */
struct elf_file *address_map_file(struct address_map *map,
				  const struct module *module);

/* Whether it is the program itself: the first one by address, where Linux maps
 * it. */
bool address_map_is_program(const struct address_map *map,
			    const struct module *module);

#endif
