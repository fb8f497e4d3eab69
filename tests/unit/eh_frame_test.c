/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind information of this program, of the system's libraries, and of
 * libraries that were made to be without.
 * Runs on: the test program's main thread.
 */
#include "exporter/eh_frame.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/lib/compile.h"
#include "tests/lib/unit.h"

static struct eh_frame frames;

static int load(const char *path)
{
	struct elf_image image;
	int error;

	CHECK_EQ(elf_image_open(&image, path), 0);
	error = eh_frame_load(&frames, &image);
	elf_image_close(&image);
	return error;
}

TEST(all_of_this_program_and_libc_passes)
{
	static const char *const paths[] = {"/proc/self/exe",
					    "/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/ld-linux-x86-64.so.2"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct eh_frame_fde fde;

		CHECK_EQ(load(paths[i]), 0);
		CHECK(frames.entry_count > 10);
		for (uint32_t n = 0; n < frames.entry_count; n++) {
			uint64_t vaddr =
				frames.index_vaddr +
				(uint64_t)(int64_t)frames.entries[n].start;

			CHECK_EQ(eh_frame_find(&frames, vaddr, &fde), 0);
			CHECK_EQ(fde.start, vaddr);
			CHECK_EQ(eh_frame_find(&frames, fde.end - 1, &fde), 0);
			CHECK_EQ(fde.start, vaddr);
		}
		CHECK_EQ(eh_frame_find(&frames, 0, &fde), -ENOENT);
		CHECK_EQ(eh_frame_find(&frames, UINT64_MAX, &fde), -ENOENT);
		eh_frame_free(&frames);
	}
}

TEST(the_start_of_a_program_ends_the_stack)
{
	struct eh_frame_fde fde;
	uint32_t ends = 0;

	CHECK_EQ(load("/proc/self/exe"), 0);
	for (uint32_t n = 0; n < frames.entry_count; n++) {
		uint64_t vaddr = frames.index_vaddr +
				 (uint64_t)(int64_t)frames.entries[n].start;

		CHECK_EQ(eh_frame_find(&frames, vaddr, &fde), 0);
		ends += fde.ends_stack;
	}
	CHECK_EQ(ends, 1);
	eh_frame_free(&frames);
}

TEST(a_library_without_unwind_information_has_none)
{
	struct eh_frame_fde fde;

	CHECK_EQ(
		load(compile_library("libnone.so", "int f(int a) { return a; }",
				     "-nostdlib -Wl,--no-eh-frame-hdr "
				     "-fno-asynchronous-unwind-tables")),
		-ENOENT);
	CHECK_EQ(frames.entry_count, 0);
	CHECK_EQ(eh_frame_find(&frames, 0x1000, &fde), -ENOENT);
}

TEST(between_functions_there_is_none)
{
	struct eh_frame_fde fde;
	uint64_t last_end = 0, gaps = 0;

	CHECK_EQ(load("/lib/x86_64-linux-gnu/libc.so.6"), 0);
	for (uint32_t n = 0; n < frames.entry_count; n++) {
		uint64_t vaddr = frames.index_vaddr +
				 (uint64_t)(int64_t)frames.entries[n].start;

		if (last_end && last_end < vaddr) {
			CHECK_EQ(eh_frame_find(&frames, last_end, &fde),
				 -ENOENT);
			gaps++;
		}
		CHECK_EQ(eh_frame_find(&frames, vaddr, &fde), 0);
		last_end = fde.end;
	}
	CHECK(gaps > 0);
	eh_frame_free(&frames);
}

TEST(reads_outside_are_zeros)
{
	uint64_t word = 1;

	CHECK_EQ(load("/proc/self/exe"), 0);
	CHECK(!eh_frame_read(&frames, frames.vaddr - 8, &word, 8));
	CHECK_EQ(word, 0);
	word = ~UINT64_C(0);
	CHECK(eh_frame_read(&frames, frames.vaddr - 4, &word, 8));
	CHECK_EQ(word & 0xffffffff, 0);
	CHECK(memcmp((uint8_t *)&word + 4, frames.bytes, 4) == 0);
	CHECK(eh_frame_read(&frames, frames.vaddr + frames.len_bytes - 1, &word,
			    8));
	CHECK_EQ(word >> 8, 0);
	CHECK(!eh_frame_read(&frames, frames.vaddr + frames.len_bytes, &word,
			     8));
	CHECK(!eh_frame_read(&frames, UINT64_MAX - 3, &word, 8));
	eh_frame_free(&frames);
}

TEST(an_index_that_is_not_sorted_counts_as_none)
{
	struct elf_image image;
	uint8_t *bytes;
	uint64_t at;

	CHECK_EQ(elf_image_open(&image, "/proc/self/exe"), 0);
	bytes = malloc(image.len_bytes);
	CHECK(bytes != NULL);
	CHECK_EQ(elf_image_read(&image, 0, bytes, image.len_bytes), 0);
	at = image.frame_header.offset + 12;
	CHECK_EQ(elf_image_open_memory(&image, bytes, image.len_bytes), 0);
	CHECK_EQ(eh_frame_load(&frames, &image), 0);
	eh_frame_free(&frames);
	bytes[at + 3] ^= 0x80;
	CHECK_EQ(eh_frame_load(&frames, &image), -ENOENT);
	CHECK(frames.entries == NULL && frames.bytes == NULL);
	free(bytes);
}
