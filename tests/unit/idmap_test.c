/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the containers of report/: map, interned strings, arena.
 * Runs on: the test program's main thread.
 */
#include "report/idmap.h"

#include "report/arena.h"
#include "report/intern.h"
#include "tests/lib/unit.h"

TEST(idmap_keeps_what_was_stored)
{
	struct idmap map = {0};

	CHECK_EQ(idmap_get(&map, 5), IDMAP_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		*idmap_at(&map, (uint64_t)i << 40) = i;
	CHECK_EQ(map.used, 10000);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_EQ(idmap_get(&map, (uint64_t)i << 40), i);
	CHECK_EQ(*idmap_at(&map, 0), 0);
	CHECK_EQ(idmap_get(&map, 1), IDMAP_NONE);
	*idmap_at(&map, UINT64_MAX) = 7;
	CHECK_EQ(idmap_get(&map, UINT64_MAX), 7);
	idmap_fini(&map);
}

TEST(intern_numbers_each_string_once)
{
	struct intern *table = intern_create();
	uint32_t a = intern_put(table, "abc", 3), number;
	const char *text = intern_get(table, a, NULL);
	size_t bytes;

	CHECK_EQ(intern_put(table, "", 0), 0);
	CHECK_EQ(intern_put(table, "abcd", 3), a);
	CHECK(intern_put(table, "abcd", 4) != a);
	CHECK_STR(text, "abc");
	for (uint64_t i = 0; i < 100000; i++)
		intern_put(table, &i, sizeof(i));
	CHECK(intern_get(table, a, &bytes) == text);
	CHECK_EQ(bytes, 3);
	number = intern_count(table);
	for (uint64_t i = 0; i < 100000; i++)
		intern_put(table, &i, sizeof(i));
	CHECK_EQ(intern_count(table), number);
	intern_destroy(table);
}

TEST(intern_keeps_strings_longer_than_a_chunk)
{
	static char large[3 << 20];
	struct intern *table = intern_create();
	uint32_t number = intern_put(table, large, sizeof(large));
	size_t bytes;

	intern_get(table, number, &bytes);
	CHECK_EQ(bytes, sizeof(large));
	intern_destroy(table);
}

TEST(arena_gives_aligned_memory_up_to_its_limit)
{
	struct arena arena;
	size_t taken = 0;

	arena_init(&arena, (size_t)4 << 20);
	for (;;) {
		void *memory = arena_take(&arena, 1000);

		if (!memory)
			break;
		CHECK_EQ((uintptr_t)memory % 16, 0);
		memset(memory, 1, 1000);
		taken += 1000;
	}
	CHECK(arena.refused);
	CHECK(taken > (size_t)3 << 20);
	CHECK(taken <= (size_t)4 << 20);
	CHECK(!arena_take(&arena, SIZE_MAX));
	arena_fini(&arena);
}
