/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the source lines of one file: which unit has which code, and
 * the indexes of those units that were asked for. They come from another
 * process, later.
 */
#ifndef EXPORTER_DEBUG_INFO_H
#define EXPORTER_DEBUG_INFO_H

#include <stdint.h>
#include <sys/queue.h>

#include "exporter/dwarf_client.h"
#include "exporter/line_index.h"

/* All indexes together; those that were not used for longest give way. */
#define DEBUG_INFO_BYTES_MAX (96u << 20)

/* What the files share. Of zeros but for client.program it is ready. */
struct debug_infos {
	struct dwarf_client client;
	LIST_HEAD(debug_unit_list, debug_unit) units;
	size_t bytes;
	uint64_t clock;
	/* Events. */
	uint64_t indexes;  /* read */
	uint64_t unusable; /* units and files that can't be read */
	uint64_t dropped;  /* indexes that gave way */
};

struct debug_info;

void debug_infos_init(struct debug_infos *infos, const char *program);
void debug_infos_fini(struct debug_infos *infos);

/* Takes the descriptors of the file with the debug information and of its
 * alternate one, which may be -1. NULL when there is no memory, and they are
 * closed. */
struct debug_info *debug_info_create(struct debug_infos *infos,
				     const int fds[2]);

void debug_info_destroy(struct debug_info *info); /* NULL is fine */

/* Lets go of the files. What is known already stays. */
void debug_info_close(struct debug_info *info);
bool debug_info_is_open(const struct debug_info *info);

/* New descriptors, as with create. */
void debug_info_reopen(struct debug_info *info, const int fds[2]);

/* As line_index_find. 0 when nothing is known of the address and never will
 * be; -EAGAIN when it was asked for, or when it should be looked up again
 * because too much is being asked. */
int debug_info_find(struct debug_info *info, uint64_t vaddr,
		    struct line_frame *frames, uint32_t capacity);

#endif
