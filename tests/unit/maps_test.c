/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of modules of this very process, against what the dynamic loader
 * says, and of files that are mapped by hand.
 * Runs on: the test program's main thread.
 */
#include "sampler/maps.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/agent.h"
#include "tests/lib/records.h"
#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

#define PAGE 4096u

/* Tells the list even if it is the one that was told last: to another
 * process, as it seems. */
static void tell_afresh(void)
{
	static uint32_t pid = 1000000;

	agent_begin();
	process->pid = ++pid;
	maps_tell();
	records_take();
}

static const struct record_module *module_at(uint64_t address)
{
	for (size_t i = 0; i < records_count(RECORD_MODULE); i++) {
		const struct record_module *m = records_get(RECORD_MODULE, i);

		for (uint32_t s = 0; s < m->segment_count; s++) {
			if (address >= m->segments[s].start &&
			    address < m->segments[s].end)
				return m;
		}
	}
	return NULL;
}

/* The GNU build id in the loader's copy of a module's notes. */
static size_t loaded_build_id(const struct dl_phdr_info *info,
			      const uint8_t **id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uint8_t *at =
			(const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
		const uint8_t *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && at + 12 <= end) {
			const ElfW(Nhdr) *note = (const void *)at;

			*id = at + 12 + (note->n_namesz + 3) / 4 * 4;
			if (note->n_type == NT_GNU_BUILD_ID &&
			    note->n_namesz == 4 && !memcmp(at + 12, "GNU", 4))
				return note->n_descsz;
			at = *id + (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 0;
}

static void check_path(const struct record_module *module, const char *name)
{
	char path[PATH_MAX];

	if (strstr(name, "linux-vdso")) {
		CHECK_STR(module->path, "[vdso]");
		return;
	}
	CHECK(realpath(*name ? name : "/proc/self/exe", path) != NULL);
	CHECK_STR(module->path, path);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *checked)
{
	const uint8_t *id = NULL;
	size_t id_bytes = loaded_build_id(info, &id);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const struct record_module *m;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		m = module_at(info->dlpi_addr + segment->p_vaddr);
		CHECK(m != NULL);
		CHECK_EQ(m->load_bias, info->dlpi_addr);
		CHECK_EQ(m->build_id_bytes, id_bytes);
		CHECK(!memcmp(m->build_id, id, id_bytes));
		CHECK_EQ(m->path_bytes, strlen(m->path) + 1);
		check_path(m, info->dlpi_name);
		++*(unsigned *)checked;
	}
	return 0;
}

TEST(modules_are_told_as_the_loader_knows_them)
{
	unsigned checked = 0;

	tell_afresh();
	dl_iterate_phdr(check_loaded, &checked);
	/* This program, libc, ld.so, the vDSO and more. */
	CHECK(checked >= 4);
}

TEST(a_list_ends_with_its_number_and_count)
{
	const struct record_modules *end;
	size_t count;

	tell_afresh();
	count = records_count(RECORD_MODULE);
	CHECK_EQ(records_count(RECORD_MODULES), 1);
	end = records_get(RECORD_MODULES, 0);
	CHECK_EQ(end->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct record_module *m = records_get(RECORD_MODULE, i);

		CHECK_EQ(m->list, end->list);
		CHECK(m->segment_count > 0);
		for (size_t j = 0; j < i; j++) {
			const struct record_module *other =
				records_get(RECORD_MODULE, j);

			CHECK(m->segments[0].start != other->segments[0].start);
		}
	}
	CHECK_EQ(records_at(count)->kind, RECORD_MODULES);
}

/* Maps pages of a file and tells the list. */
static uint8_t *map_file(const char *path, uint64_t offset, size_t bytes,
			 int protection)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at =
		mmap(NULL, bytes, protection, MAP_PRIVATE, fd, (off_t)offset);

	CHECK(fd >= 0);
	CHECK(at != MAP_FAILED);
	close(fd);
	return at;
}

static const char *zeros(size_t pages)
{
	static uint8_t bytes[32 * PAGE];

	CHECK(pages * PAGE <= sizeof(bytes));
	return temp_file(bytes, pages * PAGE);
}

TEST(a_list_is_told_again_only_when_it_changes)
{
	uint32_t list;
	uint8_t *code;

	tell_afresh();
	list = ((const struct record_modules *)records_get(RECORD_MODULES, 0))
		       ->list;
	maps_tell();
	CHECK_EQ(records_take(), 0);
	code = map_file(zeros(1), 0, PAGE, PROT_READ | PROT_EXEC);
	maps_tell();
	records_take();
	CHECK(module_at((uint64_t)code) != NULL);
	CHECK_EQ(((const struct record_modules *)records_get(RECORD_MODULES, 0))
			 ->list,
		 list + 1);
	munmap(code, PAGE);
	maps_tell();
	records_take();
	CHECK(!module_at((uint64_t)code));
}

