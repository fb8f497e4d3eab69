/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped into a process, as the kernel tells it: for a process that has
 * not told it yet, and may die before it does.
 *
 * The text is read while the process lives and looked into only when it is
 * needed. Most processes tell their modules themselves, and better: they see
 * their own memory, we see the files.
 */
#ifndef EXPORTER_PROC_MAPS_H
#define EXPORTER_PROC_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/address_map.h"

/* Bounds of one process's text, and of what all hold together. */
#define PROC_MAPS_BYTES (256u << 10)
#define PROC_MAPS_TOTAL_BYTES (16u << 20)

struct proc_maps {
	char *text; /* NULL: none; else it ends with a NUL */
	size_t len_bytes;
};

/* Reads /proc/PID/maps, cut after a whole line at the bound. Returns 0, or a
 * negative errno and no text. */
int proc_maps_read(struct proc_maps *maps, uint32_t pid);

void proc_maps_free(struct proc_maps *maps);

/*
 * Gives the text to an address map, as a list that is older than any that the
 * process tells. Refused with -ESTALE where `agent_address` lies in no
 * libspanprof.so: the process has become another program since it claimed its
 * slot. -EINVAL when there is no module. The text may be anything.
 */
int proc_maps_tell(const struct proc_maps *maps, uint64_t agent_address,
		   struct address_map *map);

#endif
