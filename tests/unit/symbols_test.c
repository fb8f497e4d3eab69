/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions in libraries of known content.
 * Runs on: the test program's main thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "exporter/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/elf_file.h"
#include "tests/lib/compile.h"
#include "tests/lib/unit.h"

static struct elf_cache cache;
static struct elf_file *file;
static void *library;

/* The library as a file, and loaded, so that dlsym knows the truth. */
static void open_library(const char *name, const char *code, const char *flags)
{
	struct elf_identity identity = {
		.path = compile_library(name, code, flags)};
	struct elf_image image;

	CHECK(identity.path != NULL);
	CHECK_EQ(elf_image_open(&image, identity.path), 0);
	identity.inode = image.inode;
	elf_image_close(&image);
	file = elf_cache_get(&cache, &identity);
	CHECK(file != NULL);
	library = dlopen(identity.path, RTLD_NOW);
	CHECK(library != NULL);
}

static void close_library(void)
{
	dlclose(library);
	elf_cache_put(&cache, file);
	elf_cache_fini(&cache);
}

static uint64_t vaddr_of(const char *name)
{
	void *address = dlsym(library, name);
	Dl_info info;

	CHECK(address && dladdr(address, &info));
	return (uint64_t)address - (uint64_t)info.dli_fbase;
}

static const char *name_at(uint64_t vaddr)
{
	const char *name = elf_file_symbol(file, vaddr);

	return name ? name : "none";
}

static uint64_t call(const char *name)
{
	uint64_t (*function)(void) = NULL;

	*(void **)&function = dlsym(library, name);
	CHECK(function != NULL);
	return function();
}

TEST(functions_have_names_from_first_to_last_byte)
{
	open_library("libplain.so",
		     "int one(int a) { return a * 3 + 1; }"
		     "int two(int a) { return a / 7; }",
		     "");
	CHECK_STR(name_at(vaddr_of("one")), "one");
	CHECK_STR(name_at(vaddr_of("one") + 1), "one");
	CHECK_STR(name_at(vaddr_of("two")), "two");
	CHECK_STR(name_at(0), "none");
	CHECK_STR(name_at(vaddr_of("two") + 100000), "none");
	CHECK_STR(name_at(UINT64_MAX), "none");
	close_library();
}

TEST(local_functions_have_names_unless_stripped)
{
	static const char code[] =
		"static __attribute__((noipa)) long inner(void)"
		"{ volatile long n = 7; return n; }"
		"extern char base[] __asm__(\"__ehdr_start\")"
		" __attribute__((visibility(\"hidden\")));"
		"long where(void) { return (char *)inner - base + inner() - 7; "
		"}";

	open_library("liblocal.so", code, "");
	CHECK_STR(name_at(call("where")), "inner");
	CHECK_STR(name_at(call("where") + 1), "inner");
	close_library();
	open_library("libstripped.so", code, "-s");
	CHECK_STR(name_at(call("where")), "none");
	CHECK_STR(name_at(vaddr_of("where")), "where");
	close_library();
}

/* A symbol without a size, and a hidden function far behind it. */
#define UNSIZED                                                         \
	"__asm__(\".text\\n.globl foo\\n.type foo, @function\\nfoo:\\n" \
	".cfi_startproc\\nnop\\nret\\n.cfi_endproc\\n"                  \
	".globl bare\\n.type bare, @function\\nbare:\\nnop\\nret\\n"    \
	".skip 1 << 20\\n\");"                                          \
	"__attribute__((visibility(\"hidden\"), noipa)) long hot(void)" \
	"{ volatile long n = 3; return n; }"                            \
	"extern char base[] __asm__(\"__ehdr_start\")"                  \
	" __attribute__((visibility(\"hidden\")));"                     \
	"long where(void) { return (char *)hot - base + hot() - 3; }"

TEST(the_nearest_symbol_below_is_no_name)
{
	open_library("libunsized.so", UNSIZED, "-s -fno-toplevel-reorder");
	CHECK(call("where") > vaddr_of("foo") + (1 << 20));
	CHECK_STR(name_at(call("where")), "none");
	CHECK_STR(name_at(call("where") + 4), "none");
	close_library();
}