TEST(data_and_memory_without_a_file_are_no_modules)
{
	uint8_t *data = map_file(zeros(1), 0, PAGE, PROT_READ);
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(code != MAP_FAILED);
	tell_afresh();
	CHECK(!module_at((uint64_t)data));
	CHECK(!module_at((uint64_t)code));
	munmap(data, PAGE);
	munmap(code, PAGE);
}

TEST(a_full_ring_delays_the_list)
{
	agent_begin();
	process->pid = 999999;
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		atomic_store(&agent.ring->blocks[i].owner, 1);
	maps_tell();
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		atomic_store(&agent.ring->blocks[i].owner, 0);
	CHECK_EQ(records_take(), 0);
	maps_tell();
	records_take();
	CHECK_EQ(records_count(RECORD_MODULES), 1);
}

TEST(two_mappings_of_one_file_are_two_modules)
{
	const char *path = zeros(1);
	uint8_t *one = map_file(path, 0, PAGE, PROT_READ | PROT_EXEC);
	uint8_t *two = map_file(path, 0, PAGE, PROT_READ | PROT_EXEC);

	tell_afresh();
	CHECK(module_at((uint64_t)one) && module_at((uint64_t)two));
	CHECK(module_at((uint64_t)one) != module_at((uint64_t)two));
	munmap(one, PAGE);
	munmap(two, PAGE);
}

TEST(of_too_many_segments_the_first_ones_are_told)
{
	const size_t pages = 2 * MODULE_SEGMENTS + 4;
	uint8_t *at = map_file(zeros(pages), 0, pages * PAGE, PROT_READ);
	const struct record_module *m;

	for (size_t i = 0; i < pages; i += 2)
		mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_EXEC);
	tell_afresh();
	m = module_at((uint64_t)at);
	CHECK(m != NULL);
	CHECK_EQ(m->segment_count, MODULE_SEGMENTS);
	for (uint64_t i = 0; i < MODULE_SEGMENTS; i++) {
		CHECK_EQ(m->segments[i].start, (uint64_t)at + 2 * i * PAGE);
		CHECK_EQ(m->segments[i].end, m->segments[i].start + PAGE);
		CHECK_EQ(m->segments[i].offset, 2 * i * PAGE);
	}
	munmap(at, pages * PAGE);
}

TEST(a_path_comes_as_the_kernel_shows_it)
{
	char path[256];
	uint8_t *one;
	uint8_t *two;

	snprintf(path, sizeof(path), "%s/a b-c r-xp", temp_folder());
	CHECK_EQ(rename(zeros(1), path), 0);
	one = map_file(path, 0, PAGE, PROT_READ | PROT_EXEC);
	tell_afresh();
	CHECK_STR(module_at((uint64_t)one)->path, path);
	CHECK_EQ(unlink(path), 0);
	tell_afresh();
	strcat(path, " (deleted)");
	CHECK_STR(module_at((uint64_t)one)->path, path);
	munmap(one, PAGE);
	snprintf(path, sizeof(path), "%s/new\nline", temp_folder());
	CHECK_EQ(rename(zeros(1), path), 0);
	two = map_file(path, 0, PAGE, PROT_READ | PROT_EXEC);
	tell_afresh();
	CHECK(strstr(module_at((uint64_t)two)->path, "/new\\012line"));
	munmap(two, PAGE);
}

/* ---- an ELF file made by hand ---- */

/* Page 0 holds headers and a note; page 1 is code that asks to be at page 3,
 * as lld lays files out. */
struct made {
	Elf64_Ehdr elf;
	Elf64_Phdr segments[3];
	Elf64_Nhdr note;
	char name[4];
	uint8_t id[20];
	uint8_t rest[2 * PAGE - sizeof(Elf64_Ehdr) - 3 * sizeof(Elf64_Phdr) -
		     sizeof(Elf64_Nhdr) - 24];
};

static struct made good_elf(void)
{
	struct made made = {
		.elf = {.e_phoff = offsetof(struct made, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3},
		.segments = {{.p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_filesz = PAGE,
			      .p_memsz = PAGE},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = PAGE,
			      .p_vaddr = 3 * PAGE,
			      .p_filesz = PAGE,
			      .p_memsz = PAGE},
			     {.p_type = PT_NOTE,
			      .p_vaddr = offsetof(struct made, note),
			      .p_filesz = 36}},
		.note = {4, 20, NT_GNU_BUILD_ID},
		.name = "GNU",
	};

