/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the exporter which modules are mapped where.
 * Runs on: the sampler thread; raw system calls only.
 */
#include "sampler/maps.h"

#include <elf.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "preload/process.h"
#include "preload/text.h"
#include "sampler/arch.h"
#include "sampler/lines.h"
#include "sampler/ring.h"

/* /proc/self/maps reads as empty once the main thread has left. */
#define MAPS "/proc/thread-self/maps"

/* One line: "start-end perms offset dev inode   path". */
struct mapping {
	uint64_t start, end, offset, inode;
	bool executable;
	const char *path;
};

/* The module that is being put together: consecutive mappings of one file. */
static struct {
	uint64_t head; /* address of file offset 0, 0 when not mapped */
	uint64_t inode;
	uint32_t segment_count;
	struct module_segment segments[MODULE_SEGMENTS];
	char path[4096];
} module;

static struct {
	uint32_t pid;      /* a forked child tells its own */
	uint32_t restarts; /* another exporter knows nothing */
	uint64_t hash;     /* of the list that was told last */
	uint32_t list;
	uint32_t written;
	uint32_t block_hint;
} told;

static const char *skip_word(const char *p)
{
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	return p;
}

static bool parse(const char *line, struct mapping *map)
{
	const char *p = line;

	if (!text_number_sig(&p, 16, &map->start) || *p++ != '-' ||
	    !text_number_sig(&p, 16, &map->end) || *p++ != ' ' || !p[0] ||
	    !p[1] || !p[2])
		return false;
	map->executable = p[2] == 'x';
	p = skip_word(p);
	if (!text_number_sig(&p, 16, &map->offset))
		return false;
	p = skip_word(skip_word(p));
	if (!text_number_sig(&p, 10, &map->inode))
		return false;
	map->path = skip_word(p);
	return true;
}

/* Memory of our own that may vanish under our hands (dlclose). */
static bool peek(uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes};
	struct iovec remote = {(void *)(uintptr_t)address, bytes};
	long tid = SYS0(SYS_gettid);

	return SYS6(SYS_process_vm_readv, tid, &local, 1, &remote, 1, 0) ==
	       (long)bytes;
}

/* ELF note: a header, the name, the description, both padded to 4 bytes. */
static void find_build_id(struct record_module *record, uint64_t at,
			  uint64_t bytes)
{
	static uint32_t notes[256];
	uint64_t size =
		bytes < sizeof(notes) ? bytes & ~UINT64_C(3) : sizeof(notes);
	uint64_t i = 0;

	if (record->build_id_bytes || !peek(at, notes, size))
		return;
	while (i + 4 <= size / 4) {
		uint32_t name = (notes[i] + 3) / 4;
		uint32_t length = notes[i + 1];
		uint64_t text = i + 3 + name;

		if (name > 64 || length > MODULE_BUILD_ID_BYTES ||
		    text + (length + 3) / 4 > size / 4)
			return;
		if (notes[i + 2] == NT_GNU_BUILD_ID && name == 1 &&
		    notes[i + 3] == 0x554e47 /* "GNU" */) {
			copy_bytes_sig(record->build_id, &notes[text], length);
			record->build_id_bytes = length;
			return;
		}
		i = text + (length + 3) / 4;
	}
}

/* Where the segment that holds this executable mapping asked to be. */
static void find_load_bias(struct record_module *record,
			   const Elf64_Phdr *segment)
{
	uint64_t first = segment->p_offset & ~UINT64_C(4095);
	const struct module_segment *map = &module.segments[0];

	if (!(segment->p_flags & PF_X) || map->offset < first ||
	    map->offset >= segment->p_offset + segment->p_filesz)
		return;
	record->load_bias =
		map->start - map->offset + segment->p_offset - segment->p_vaddr;
}

static void read_elf(struct record_module *record)
{
	static Elf64_Phdr headers[32];
	Elf64_Ehdr elf;
	unsigned count;

	record->load_bias =
		module.segments[0].start - module.segments[0].offset;
	if (!module.head || !peek(module.head, &elf, sizeof(elf)) ||
	    elf.e_phentsize != sizeof(headers[0]))
		return;
	count = elf.e_phnum < 32 ? elf.e_phnum : 32;
	if (!peek(module.head + elf.e_phoff, headers,
		  count * sizeof(headers[0])))
		return;
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type == PT_LOAD)
			find_load_bias(record, &headers[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type == PT_NOTE)
			find_build_id(record,
				      record->load_bias + headers[i].p_vaddr,
				      headers[i].p_filesz);
	}
}