TEST(a_symbol_without_size_holds_what_its_fde_covers)
{
	open_library("libunsized.so", UNSIZED, "-s -fno-toplevel-reorder");
	CHECK_STR(name_at(vaddr_of("foo")), "foo");
	CHECK_STR(name_at(vaddr_of("foo") + 1), "foo");
	CHECK_STR(name_at(vaddr_of("foo") + 2), "none");
	/* It has no FDE, so nobody knows where it ends. */
	CHECK_STR(name_at(vaddr_of("bare")), "none");
	close_library();
}

TEST(two_unsized_symbols_in_one_fde_do_not_take_each_others_code)
{
	open_library(
		"libshared_fde.so",
		"__asm__(\".text\\n.globl first\\n.type first, @function\\n"
		".globl second\\n.type second, @function\\nfirst:\\n"
		".cfi_startproc\\nnop\\nnop\\nsecond:\\nnop\\nret\\n"
		".cfi_endproc\\n\");",
		"");
	CHECK_STR(name_at(vaddr_of("first") + 1), "first");
	CHECK_STR(name_at(vaddr_of("second")), "none");
	CHECK_STR(name_at(vaddr_of("second") + 1), "none");
	close_library();
}

TEST(of_several_names_it_is_always_the_same)
{
	open_library(
		"libalias.so",
		"int plain(int a) { return a * 5 + 2; }"
		"extern int _under(int) __attribute__((alias(\"plain\")));"
		"extern int a(int) __attribute__((weak, alias(\"plain\")));"
		"extern int longer_plain(int) "
		"__attribute__((alias(\"plain\")));"
		"int __weak_one(int a) { return a * 6 + 2; }"
		"extern int z(int) __attribute__((weak, "
		"alias(\"__weak_one\")));",
		"");
	CHECK_STR(name_at(vaddr_of("plain")), "plain");
	CHECK_STR(name_at(vaddr_of("z")), "__weak_one");
	close_library();
}

TEST(versions_are_no_part_of_names)
{
	char flags[300];
	FILE *script;

	snprintf(flags, sizeof(flags), "-Wl,--version-script=%s",
		 compile_path("script"));
	script = fopen(compile_path("script"), "w");
	CHECK(script != NULL);
	fputs("ONE { global: f; }; TWO { global: f; };", script);
	fclose(script);
	open_library("libversion.so",
		     "int old(int a) { return a + 1; }"
		     "int newer(int a) { return a + 2; }"
		     "__asm__(\".symver old, f@ONE\");"
		     "__asm__(\".symver newer, f@@TWO\");",
		     flags);
	CHECK_STR(name_at(vaddr_of("f")), "f");
	close_library();
}

TEST(the_inner_of_nested_symbols_is_the_name)
{
	open_library(
		"libnested.so",
		"__asm__(\".text\\n.globl outer\\n.type outer, @function\\n"
		".globl inner\\n.type inner, @function\\nouter:\\nnop\\nnop\\n"
		"inner:\\nnop\\nnop\\n.size inner, 2\\nnop\\nret\\n"
		".size outer, 6\\n\");",
		"");
	CHECK_STR(name_at(vaddr_of("outer") + 1), "outer");
	CHECK_STR(name_at(vaddr_of("outer") + 2), "inner");
	CHECK_STR(name_at(vaddr_of("outer") + 3), "inner");
	CHECK_STR(name_at(vaddr_of("outer") + 4), "outer");
	CHECK_STR(name_at(vaddr_of("outer") + 6), "none");
	close_library();
}

TEST(data_and_undefined_symbols_name_no_code)
{
	open_library("libdata.so",
		     "int data = 1; extern int puts(const char *);"
		     "int f(void) { return puts(\"x\"); }",
		     "");
	CHECK_STR(name_at(vaddr_of("data")), "none");
	CHECK_STR(name_at(vaddr_of("f")), "f");
	close_library();
}
