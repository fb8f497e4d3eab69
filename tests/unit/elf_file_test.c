/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are what was mapped, and files that are anything else.
 * Runs on: the test program's main thread.
 */
#include "exporter/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/compile.h"
#include "tests/lib/unit.h"

#define CODE "int f(int a) { return a * 3; }"
#define OTHER_CODE "int g(int a) { return a / 3; } int f(int a) { return a; }"

static struct elf_cache cache;

static void forget_all(void)
{
	elf_cache_fini(&cache);
	CHECK_EQ(cache.count, 0);
	CHECK_EQ(cache.bytes, 0);
	cache = (struct elf_cache){.count = 0};
}

static struct elf_image image_of(const char *path)
{
	struct elf_image image;

	CHECK_EQ(elf_image_open(&image, path), 0);
	elf_image_close(&image);
	return image;
}

static struct elf_identity identity_of(const char *path,
				       const struct elf_image *image)
{
	return (struct elf_identity){.path = path,
				     .build_id = image->build_id,
				     .build_id_bytes = image->build_id_bytes,
				     .inode = image->inode};
}

TEST(the_headers_of_a_library_are_read)
{
	struct elf_image image = image_of(
		compile_library("libid.so", CODE, "-Wl,--build-id=0x0102ff"));

	CHECK_EQ(image.build_id_bytes, 3);
	CHECK(memcmp(image.build_id, "\1\2\377", 3) == 0);
	CHECK(image.segment_count >= 2);
	CHECK(image.frame_header.bytes >= 20);
	CHECK(image.has_sections);
}

TEST(the_vdso_is_our_own)
{
	struct elf_identity identity = {.path = ELF_IMAGE_VDSO};
	struct elf_file *file;
	struct eh_frame_fde fde;
	uint64_t vaddr;
	uint32_t named = 0;

	if (!getauxval(AT_SYSINFO_EHDR))
		unit_skip("no vDSO");
	file = elf_cache_get(&cache, &identity);
	CHECK(file != NULL);
	CHECK(file->frames.entry_count > 0);
	CHECK(file->image.build_id_bytes > 0);
	for (uint32_t i = 0; i < file->frames.entry_count; i++) {
		vaddr = file->frames.index_vaddr +
			(uint64_t)(int64_t)file->frames.entries[i].start;
		CHECK_EQ(eh_frame_find(&file->frames, vaddr, &fde), 0);
		named += elf_file_symbol(file, vaddr) != NULL;
	}
	CHECK(named > 3); /* __vdso_clock_gettime and its like */
	elf_cache_put(&cache, file);
	forget_all();
}

TEST(what_is_no_library_is_refused)
{
	struct elf_image image;
	const char *fifo = compile_path("fifo");
	FILE *f;

	CHECK_EQ(elf_image_open(&image, "/nonexistent"), -ENOENT);
	CHECK_EQ(elf_image_open(&image, "relative"), -EINVAL);
	CHECK_EQ(elf_image_open(&image, ""), -EINVAL);
	CHECK_EQ(elf_image_open(&image, "[heap]"), -EINVAL);
	CHECK_EQ(elf_image_open(&image, "/"), -EINVAL);
	CHECK_EQ(elf_image_open(&image, "/dev/zero"), -EINVAL);
	CHECK_EQ(elf_image_open(&image, "/proc/self/maps"), -EINVAL);
	CHECK_EQ(elf_image_open(&image, "/etc/passwd"), -ENOEXEC);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	CHECK_EQ(elf_image_open(&image, fifo), -EINVAL); /* and doesn't wait */
	f = fopen(compile_path("short"), "w");
	CHECK(f != NULL);
	fputs("\177ELF", f);
	fclose(f);
	CHECK_EQ(elf_image_open(&image, compile_path("short")), -ENOEXEC);
}

TEST(a_file_is_shared_and_kept)
{
	const char *path = compile_library("libshared.so", CODE, "");
	struct elf_image image = image_of(path);
	struct elf_identity identity = identity_of(path, &image);
	struct elf_file *file = elf_cache_get(&cache, &identity);

	CHECK(file != NULL);
	CHECK(elf_cache_get(&cache, &identity) == file);
	elf_cache_put(&cache, file);
	elf_cache_put(&cache, file);
	CHECK_EQ(cache.count, 1);
	CHECK_EQ(cache.counts.read, 1);
	forget_all();
}

TEST(a_file_with_another_build_id_is_not_used)
{
	const char *path =
		compile_library("libreplaced.so", CODE, "-Wl,--build-id=sha1");
	struct elf_image image = image_of(path);
	struct elf_identity identity = identity_of(path, &image);

	CHECK(compile_library("libreplaced.so", OTHER_CODE,
			      "-Wl,--build-id=sha1") != NULL);
	CHECK(elf_cache_get(&cache, &identity) == NULL);
	CHECK_EQ(cache.counts.replaced, 1);
	identity.build_id_bytes--;
	CHECK(elf_cache_get(&cache, &identity) == NULL);
	forget_all();
}

TEST(what_was_read_outlives_its_file)
{
	const char *path =
		compile_library("libgone.so", CODE, "-Wl,--build-id=sha1");
	struct elf_image image = image_of(path);
	struct elf_identity identity = identity_of(path, &image);
	struct elf_file *file = elf_cache_get(&cache, &identity);

	CHECK(file != NULL);
	CHECK_EQ(truncate(path, 0), 0);
	unlink(path);
	CHECK(file->symbols != NULL && file->frames.entry_count > 0);
	elf_cache_put(&cache, file);
	CHECK(elf_cache_get(&cache, &identity) == file);
	elf_cache_put(&cache, file);
	forget_all();
	CHECK(elf_cache_get(&cache, &identity) == NULL);
}

