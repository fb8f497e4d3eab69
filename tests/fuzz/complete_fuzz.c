/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks hostile samples over this program's own modules, and over lists of
 * modules that tell lies about them.
 *
 * The input is a row of 4-byte pieces, each of which makes one word: of the 17
 * registers first, then of the stack.
 */
#include "exporter/complete.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/snapshot.h"

#define STACK_WORDS 1024ul
#define STACK_ADDRESS UINT64_C(0x7ffff0000000)
#define MODULES_MAX 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct elf_cache cache;
static struct address_map *own_map;
static uint32_t list_number;

/* Records of our modules, to make pcs from and to spoil. */
static struct record_module *records[MODULES_MAX];
static uint32_t record_count;

static union {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + STACK_WORDS * 8];
} shot;

static struct stack stack;

static void keep(const struct record_module *record, void *arg)
{
	(void)arg;
	if (record_count == MODULES_MAX)
		return;
	records[record_count] = malloc(record->head.bytes);
	memcpy(records[record_count++], record, record->head.bytes);
}

static void set_up(void)
{
	own_map = address_map_create(&cache);
	snapshot_map(own_map, 1);
	snapshot_modules(1, keep, NULL);
}

/* A pc at or near the start of a function. */
static uint64_t code_address(uint8_t which, uint16_t number)
{
	const struct record_module *record = records[which % record_count];
	const struct module *module =
		address_map_find(own_map, record->segments[0].start);
	const struct elf_file *file =
		module ? address_map_file(own_map, module) : NULL;
	const struct eh_frame *frames = file ? &file->frames : NULL;

	if (!frames || !frames->entry_count)
		return record->segments[0].start + number;
	return module->load_bias + frames->index_vaddr +
	       (uint64_t)(int64_t)frames->entries[number % frames->entry_count]
		       .start +
	       (which >> 4);
}

static uint64_t word(const uint8_t *piece)
{
	uint16_t number = (uint16_t)(piece[2] | piece[3] << 8);

	switch (piece[0] % 4) {
	case 0:
		return (uint64_t)number << (piece[1] % 64);
	case 1:
		return STACK_ADDRESS + number % (STACK_WORDS * 8 + 64) +
		       (piece[1] & 7) * 8ul;
	default:
		return code_address(piece[1], number);
	}
}

static void make_sample(const uint8_t *data, size_t size)
{
	struct record_sample *s = &shot.sample;
	uint64_t *words = (uint64_t *)(void *)s->stack;
	size_t pieces = size / 4, used = 0;

	memset(&shot, 0, sizeof(shot));
	for (; used < SAMPLE_REGISTERS && used < pieces; used++)
		s->registers[used] = word(data + used * 4);
	s->stack_address = STACK_ADDRESS;
	for (uint32_t i = 0; i < STACK_WORDS && pieces > used; i++)
		words[i] = word(data + (used + i % (pieces - used)) * 4);
	s->stack_bytes = (uint32_t)(STACK_WORDS * 8);
	if (size > 1) {
		s->flags = data[size - 1] & 3;
		s->stack_bytes >>= data[size - 2] & 3;
	}
}

/* Overwrites bytes of some records on their way into a map. */
static struct address_map *spoiled_map(const uint8_t *data, size_t size)
{
	static uint64_t copy[2048];
	struct address_map *map = address_map_create(&cache);
	struct record_module *record = (struct record_module *)copy;
	struct record_modules end = {.head = {.bytes = sizeof(end)},
				     .list = ++list_number,
				     .count = record_count};

	for (uint32_t i = 0; i < record_count; i++) {
		memcpy(copy, records[i], records[i]->head.bytes);
		record->list = list_number;
		for (size_t at = i * 4ul; at + 4 <= size && at < i * 4ul + 8;
		     at += 4) {
			size_t where = (data[at] | data[at + 1] << 8) %
				       record->head.bytes;

			if (where >= sizeof(record->head) + 4 &&
			    data[at + 3] & 1)
				((uint8_t *)copy)[where] ^= data[at + 2];
		}
		address_map_add(map, record);
	}
	address_map_end(map, &end);
	return map;
}

static void walk(struct address_map *map)
{
	struct completer *completer = completer_create(map);

	if (completer_walk(completer, &shot.sample, &stack) >=
		    COMPLETE_RESULTS ||
	    stack.count > COMPLETE_FRAMES_MAX)
		abort();
	for (uint32_t i = 0; i < stack.count; i++) {
		const struct module *module = stack.frames[i].module;
		const struct elf_file *file =
			module ? address_map_file(map, module) : NULL;

		if (file)
			elf_file_symbol(file, stack.frames[i].vaddr);
	}
	completer_destroy(completer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct address_map *map;

	if (!own_map)
		set_up();
	make_sample(data, size);
	if (size < 128 || data[size - 1] & 4) {
		walk(own_map);
		return 0;
	}
	map = spoiled_map(data, size);
	walk(map);
	address_map_destroy(map);
	return 0;
}
