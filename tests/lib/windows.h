/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of samples with made-up stacks, and the profile that comes of it.
 */
#ifndef TESTS_LIB_WINDOWS_H
#define TESTS_LIB_WINDOWS_H

#include "exporter/pprof.h"
#include "exporter/window.h"
#include "tests/lib/profile_check.h"

/* Two modules without a file, each a MiB long. */
#define APP UINT64_C(0x400000)   /* /opt/app, at its own addresses */
#define LIB UINT64_C(0x7f000000) /* /lib/libx.so, loaded there */

struct windows {
	struct window window;
	struct elf_cache files;
	struct address_map *map;
	struct stack stack;
};
extern struct windows windows;

/* Begins afresh. */
void windows_begin(void);

/* The stack of the next sample, leaf first; 0 ends it. */
void windows_set_stack(uint64_t leaf, ...);

/* Labels and values of a sample. `span` is each byte of both ids. */
struct window_sample windows_weight(uint8_t span, const char *name,
				    uint64_t count, uint64_t cpu_ns);

/* Which ids the profile is to bear; windows_begin sets the local ones. */
extern enum pprof_ids windows_ids;

/* Encodes it, checks all that profile_check knows, and decodes it. It lives
 * until the next call. */
const Perftools__Profiles__Profile *windows_profile(void);

/* The same with these comments. */
const Perftools__Profiles__Profile *
windows_profile_with(const char *const *comments);

/* Bytes of the last profile, without gzip. */
size_t windows_profile_bytes(void);

#endif
