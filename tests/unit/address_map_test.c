/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of modules: whole ones, broken ones, hostile ones. */
#include "exporter/address_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/snapshot.h"
#include "tests/lib/unit.h"

static struct elf_cache cache;
static struct address_map *map;

static union {
	struct record_module module;
	uint8_t bytes[sizeof(struct record_module) + 8192];
} record;

static void begin(void)
{
	map = address_map_create(&cache);
	CHECK(map != NULL);
}

static void end(void)
{
	address_map_destroy(map);
	elf_cache_fini(&cache);
}

static void make(uint32_t list, const char *path, uint64_t start)
{
	memset(&record, 0, sizeof(record));
	record.module.list = list;
	record.module.path_bytes = (uint32_t)strlen(path) + 1;
	record.module.head.bytes =
		(uint32_t)(sizeof(record.module) + strlen(path) + 8) & ~7u;
	memcpy(record.module.path, path, strlen(path) + 1);
	record.module.load_bias = start;
	record.module.segment_count = 1;
	record.module.segments[0] =
		(struct module_segment){start, start + 0x2000, 0};
}

static int add(uint32_t list, const char *path, uint64_t start)
{
	make(list, path, start);
	return address_map_add(map, &record.module);
}

static int end_list(uint32_t list, uint32_t count)
{
	struct record_modules m = {
		.head = {.bytes = sizeof(m)}, .list = list, .count = count};

	return address_map_end(map, &m);
}

static const char *name_at(uint64_t address)
{
	const struct module *module = address_map_find(map, address);

	return module ? module->name : "none";
}

TEST(a_list_counts_when_it_is_whole)
{
	begin();
	CHECK_EQ(address_map_generation(map), 0);
	CHECK_STR(name_at(0x10000), "none");
	CHECK_EQ(add(1, "/lib/one.so.6", 0x10000), 0);
	CHECK_EQ(add(1, "/lib/two.so", 0x20000), 0);
	CHECK_STR(name_at(0x10000), "none");
	CHECK_EQ(end_list(1, 2), 1);
	CHECK_EQ(address_map_generation(map), 1);
	CHECK_STR(name_at(0xffff), "none");
	CHECK_STR(name_at(0x10000), "one.so.6");
	CHECK_STR(name_at(0x11fff), "one.so.6");
	CHECK_STR(name_at(0x12000), "none");
	CHECK_STR(name_at(0x20001), "two.so");
	CHECK_EQ(address_map_find(map, 0x20001)->load_bias, 0x20000);
	end();
}

TEST(an_incomplete_list_replaces_nothing)
{
	begin();
	add(1, "/lib/one.so", 0x10000);
	CHECK_EQ(end_list(1, 1), 1);
	add(2, "/lib/two.so", 0x20000);
	CHECK_EQ(end_list(2, 2), 0);
	CHECK_STR(name_at(0x10000), "one.so");
	CHECK_STR(name_at(0x20000), "none");
	CHECK_EQ(address_map_generation(map), 1);
	end();
}

TEST(records_come_in_any_order)
{
	begin();
	CHECK_EQ(end_list(1, 2), 0);
	CHECK_EQ(add(1, "/lib/one.so", 0x10000), 0);
	CHECK_EQ(add(1, "/lib/two.so", 0x20000), 1);
	CHECK_STR(name_at(0x20000), "two.so");
	end();
}

TEST(two_lists_may_be_under_way)
{
	begin();
	add(1, "/lib/one.so", 0x10000);
	add(2, "/lib/two.so", 0x20000);
	add(1, "/lib/three.so", 0x30000);
	CHECK_EQ(end_list(2, 1), 1);
	CHECK_STR(name_at(0x20000), "two.so");
	/* The older one is complete now, and out of date. */
	CHECK_EQ(end_list(1, 2), 0);
	CHECK_STR(name_at(0x20000), "two.so");
	CHECK_STR(name_at(0x10000), "none");
	end();
}