TEST(without_a_build_id_the_inode_tells)
{
	const char *path =
		compile_library("libnoid.so", CODE, "-Wl,--build-id=none");
	struct elf_image image = image_of(path);
	struct elf_identity identity = identity_of(path, &image);
	struct elf_file *file;

	CHECK_EQ(image.build_id_bytes, 0);
	file = elf_cache_get(&cache, &identity);
	CHECK(file != NULL);
	elf_cache_put(&cache, file);
	identity.inode++;
	CHECK(elf_cache_get(&cache, &identity) == NULL);
	identity.inode = 0;
	CHECK(elf_cache_get(&cache, &identity) == NULL);
	forget_all();
}

/* The file under one of many names. */
static struct elf_file *get_link(struct elf_identity identity, unsigned int i,
				 const char *target)
{
	char name[32];

	snprintf(name, sizeof(name), "link%u", i);
	identity.path = compile_path(name);
	if (symlink(target, identity.path))
		CHECK_EQ(errno, EEXIST);
	return elf_cache_get(&cache, &identity);
}

TEST(files_that_nobody_uses_give_way)
{
	char target[256];
	struct elf_identity identity;
	struct elf_image image;
	struct elf_file *kept;

	snprintf(target, sizeof(target), "%s",
		 compile_library("libmany.so", CODE, "-Wl,--build-id=0x01"));
	image = image_of(target);
	identity = identity_of(target, &image);
	kept = elf_cache_get(&cache, &identity);
	CHECK(kept != NULL);
	for (unsigned int i = 0; i < ELF_CACHE_FILES + 10; i++) {
		struct elf_file *file = get_link(identity, i, target);

		CHECK(file != NULL);
		elf_cache_put(&cache, file);
	}
	CHECK_EQ(cache.count, ELF_CACHE_FILES);
	CHECK(elf_cache_get(&cache, &identity) == kept);
	elf_cache_put(&cache, kept);
	elf_cache_put(&cache, kept);
	forget_all();
}

TEST(files_in_use_fill_the_cache)
{
	static struct elf_file *files[ELF_CACHE_FILES];
	char target[256];
	struct elf_identity identity;
	struct elf_image image;

	snprintf(target, sizeof(target), "%s",
		 compile_library("libmany.so", CODE, "-Wl,--build-id=0x01"));
	image = image_of(target);
	identity = identity_of(target, &image);
	for (unsigned int i = 0; i < ELF_CACHE_FILES; i++) {
		files[i] = get_link(identity, i, target);
		CHECK(files[i] != NULL);
	}
	CHECK(elf_cache_get(&cache, &identity) == NULL);
	CHECK_EQ(cache.counts.no_room, 1);
	for (unsigned int i = 0; i < ELF_CACHE_FILES; i++)
		elf_cache_put(&cache, files[i]);
	forget_all();
}

TEST(a_segment_must_lie_where_the_file_has_it)
{
	const char *path = compile_library("libmaps.so", CODE, "");
	struct elf_image image = image_of(path);
	struct elf_identity identity = identity_of(path, &image);
	struct elf_file *file = elf_cache_get(&cache, &identity);
	uint64_t vaddr = 0, offset = 0;

	CHECK(file != NULL);
	for (uint32_t i = 0; i < image.segment_count; i++)
		if (image.segments[i].executable) {
			vaddr = image.segments[i].vaddr & ~UINT64_C(4095);
			offset = image.segments[i].offset & ~UINT64_C(4095);
		}
	CHECK(elf_file_maps(file, vaddr, offset));
	CHECK(!elf_file_maps(file, vaddr + 4096, offset));
	CHECK(!elf_file_maps(file, vaddr, offset + 4096));
	CHECK(!elf_file_maps(file, 0, 0));
	CHECK(!elf_file_maps(file, UINT64_MAX, UINT64_MAX));
	elf_cache_put(&cache, file);
	forget_all();
}

/* Half of a good library, and the same with each byte of its headers spoiled
 * in turn: nothing may crash or be believed to be there. */
TEST(damaged_files_do_no_harm)
{
	const char *path = compile_library("libgood.so", CODE, "");
	struct elf_image image;
	const struct elf_image *const images[] = {&image, NULL};
	struct eh_frame frames;
	struct stat st;
	uint8_t *bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(bytes != MAP_FAILED);
	for (size_t len = 0; len < (size_t)st.st_size; len += 509)
		if (elf_image_open_memory(&image, bytes, len) == 0) {
			eh_frame_load(&frames, &image);
			eh_frame_free(&frames);
			symbols_destroy(symbols_load(images));
		}
	for (size_t i = 0; i < 1024; i++) {
		uint8_t good = bytes[i];

		bytes[i] = (uint8_t)~good;
		if (elf_image_open_memory(&image, bytes, (size_t)st.st_size) ==
		    0) {
			eh_frame_load(&frames, &image);
			eh_frame_free(&frames);
			symbols_destroy(symbols_load(images));
		}
		bytes[i] = good;
	}
	munmap(bytes, (size_t)st.st_size);
}
