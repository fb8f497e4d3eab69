/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of modules that the kernel tells of this very process, and texts
 * that no kernel would tell; and the row of those who joined.
 * Runs on: the test program's main thread.
 */
#include "exporter/proc_maps.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporter/newcomers.h"
#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

#define NOBODY 0x3fffffu

static struct elf_cache cache;
static struct address_map *map;
static struct proc_maps maps;

static void begin(void)
{
	address_map_destroy(map);
	map = address_map_create(&cache);
	proc_maps_free(&maps);
}

/* A mapping with the library's name; the library itself is not to be here. */
static uint64_t map_agent(void)
{
	static void *at;
	char path[512];
	int fd;

	if (at)
		return (uint64_t)(uintptr_t)at;
	snprintf(path, sizeof(path), "%s/libspanprof.so", temp_folder());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(at != MAP_FAILED);
	close(fd);
	return (uint64_t)(uintptr_t)at;
}

void known_function(void);

__attribute__((noinline)) void known_function(void)
{
	__asm__ volatile("" ::: "memory");
}

static void check_function(void *function, const char *name)
{
	const struct module *module;
	const struct elf_file *file;
	uint64_t address = (uint64_t)(uintptr_t)function;
	Dl_info info;

	CHECK(dladdr(function, &info) != 0);
	module = address_map_find(map, address);
	CHECK(module != NULL);
	CHECK_EQ(module->load_bias, (uint64_t)(uintptr_t)info.dli_fbase);
	CHECK(module->build_id_bytes > 0);
	file = address_map_file(map, module);
	CHECK(file != NULL);
	CHECK_STR(elf_file_symbol(file, address - module->load_bias), name);
}

TEST(modules_are_found_in_the_files_that_are_mapped)
{
	uint64_t agent = map_agent();

	begin();
	CHECK_EQ(proc_maps_read(&maps, (uint32_t)getpid()), 0);
	CHECK_EQ(proc_maps_tell(&maps, agent, map), 0);
	check_function((void *)known_function, "known_function");
	check_function((void *)address_map_find, "address_map_find");
	CHECK(address_map_find(map, agent) != NULL);
}

/* It has called exec since. */
TEST(another_programs_modules_are_refused)
{
	begin();
	map_agent();
	CHECK_EQ(proc_maps_read(&maps, (uint32_t)getpid()), 0);
	CHECK_EQ(proc_maps_tell(&maps, 0, map), -ESTALE);
	CHECK_EQ(
		proc_maps_tell(&maps, (uint64_t)(uintptr_t)known_function, map),
		-ESTALE);
	CHECK_EQ(address_map_generation(map), 0);
}

TEST(what_the_process_tells_itself_replaces_it)
{
	union {
		struct record_module record;
		char room[sizeof(struct record_module) + 16];
	} module = {.record = {.head.bytes = sizeof(module), .list = 1}};
	struct record_modules end = {
		.head.bytes = sizeof(end), .list = 1, .count = 1};

	uint64_t agent = map_agent();

	begin();
	CHECK_EQ(proc_maps_read(&maps, (uint32_t)getpid()), 0);
	CHECK_EQ(proc_maps_tell(&maps, agent, map), 0);
	strcpy(module.record.path, "/lib/x");
	module.record.path_bytes = sizeof("/lib/x");
	module.record.segment_count = 1;
	module.record.segments[0] = (struct module_segment){4096, 8192, 0};
	CHECK_EQ(address_map_add(map, &module.record), 0);
	CHECK_EQ(address_map_end(map, &end), 1);
	CHECK_STR(address_map_find(map, 5000)->name, "x");
	CHECK(!address_map_find(map, agent));
}

TEST(a_process_that_has_gone_has_no_text)
{
	begin();
	CHECK_EQ(proc_maps_read(&maps, NOBODY), -ENOENT);
	CHECK(!maps.text);
}

static int tell(const char *text)
{
	struct proc_maps forged = {.text = strdup(text),
				   .len_bytes = strlen(text)};
	int result;

	begin();
	CHECK(forged.text != NULL);
	result = proc_maps_tell(&forged, 0x1000, map);
	free(forged.text);
	return result;
}

TEST(lines_without_sense_are_passed_over)
{
#define AGENT "1000-2000 r-xp 00000000 00:00 5 /no/libspanprof.so\n"
	static const char *const junk[] = {
		"",
		"\n\n\n",
		"x",
		"1000",
		"1000-",
		"1000-2000 r",
		"1000-2000 r-xp 0 0:0 9",
		"1000-2000 r-xp zz 0:0 9 /x\n",
		"ffffffffffffffffffff-0 r-xp 0 0:0 9 /x\n",
		"5000-4000 r-xp 0 0:0 9 /backwards\n"};

	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		char text[512];

		CHECK(tell(junk[i]) < 0);
		snprintf(text, sizeof(text), AGENT "%s\n" AGENT, junk[i]);
		tell(text);
	}
	CHECK_EQ(tell(AGENT), 0);
	CHECK_STR(address_map_find(map, 0x1800)->name, "libspanprof.so");
}

TEST(a_path_that_is_too_long_is_passed_over)
{
	char *text = malloc(20000);

	CHECK(text != NULL);
	strcpy(text, "3000-4000 r-xp 00000000 00:00 6 /");
	memset(text + strlen(text), 'a', 8000);
	strcpy(text + 8033, "\n" AGENT);
	CHECK_EQ(tell(text), 0);
	CHECK(!address_map_find(map, 0x3800));
	free(text);
}

static struct newcomers newcomers = NEWCOMERS_INIT;

TEST(a_newcomers_modules_are_taken_once)
{
	newcomers_note(&newcomers, (uint32_t)getpid());
	newcomers_note(&newcomers, NOBODY);
	begin();
	maps = newcomers_take(&newcomers, NOBODY);
	CHECK(!maps.text);
	maps = newcomers_take(&newcomers, (uint32_t)getpid());
	CHECK(maps.text && strstr(maps.text, "proc_maps_test"));
	begin();
	maps = newcomers_take(&newcomers, (uint32_t)getpid());
	CHECK(!maps.text);
}

TEST(newcomers_are_kept_within_a_bound)
{
	uint32_t parent = (uint32_t)getppid();

	newcomers_note(&newcomers, parent);
	for (unsigned i = 0; i < NEWCOMERS_MAX; i++)
		newcomers_note(&newcomers, (uint32_t)getpid());
	begin();
	maps = newcomers_take(&newcomers, parent);
	CHECK(!maps.text);
	maps = newcomers_take(&newcomers, (uint32_t)getpid());
	CHECK(maps.text != NULL);
}