TEST(list_numbers_may_wrap)
{
	begin();
	add(UINT32_MAX, "/lib/one.so", 0x10000);
	CHECK_EQ(end_list(UINT32_MAX, 1), 1);
	add(0, "/lib/two.so", 0x20000);
	CHECK_EQ(end_list(0, 1), 1);
	CHECK_STR(name_at(0x20000), "two.so");
	CHECK_EQ(address_map_generation(map), 2);
	end();
}

TEST(names_are_for_people)
{
	begin();
	add(1, "/usr/lib/libc.so.6", 0x10000);
	add(1, "[vdso]", 0x20000);
	add(1, "/tmp/gone (deleted)", 0x30000);
	add(1, "/tmp/\x1b[2J\xff", 0x40000);
	add(1, "/opt/agent/libspanprof.so", 0x50000);
	add(1, "/opt/agent/libspanprof.so.1", 0x60000);
	add(1, "/opt/agent/libspanprof.sox", 0x70000);
	add(1, "/opt/folder/", 0x80000);
	CHECK_EQ(end_list(1, 8), 1);
	CHECK_STR(name_at(0x10000), "libc.so.6");
	CHECK_STR(name_at(0x20000), "[vdso]");
	CHECK_STR(name_at(0x30000), "gone");
	CHECK_STR(name_at(0x40000), "?[2J?");
	CHECK(!address_map_find(map, 0x10000)->is_agent);
	CHECK(address_map_find(map, 0x50000)->is_agent);
	CHECK(address_map_find(map, 0x60000)->is_agent);
	CHECK(!address_map_find(map, 0x70000)->is_agent);
	CHECK_STR(name_at(0x80000), "/opt/folder/");
	end();
}

/* One way of spoiling a record. */
static int refused(void (*spoil)(struct record_module *))
{
	make(7, "/lib/one.so", 0x10000);
	spoil(&record.module);
	return address_map_add(map, &record.module);
}

static void no_path(struct record_module *m)
{
	m->path_bytes = 1;
	m->path[0] = '\0';
}
static void path_beyond(struct record_module *m)
{
	m->path_bytes = 4000;
}
static void path_huge(struct record_module *m)
{
	m->path_bytes = UINT32_MAX;
}
static void path_open(struct record_module *m)
{
	m->path[m->path_bytes - 1] = 'x';
}
static void too_short(struct record_module *m)
{
	m->head.bytes = sizeof(*m) - 8;
}
static void no_segments(struct record_module *m)
{
	m->segment_count = 0;
}
static void many_segments(struct record_module *m)
{
	m->segment_count = UINT32_MAX;
}
static void backwards(struct record_module *m)
{
	m->segments[0].end = m->segments[0].start;
}
static void kernel_side(struct record_module *m)
{
	m->segments[0].end = UINT64_MAX;
}
static void odd_start(struct record_module *m)
{
	m->segments[0].start++;
}
static void odd_bias(struct record_module *m)
{
	m->load_bias = 1;
}
static void long_build_id(struct record_module *m)
{
	m->build_id_bytes = MODULE_BUILD_ID_BYTES + 1;
}

TEST(records_without_sense_are_refused_with_their_list)
{
	begin();
	CHECK_EQ(refused(too_short), -EINVAL);
	CHECK_EQ(refused(no_path), -EINVAL);
	CHECK_EQ(refused(path_beyond), -EINVAL);
	CHECK_EQ(refused(path_huge), -EINVAL);
	CHECK_EQ(refused(path_open), -EINVAL);
	CHECK_EQ(refused(no_segments), -EINVAL);
	CHECK_EQ(refused(many_segments), -EINVAL);
	CHECK_EQ(refused(backwards), -EINVAL);
	CHECK_EQ(refused(kernel_side), -EINVAL);
	CHECK_EQ(refused(odd_start), -EINVAL);
	CHECK_EQ(refused(odd_bias), -EINVAL);
	CHECK_EQ(refused(long_build_id), -EINVAL);
	add(7, "/lib/good.so", 0x10000);
	CHECK_EQ(end_list(7, 1), 0);
	CHECK_EQ(end_list(8, 0), -EINVAL);
	CHECK_STR(name_at(0x10000), "none");
	end();
}