	for (uint8_t i = 0; i < 20; i++)
		made.id[i] = (uint8_t)(i + 1);
	return made;
}

/* Maps it as its segments say and returns where its address 0 is. */
static uint8_t *load(const struct made *made)
{
	const char *path = temp_file(made, sizeof(*made));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *base = mmap(NULL, 5 * PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(base != MAP_FAILED);
	CHECK(mmap(base, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	      base);
	CHECK(mmap(base + 3 * PAGE, PAGE, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_FIXED, fd, PAGE) == base + 3 * PAGE);
	close(fd);
	return base;
}

/* What is told of it; lives until the next tell_afresh. */
static const struct record_module *tell_made(const struct made *made)
{
	uint8_t *base = load(made);
	const struct record_module *m;

	tell_afresh();
	m = module_at((uint64_t)base + 3 * PAGE);
	CHECK(m != NULL);
	CHECK_EQ(m->segment_count, 1);
	CHECK_EQ(m->segments[0].offset, PAGE);
	munmap(base, 5 * PAGE);
	return m;
}

/* How far the load bias is from the segment's address. */
static uint64_t bias_of(const struct record_module *m)
{
	return m->segments[0].start - m->load_bias;
}

TEST(the_load_bias_is_that_of_the_segments_addresses)
{
	struct made made = good_elf();
	const struct record_module *m = tell_made(&made);

	CHECK_EQ(bias_of(m), 3 * PAGE);
	CHECK_EQ(m->build_id_bytes, 20);
	CHECK(!memcmp(m->build_id, made.id, 20));
}

TEST(headers_that_make_no_sense_leave_offsets_as_addresses)
{
	struct made made = good_elf();

	made.elf.e_phentsize = 1;
	CHECK_EQ(bias_of(tell_made(&made)), PAGE);
	made = good_elf();
	made.elf.e_phoff = UINT64_MAX - 8;
	CHECK_EQ(bias_of(tell_made(&made)), PAGE);
	made = good_elf();
	made.elf.e_phnum = 0;
	CHECK_EQ(bias_of(tell_made(&made)), PAGE);
	made = good_elf();
	made.segments[1].p_flags = PF_R;
	CHECK_EQ(bias_of(tell_made(&made)), PAGE);
}

TEST(notes_that_make_no_sense_give_no_build_id)
{
	struct made bad[6];

	for (int i = 0; i < 6; i++)
		bad[i] = good_elf();
	bad[0].note.n_descsz = MODULE_BUILD_ID_BYTES + 1;
	bad[1].note.n_namesz = UINT32_MAX;
	bad[2].note.n_descsz = UINT32_MAX - 2;
	bad[3].note.n_type = NT_GNU_ABI_TAG;
	bad[4].segments[2].p_filesz = 11;
	bad[5].segments[2].p_vaddr = UINT64_C(1) << 60;
	for (int i = 0; i < 6; i++)
		CHECK_EQ(tell_made(&bad[i])->build_id_bytes, 0);
}

TEST(more_program_headers_than_there_are_do_no_harm)
{
	struct made made = good_elf();

	made.elf.e_phnum = UINT16_MAX;
	CHECK_EQ(bias_of(tell_made(&made)), 3 * PAGE);
}

TEST(the_mapping_of_an_address_is_found)
{
	uint8_t *at = mmap(NULL, 3 * PAGE, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = 1;
	uint64_t end = 1;

	CHECK(at != MAP_FAILED);
	/* Neighbours that the kernel can't join. */
	mprotect(at, PAGE, PROT_NONE);
	mprotect(at + 2 * PAGE, PAGE, PROT_NONE);
	for (unsigned i = 0; i < PAGE; i += PAGE - 1) {
		maps_find((uint64_t)at + PAGE + i, &start, &end);
		CHECK_EQ(start, (uint64_t)at + PAGE);
		CHECK_EQ(end, (uint64_t)at + 2 * PAGE);
	}
	munmap(at, 3 * PAGE);
	maps_find((uint64_t)at + PAGE, &start, &end);
	CHECK_EQ(start, 0);
	CHECK_EQ(end, 0);
	maps_find((uint64_t)&start, &start, &end);
	CHECK((uint64_t)&start >= start && (uint64_t)&start < end);
}
