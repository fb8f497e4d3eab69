/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the tree: who is in the ring, who is alive, what is mapped.
 */
#ifndef EXPORTER_PROCESSES_H
#define EXPORTER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/address_map.h"
#include "exporter/complete.h"
#include "exporter/newcomers.h"
#include "exporter/proc_maps.h"
#include "sampler/layout.h"

struct known_process {
	uint32_t slot;
	uint32_t generation;
	uint32_t pid;
	int pidfd; /* -1: it was dead when it was found */
	bool dead;
	uint64_t dead_ns;     /* when it was found to be, CLOCK_MONOTONIC */
	uint32_t passes_dead; /* passes of the intake since its death */
	struct address_map *map;
	struct completer *completer;
	struct proc_maps maps; /* until it has told its modules */
	char executable[256];  /* base name of /proc/PID/exe, or "" */
};

struct processes {
	struct ring *ring;
	int epoll_fd; /* told of each process's death; the caller's */
	struct elf_cache *files;
	struct newcomers *newcomers; /* NULL: nobody notes them */
	/* Called once for each process, when it is known to be dead and all
	 * its records were taken. */
	void (*gone)(void *context, const struct known_process *process);
	void *context;

	struct known_process *by_slot[RING_PROCESSES];
	/* Claims of those that were let go of while their records are kept in
	 * the ring. */
	uint64_t kept_claims[RING_PROCESSES];
	uint32_t kept;
	uint32_t live;
	uint64_t seen; /* ever */
};

/* Looks for newcomers and for the dead. Before each pass of the intake. */
void processes_look(struct processes *processes);

/* So many slots of dead processes are kept from newcomers at most. */
#define PROCESSES_KEPT_MAX (RING_PROCESSES / 4)

/* Counts the pass for the dead and lets go of those whose records have all been
 * taken. After each pass of the intake. Their slots stay theirs: a successor of
 * ours must still find out whose records these are. */
void processes_settle(struct processes *processes);

/* The window with the records of the dead is out. */
void processes_free_slots(struct processes *processes);

/* The process of a record, or NULL when it is none that is known. */
struct known_process *processes_find(struct processes *processes,
				     const struct record *record);

/* A sample of the process is at hand: if it has not told its modules yet, what
 * the kernel said of them when it was found must do. */
void processes_need_modules(struct processes *processes,
			    struct known_process *process);

/* Whether the thread of an owner token (sampler/layout.h) is gone. */
bool processes_owner_is_dead(struct processes *processes, uint64_t owner);

void processes_fini(struct processes *processes);

#endif
