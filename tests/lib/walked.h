/* SPDX-License-Identifier: Apache-2.0 */
/* What a test of stack walks needs around them, over its own process. */
#ifndef TESTS_LIB_WALKED_H
#define TESTS_LIB_WALKED_H

#include "exporter/complete.h"

/* Functions that keep their frame and their name. */
#define NEVER_INLINED static __attribute__((noipa))
/* Last in a function, it keeps a call from becoming a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct walked {
	struct elf_cache cache;
	struct address_map *map;
	struct completer *completer;
	struct stack stack; /* what the last walk found */
};

extern struct walked walked;

/* Maps the modules as they are now; fails the test when it can't. */
void walked_open(void);
void walked_close(void);

/* Walks a sample into walked.stack. */
enum complete_result walked_walk(const struct record_sample *sample);

/* Name of a frame, "" when it has none; the next call overwrites it. */
const char *walked_name(uint32_t index);

/* Index of the first frame of that name from `from` on; the number of frames
 * when there is none. */
uint32_t walked_find(const char *name, uint32_t from);

/* Compiles and loads a library, see compile_library; NULL on failure. */
void *walked_library(const char *name, const char *code, const char *flags);

#endif
