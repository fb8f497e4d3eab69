/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor sees in the file that the user named.
 * Runs on: the test program's main thread.
 */
#include "supervisor/target.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

#define GLIBC "/lib64/ld-linux-x86-64.so.2"
#define MUSL "/lib/ld-musl-x86_64.so.1"

static struct target target;
static struct {
	Elf64_Ehdr elf;
	Elf64_Phdr headers[2];
	Elf64_Dyn dynamic[2];
	char loader[64];
} file;

static void fill_elf(const char *loader)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.elf.e_ident, ELFMAG, SELFMAG);
	file.elf.e_ident[EI_CLASS] = ELFCLASS64;
	file.elf.e_machine = EM_X86_64;
	file.elf.e_phoff = sizeof(file.elf);
	file.elf.e_phnum = 2;
	file.headers[0].p_type = loader ? PT_INTERP : PT_LOAD;
	file.headers[0].p_offset =
		(uint64_t)((char *)file.loader - (char *)&file);
	file.headers[0].p_filesz = loader ? strlen(loader) + 1 : 0;
	file.headers[1].p_type = PT_DYNAMIC;
	file.headers[1].p_offset =
		(uint64_t)((char *)file.dynamic - (char *)&file);
	file.dynamic[0].d_tag = DT_NEEDED;
	strcpy(file.loader, loader ? loader : "");
}

static const char *executable(const void *bytes, size_t length)
{
	const char *path = temp_file(bytes, length);

	CHECK_EQ(chmod(path, 0755), 0);
	return path;
}

static enum target_obstacle look_elf(const char *loader)
{
	fill_elf(loader);
	target_look(&target, executable(&file, sizeof(file)));
	return target.obstacle;
}

static enum target_obstacle look_text(const char *text)
{
	target_look(&target, executable(text, strlen(text)));
	return target.obstacle;
}

TEST(target_of_glibc_is_fine)
{
	CHECK_EQ(look_elf(GLIBC), TARGET_FINE);
	CHECK_STR(target.loader, GLIBC);
	CHECK_STR(target.missing, "");
}

TEST(target_without_loader_is_static)
{
	CHECK_EQ(look_elf(NULL), TARGET_STATIC);
	CHECK(!target_refuses_preload(&target));
}

TEST(target_without_any_library_must_not_be_preloaded)
{
	fill_elf(GLIBC);
	file.dynamic[0].d_tag = DT_NULL;
	target_look(&target, executable(&file, sizeof(file)));
	CHECK_EQ(target.obstacle, TARGET_NO_LIBC);
	CHECK(target_refuses_preload(&target));
	/* A section without an end has one. */
	memset(file.dynamic, 0xff, sizeof(file.dynamic));
	target_look(&target, executable(&file, sizeof(file)));
	CHECK_EQ(target.obstacle, TARGET_NO_LIBC);
}

TEST(target_of_another_libc_must_not_be_preloaded)
{
	CHECK_EQ(look_elf(MUSL), TARGET_LIBC);
	CHECK(target_refuses_preload(&target));
}

TEST(target_whose_loader_is_missing_says_so)
{
	look_elf("/no/such/ld-linux-x86-64.so.2");
	CHECK_STR(target.missing, "/no/such/ld-linux-x86-64.so.2");
}

TEST(target_of_32_bits_must_not_be_preloaded)
{
	fill_elf(GLIBC);
	file.elf.e_ident[EI_CLASS] = ELFCLASS32;
	target_look(&target, executable(&file, sizeof(file)));
	CHECK_EQ(target.obstacle, TARGET_MACHINE);
	CHECK(target_refuses_preload(&target));
}

TEST(target_with_a_loader_beyond_all_bounds_is_taken_for_static)
{
	fill_elf(GLIBC);
	file.headers[0].p_filesz = 100000;
	target_look(&target, executable(&file, sizeof(file)));
	CHECK_EQ(target.obstacle, TARGET_STATIC);
	file.headers[0].p_filesz = 20;
	file.headers[0].p_offset = UINT64_MAX;
	target_look(&target, executable(&file, sizeof(file)));
	CHECK_EQ(target.obstacle, TARGET_STATIC);
}

TEST(target_of_a_script_is_its_interpreter)
{
	char script[512];
	char path[256];

	fill_elf(NULL);
	snprintf(path, sizeof(path), "%s", executable(&file, sizeof(file)));
	snprintf(script, sizeof(script), "#! %s -x\nwhatever\n", path);
	CHECK_EQ(look_text(script), TARGET_STATIC);
	CHECK_STR(target.file, path);
	/* A script of a script. */
	snprintf(script, sizeof(script), "#!%s",
		 executable(script, strlen(script)));
	CHECK_EQ(look_text(script), TARGET_STATIC);
	CHECK_STR(target.file, path);
}

TEST(target_without_a_first_line_is_the_shells)
{
	look_text("exit 0\n");
	CHECK_STR(target.file, "/bin/sh");
	look_text("");
	CHECK_STR(target.file, "/bin/sh");
}

TEST(target_whose_interpreter_is_missing_says_so)
{
	CHECK_EQ(look_text("#!/no/such/interpreter -a\n"), TARGET_FINE);
	CHECK_STR(target.missing, "/no/such/interpreter");
	CHECK_STR(target.file, "");
}

TEST(target_that_is_its_own_interpreter_has_an_end)
{
	char script[300];
	const char *path = executable("", 0);
	FILE *stream;

	snprintf(script, sizeof(script), "#!%s\n", path);
	stream = fopen(path, "w");
	CHECK(stream && fputs(script, stream) >= 0);
	fclose(stream);
	target_look(&target, path);
	CHECK_EQ(target.obstacle, TARGET_FINE);
}

TEST(target_is_looked_up_as_exec_does)
{
	char path[PATH_MAX];
	char *before = strdup(getenv("PATH"));

	/* A folder and what is no program are passed over. */
	snprintf(path, sizeof(path), "/proc:%s::/usr/bin:/bin", temp_folder());
	setenv("PATH", path, 1);
	target_look(&target, "sh");
	setenv("PATH", before, 1);
	free(before);
	CHECK_STR(target.file, "/usr/bin/sh");
	target_look(&target, "no-such-program");
	CHECK_STR(target.file, "");
	CHECK_EQ(target.obstacle, TARGET_FINE);
	target_look(&target, "/proc");
	CHECK_STR(target.file, "");
}