static void flush_module(void)
{
	size_t path_bytes = text_length_sig(module.path) + 1;
	struct ring_grip grip;
	struct record_module *record;

	if (module.segment_count == 0)
		return;
	record = ring_open_sig(&grip, &told.block_hint,
			       (uint32_t)SYS0(SYS_gettid),
			       sizeof(*record) + path_bytes);
	if (record) {
		zero_bytes_sig((char *)record + sizeof(record->head),
			       sizeof(*record) - sizeof(record->head));
		record->list = told.list;
		record->inode = module.inode;
		record->segment_count = module.segment_count;
		copy_bytes_sig(record->segments, module.segments,
			       sizeof(module.segments));
		record->path_bytes = (uint32_t)path_bytes;
		copy_bytes_sig(record->path, module.path, path_bytes);
		read_elf(record);
		ring_close_sig(&grip, RECORD_MODULE,
			       sizeof(*record) + path_bytes);
	}
	told.written++;
	module.segment_count = 0;
}

static bool is_module(const struct mapping *map)
{
	return map->inode != 0 || text_equal_sig(map->path, "[vdso]");
}

static void add_mapping(const struct mapping *map)
{
	if (map->inode != module.inode ||
	    !text_equal_sig(map->path, module.path) || map->offset == 0) {
		flush_module();
		module.head = 0;
		module.inode = map->inode;
		text_copy_sig(module.path, sizeof(module.path), map->path);
		module.segment_count = 0;
	}
	if (map->offset == 0)
		module.head = map->start;
	if (map->executable && module.segment_count < MODULE_SEGMENTS) {
		struct module_segment *segment =
			&module.segments[module.segment_count++];

		segment->start = map->start;
		segment->end = map->end;
		segment->offset = map->offset;
	}
}

/* FNV-1a over what matters of the executable mappings. */
static uint64_t hash_mapping(uint64_t hash, const struct mapping *map)
{
	const uint64_t words[] = {map->start, map->end, map->offset,
				  map->inode};

	for (unsigned i = 0; i < 4; i++)
		hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
	for (const char *p = map->path; *p; p++)
		hash = (hash ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	return hash;
}

static void each_mapping(void (*visit)(const struct mapping *, void *),
			 void *context)
{
	struct mapping map;
	char *line;

	if (lines_open(MAPS) != 0)
		return;
	while ((line = lines_next())) {
		if (parse(line, &map))
			visit(&map, context);
	}
	lines_close();
}

static void hash_one(const struct mapping *map, void *hash)
{
	if (map->executable && is_module(map))
		*(uint64_t *)hash = hash_mapping(*(uint64_t *)hash, map);
}

static void tell_one(const struct mapping *map, void *unused)
{
	(void)unused;
	if (is_module(map))
		add_mapping(map);
}

void maps_tell(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	uint32_t restarts = atomic_load(&agent.ring->header.exporter_restarts);
	struct ring_grip grip;
	struct record_modules *record;

	each_mapping(hash_one, &hash);
	if (hash == told.hash && told.pid == process->pid &&
	    told.restarts == restarts)
		return;
	told.pid = process->pid;
	told.restarts = restarts;
	told.hash = hash;
	told.list++;
	told.written = 0;
	module.inode = UINT64_MAX;
	module.segment_count = 0;
	each_mapping(tell_one, 0);
	flush_module();
	record = ring_open_sig(&grip, &told.block_hint,
			       (uint32_t)SYS0(SYS_gettid), sizeof(*record));
	if (!record) {
		told.hash = 0; /* tried again in the next round */
		return;
	}
	record->list = told.list;
	record->count = told.written;
	ring_close_sig(&grip, RECORD_MODULES, sizeof(*record));
}

struct search {
	uint64_t address, start, end;
};

static void compare(const struct mapping *map, void *context)
{
	struct search *search = context;

	if (search->address >= map->start && search->address < map->end) {
		search->start = map->start;
		search->end = map->end;
	}
}

void maps_find(uint64_t address, uint64_t *start, uint64_t *end)
{
	struct search search = {address, 0, 0};

	each_mapping(compare, &search);
	*start = search.start;
	*end = search.end;
}