TEST(of_overlapping_segments_the_first_stays)
{
	begin();
	add(1, "/lib/late.so", 0x11000);
	add(1, "/lib/early.so", 0x10000);
	add(1, "/lib/next.so", 0x12000);
	CHECK_EQ(end_list(1, 3), 1);
	CHECK_STR(name_at(0x10000), "early.so");
	CHECK_STR(name_at(0x11800), "early.so");
	CHECK_STR(name_at(0x12000), "next.so");
	CHECK_STR(name_at(0x13fff), "next.so");
	end();
}

TEST(a_list_has_bounds)
{
	uint32_t added = 0;

	begin();
	while (added < 100000 && add(1, "/lib/x.so", 0x10000) == 0)
		added++;
	CHECK_EQ(added, ADDRESS_MAP_MODULES);
	CHECK_EQ(add(1, "/lib/x.so", 0x10000), -ENOSPC);
	CHECK_EQ(end_list(1, added), 0);
	end();
}

TEST(long_paths_fill_a_list_sooner)
{
	static char path[4096];
	uint32_t added = 0;

	begin();
	memset(path, 'x', 4095);
	path[0] = '/';
	while (added < 100000 && add(1, path, 0x10000) == 0)
		added++;
	CHECK(added > 100 && added < 1000);
	end();
}

TEST(all_maps_together_have_a_bound)
{
	static struct address_map *maps[200];
	static char path[4096];
	uint32_t full = 0, i, n;

	memset(path, 'x', 4095);
	path[0] = '/';
	for (i = 0; i < 200; i++) {
		map = maps[i] = address_map_create(&cache);
		for (n = 0; n < 5000 && add(1, path, 0x10000) == 0;)
			n++;
		full += n < 100;
	}
	CHECK(full > 100);
	for (i = 0; i < 200; i++)
		address_map_destroy(maps[i]);
	begin(); /* and it is all given back */
	add(1, "/lib/one.so", 0x10000);
	CHECK_EQ(end_list(1, 1), 1);
	end();
}

TEST(many_lists_that_never_end_are_dropped)
{
	begin();
	for (uint32_t list = 2; list < 100; list++)
		add(list, "/lib/one.so", 0x10000);
	CHECK_EQ(end_list(99, 1), 1);
	add(1, "/lib/one.so", 0x10000);
	CHECK_EQ(end_list(2, 1), 0);
	end();
}

TEST(modules_lead_to_their_files)
{
	const struct module *module;
	const struct elf_file *file;
	uint64_t reads;

	begin();
	CHECK_EQ(snapshot_map(map, 1), 1);
	module = address_map_find(map, (uint64_t)unit_fail);
	CHECK(module != NULL);
	file = address_map_file(map, module);
	CHECK(file != NULL);
	CHECK_STR(
		elf_file_symbol(file, (uint64_t)unit_fail - module->load_bias),
		"unit_fail");
	CHECK(address_map_file(map, module) == file);
	reads = cache.counts.read;
	/* The next list takes over what the one before had read. */
	CHECK_EQ(snapshot_map(map, 2), 1);
	module = address_map_find(map, (uint64_t)unit_fail);
	CHECK(address_map_file(map, module) == file);
	CHECK_EQ(cache.counts.read, reads);
	end();
}

TEST(a_file_that_is_not_mapped_so_is_not_used)
{
	const struct module *module;

	begin();
	CHECK_EQ(add(1, "/bin/sh", 0x10000), 0);
	CHECK_EQ(end_list(1, 1), 1);
	module = address_map_find(map, 0x10000);
	CHECK(address_map_file(map, module) == NULL);
	end();
}
