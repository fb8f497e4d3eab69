/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code: /tmp/perf-PID.map, which runtimes with a compiler
 * inside write (node --perf-basic-prof, python -X perf, JVM agents).
 *
 * A line is `START SIZE NAME`, numbers in hex. The file is looked for where the
 * process put it: under its process id as it is in its own pid namespace, below
 * its own root. It must be a regular file, no link, and belong to the user of
 * the process or to root. It grows while it is in use, so that a last line may
 * be half there; what was written last of an address holds. When it is gone,
 * what was read stays. One that is larger than the bound gives no names at all:
 * the part that wasn't read might say otherwise.
 *
 * Source of the format: Linux, tools/perf/Documentation/jit-interface.txt.
 */
#ifndef EXPORTER_PERF_MAP_H
#define EXPORTER_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_BYTES_MAX (64u << 20)
#define PERF_MAP_ENTRIES_MAX (1u << 20)
/* Without NUL; longer ones are cut. */
#define PERF_MAP_NAME_BYTES 512u

struct perf_map;

/* For a process that lives. NULL without memory. */
struct perf_map *perf_map_create(uint32_t pid);

/* 0: the process has ended, and its number may be another's now. */
void perf_map_set_process(struct perf_map *map, uint32_t pid);

void perf_map_destroy(struct perf_map *map); /* NULL is fine */

/* The name of the code at an address, valid UTF-8, or NULL. Reads what is new
 * in the file, if it was not looked at for a while. Lives until the next call.
 */
const char *perf_map_find(struct perf_map *map, uint64_t address);

/* Takes bytes of the file that follow those before; what stands behind the last
 * newline is to be told again. Returns how many bytes were used. */
size_t perf_map_take(struct perf_map *map, const char *bytes, size_t len_bytes);

#endif
