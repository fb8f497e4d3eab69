/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the stack that a sample carries, by the unwind information of the files
 * that its process has mapped. It never guesses: where no unwind information
 * covers a pc, the walk ends there and says so.
 */
#ifndef EXPORTER_COMPLETE_H
#define EXPORTER_COMPLETE_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/address_map.h"
#include "sampler/layout.h"

/* A Pyroscope cuts stacks of more than 1,000 frames, and it cuts the leaf; one
 * more is for the mark of a walk that ended early. */
#define COMPLETE_FRAMES_MAX 999u

enum complete_result {
	COMPLETE, /* to the first function of the thread */
	/* The rest of these end early; the frames up to there are right. */
	TRUNCATED_STACK_CUT, /* the next frame's bytes weren't copied */
	TRUNCATED_NO_CFI,    /* the last frame has no unwind information */
	TRUNCATED_DEPTH,     /* more than COMPLETE_FRAMES_MAX */
	TRUNCATED_BAD,       /* unwind information and stack don't agree */
	UNKNOWN_MODULE,      /* the last frame is in no module of the map: a
				later list may have it, or it is generated code */
	COMPLETE_RESULTS
};

/* Leaf first. */
struct stack_frame {
	uint64_t address; /* pc at the leaf, else the return address */
	/* What to look up: one less than a return address, because a call may
	 * be the last instruction of its function. */
	uint64_t lookup;
	const struct module *module; /* NULL when unknown */
	uint64_t vaddr; /* `lookup` as an ELF vaddr of the module's file */
};

struct stack {
	uint32_t count;
	struct stack_frame frames[COMPLETE_FRAMES_MAX];
};

/* Walks the stacks of one process; some 40 KiB. */
struct completer;

/* For the process whose modules are in `map`, which must outlive it. NULL when
 * there is no memory. */
struct completer *completer_create(struct address_map *map);

void completer_destroy(struct completer *completer); /* NULL is fine */

/*
 * Fills `stack` from a sample, whose stack_bytes bytes must be there to read;
 * all else in it may be anything. Frames of our own library between the
 * program's are left out. The frames' modules live as long as the map says.
 */
enum complete_result completer_walk(struct completer *completer,
				    const struct record_sample *sample,
				    struct stack *stack);

#endif
