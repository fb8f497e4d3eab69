/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that is said to be /proc/PID/maps, with the library at 0x1000; then
 * looks at what came of it.
 */
#include <stdlib.h>
#include <string.h>

#include "exporter/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AGENT_ADDRESS 0x1000u

static struct elf_cache cache;

static void look_up(struct address_map *map)
{
	for (uint64_t address = 0; address < 0x10000; address += 0x800) {
		const struct module *module = address_map_find(map, address);

		if (module && (!module->path || !module->name[0]))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct address_map *map = address_map_create(&cache);
	struct proc_maps maps = {.text = malloc(size + 1), .len_bytes = size};

	if (map && maps.text) {
		memcpy(maps.text, data, size);
		maps.text[size] = '\0';
		if (proc_maps_tell(&maps, AGENT_ADDRESS, map) == 0 &&
		    address_map_generation(map) == 0)
			abort();
		look_up(map);
	}
	free(maps.text);
	address_map_destroy(map);
	return 0;
}
