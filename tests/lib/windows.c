/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes windows.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/windows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

struct windows windows;
enum pprof_ids windows_ids;

static Perftools__Profiles__Profile *profile;
static size_t profile_bytes;

static void add_module(const char *path, uint64_t start, uint64_t load_bias)
{
	union {
		struct record_module module;
		uint8_t bytes[sizeof(struct record_module) + 64];
	} record;

	memset(&record, 0, sizeof(record));
	record.module.head.bytes = sizeof(record);
	record.module.list = 1;
	record.module.load_bias = load_bias;
	record.module.build_id_bytes = 20;
	memset(record.module.build_id, (int)(start >> 24), 20);
	record.module.segment_count = 1;
	record.module.segments[0].start = start;
	record.module.segments[0].end = start + (1u << 20);
	strcpy(record.module.path, path);
	record.module.path_bytes = (uint32_t)strlen(path) + 1;
	CHECK_EQ(address_map_add(windows.map, &record.module), 0);
}

static void fill_map(void)
{
	struct record_modules end = {
		.head.bytes = sizeof(end), .list = 1, .count = 2};

	add_module("/opt/app", APP, 0);
	add_module("/lib/libx.so", LIB, LIB);
	CHECK_EQ(address_map_end(windows.map, &end), 1);
}

void windows_begin(void)
{
	windows_ids = PPROF_IDS_LOCAL;
	if (windows.map) {
		window_fini(&windows.window);
		address_map_destroy(windows.map);
		elf_cache_fini(&windows.files);
	}
	memset(&windows, 0, sizeof(windows));
	CHECK_EQ(window_init(&windows.window), 0);
	windows.map = address_map_create(&windows.files);
	CHECK(windows.map != NULL);
	fill_map();
}

static void add_frame(uint64_t address)
{
	struct stack_frame *frame =
		&windows.stack.frames[windows.stack.count++];

	frame->address = frame->lookup = address;
	frame->module = address_map_find(windows.map, address);
	frame->vaddr =
		frame->module ? address - frame->module->load_bias : address;
}

void windows_set_stack(uint64_t leaf, ...)
{
	va_list more;

	windows.stack.count = 0;
	va_start(more, leaf);
	for (uint64_t at = leaf; at; at = va_arg(more, uint64_t))
		add_frame(at);
	va_end(more);
}

struct window_sample windows_weight(uint8_t span, const char *name,
				    uint64_t count, uint64_t cpu_ns)
{
	struct window_sample weight = {
		.labels = {.span_name = name, .pid = 42},
		.count = count,
		.cpu_ns = cpu_ns,
	};

	memset(weight.labels.span_id, span, SPAN_ID_BYTES);
	memset(weight.labels.trace_id, span, TRACE_ID_BYTES);
	return weight;
}

const Perftools__Profiles__Profile *
windows_profile_with(const char *const *comments)
{
	struct pprof_times times = {UINT64_C(1700000000000000000),
				    UINT64_C(10000000000), 10000000,
				    windows_ids};
	void *bytes = NULL;
	size_t length = 0;
	const char *fault;
	uint8_t *plain;

	if (profile)
		perftools__profiles__profile__free_unpacked(profile, NULL);
	profile = NULL;
	window_settle(&windows.window, NULL, 0);
	CHECK_EQ(pprof_encode(&windows.window, &times, comments, &bytes,
			      &length),
		 0);
	plain = profile_check_unpack(bytes, length, &profile_bytes);
	free(plain);
	fault = profile_check(bytes, length, &profile);
	free(bytes);
	if (fault)
		unit_fail(__FILE__, __LINE__, fault);
	return profile;
}

const Perftools__Profiles__Profile *windows_profile(void)
{
	static const char *const none[] = {NULL};

	return windows_profile_with(none);
}

size_t windows_profile_bytes(void)
{
	return profile_bytes;
}
