/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file that the user named is, as far as that decides whether a
 * library can be preloaded into it.
 *
 * Formats: ELF-64 (System V gABI), "#!" lines (execve(2)).
 */
#ifndef SUPERVISOR_TARGET_H
#define SUPERVISOR_TARGET_H

#include <limits.h>
#include <stdbool.h>

enum target_obstacle {
	TARGET_FINE,         /* or nothing that its file tells */
	TARGET_STATIC,       /* there is no loader that could preload */
	TARGET_SET_ID,       /* set-user-id or set-group-id: it ignores paths */
	TARGET_CAPABILITIES, /* file capabilities: the same */
	TARGET_MACHINE,      /* not for x86-64 */
	TARGET_LIBC,         /* its loader is not glibc's */
	TARGET_NO_LIBC       /* it has a loader and needs no library */
};

struct target {
	enum target_obstacle obstacle;
	/* The file that execve runs in the end: the program, or the interpreter
	 * of a script. "" when it was not found or could not be read. */
	char file[PATH_MAX];
	char loader[256]; /* of it; "" when it has none */
	/* What is missing where exec says ENOENT although the program is there:
	 * an interpreter or a loader; else "". */
	char missing[PATH_MAX];
};

/* Looks `program` up as execvp(3) does and reads its first bytes; follows
 * scripts to their interpreter. Never blocks, opens regular files only. */
void target_look(struct target *target, const char *program);

/* Whether a loader like glibc's must not be told of the library: it would fail,
 * or complain on the program's stderr. */
bool target_refuses_preload(const struct target *target);

#endif
