/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes snapshots of the test's own process.
 * Runs on: any thread of a test program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RAX, gettid, dl_iterate_phdr */
#endif
#include "tests/lib/snapshot.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)

static const int dwarf_order[SAMPLE_REGISTERS] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
	REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static _Thread_local uint64_t stack_end;

void snapshot_prepare(void)
{
	pthread_attr_t attributes;
	void *start;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	pthread_attr_getstack(&attributes, &start, &bytes);
	pthread_attr_destroy(&attributes);
	stack_end = (uint64_t)start + bytes;
}

/* Word by word, because a sanitizer's memcpy would refuse other functions'
 * frames. */
__attribute__((no_sanitize("address"))) static void
copy_words(uint64_t *to, uint64_t from, uint64_t bytes)
{
	const volatile uint64_t *at = (const volatile uint64_t *)from;

	for (uint64_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] = at[i];
}

void snapshot_fill(union snapshot *s, const ucontext_t *context,
		   uint64_t below_bytes)
{
	struct record_sample *sample = &s->sample;
	uint64_t bytes;

	memset(sample, 0, sizeof(*sample));
	sample->head.kind = RECORD_SAMPLE;
	for (unsigned int i = 0; i < SAMPLE_REGISTERS; i++)
		sample->registers[i] =
			(uint64_t)context->uc_mcontext.gregs[dwarf_order[i]];
	sample->stack_address =
		((sample->registers[7] & ~UINT64_C(7)) - below_bytes);
	bytes = stack_end - sample->stack_address;
	if (bytes > SAMPLE_STACK_MAX_BYTES) {
		bytes = SAMPLE_STACK_MAX_BYTES;
		sample->flags |= SAMPLE_STACK_CUT;
	}
	sample->stack_bytes = (uint32_t)bytes;
	sample->head.bytes = (uint32_t)(sizeof(*sample) + bytes);
	copy_words((uint64_t *)(void *)sample->stack, sample->stack_address,
		   bytes);
}

static _Thread_local union snapshot *wanted;

static void handle(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	snapshot_fill(wanted, context, 0);
}

__attribute__((noinline)) void snapshot_take(union snapshot *s)
{
	struct sigaction action = {.sa_sigaction = handle,
				   .sa_flags = SA_SIGINFO};
	struct sigaction before;
	long result = SYS_tgkill;

	wanted = s;
	snapshot_prepare();
	sigaction(SIGUSR1, &action, &before);
	/* Not by a function, so that the leaf is this one. */
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)getpid()), "S"((long)gettid()),
			   "d"((long)SIGUSR1)
			 : "rcx", "r11", "memory");
	sigaction(SIGUSR1, &before, NULL);
}

struct listing {
	uint32_t list;
	uint32_t count;
	void (*take)(const struct record_module *, void *);
	void *arg;
};

static void name_module(struct record_module *record,
			const struct dl_phdr_info *info)
{
	struct stat st;

	if (strcmp(info->dlpi_name, "linux-vdso.so.1") == 0)
		snprintf(record->path, PATH_MAX, ELF_IMAGE_VDSO);
	else if (info->dlpi_name[0] == '\0')
		record->path[readlink("/proc/self/exe", record->path,
				      PATH_MAX - 1)] = '\0';
	else if (!realpath(info->dlpi_name, record->path))
		snprintf(record->path, PATH_MAX, "%s", info->dlpi_name);
	record->path_bytes = (uint32_t)strlen(record->path) + 1;
	if (stat(record->path, &st) == 0)
		record->inode = st.st_ino;
}

static void add_segment(struct record_module *record, const ElfW(Phdr) * p)
{
	struct module_segment *s = &record->segments[record->segment_count];
	uint64_t start = (record->load_bias + p->p_vaddr) & -PAGE_BYTES;

	if (record->segment_count == MODULE_SEGMENTS)
		return;
	s->start = start;
	s->end =
		(record->load_bias + p->p_vaddr + p->p_memsz + PAGE_BYTES - 1) &
		-PAGE_BYTES;
	s->offset = p->p_offset & -PAGE_BYTES;
	record->segment_count++;
}

static void add_build_id(struct record_module *record, const ElfW(Phdr) * p)
{
	const uint8_t *at = (const uint8_t *)record->load_bias + p->p_vaddr;
	const uint8_t *end = at + p->p_memsz;

	while (at + sizeof(ElfW(Nhdr)) < end) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name_bytes = (note->n_namesz + 3u) & ~3u;

		at += sizeof(*note) + name_bytes;
		if (note->n_type == NT_GNU_BUILD_ID && name_bytes == 4) {
			record->build_id_bytes = note->n_descsz;
			memcpy(record->build_id, at, note->n_descsz);
			return;
		}
		at += (note->n_descsz + 3u) & ~3u;
	}
}

static int list_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct listing *listing = arg;
	struct record_module *record = calloc(1, sizeof(*record) + PATH_MAX);

	(void)size;
	record->head.kind = RECORD_MODULE;
	record->list = listing->list;
	record->load_bias = info->dlpi_addr;
	name_module(record, info);
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			add_segment(record, p);
		if (p->p_type == PT_NOTE && p->p_align <= 4)
			add_build_id(record, p);
	}
	record->head.bytes =
		(uint32_t)((sizeof(*record) + record->path_bytes + 7) & ~7ull);
	listing->take(record, listing->arg);
	listing->count++;
	free(record);
	return 0;
}

uint32_t snapshot_modules(uint32_t list,
			  void (*take)(const struct record_module *, void *),
			  void *arg)
{
	struct listing listing = {list, 0, take, arg};

	dl_iterate_phdr(list_module, &listing);
	return listing.count;
}

static void add_to_map(const struct record_module *record, void *arg)
{
	address_map_add(arg, record);
}

int snapshot_map(struct address_map *map, uint32_t list)
{
	struct record_modules end = {
		.head = {.bytes = sizeof(end), .kind = RECORD_MODULES},
		.list = list};

	end.count = snapshot_modules(list, add_to_map, map);
	return address_map_end(map, &end);
}
