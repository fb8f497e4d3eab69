/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes snapshots of this program's own threads and compares them with the
 * calls that were made and with glibc's backtrace.
 * Runs on: the test program's threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RIP, gettid */
#endif
#include "exporter/complete.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/snapshot.h"
#include "tests/lib/unit.h"
#include "tests/lib/walked.h"

static union snapshot shot;

static enum complete_result walk(void)
{
	return walked_walk(&shot.sample);
}

static void *traced[64];
static int traced_count;

/* libunwind exports a backtrace of its own. */
/* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c) */
static void trace(void)
{
	int (*backtrace)(void **, int) = NULL;
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	*(void **)&backtrace = dlsym(libc, "backtrace");
	traced_count = backtrace(traced, 64);
	dlclose(libc);
}
/* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */

/* The frames of the walk from the second on (the first is in snapshot_take)
 * against those of backtrace in the function that took it. */
static void check_against_backtrace(void)
{
	/* [0] of backtrace is in trace, [1] in who called it, and for that
	 * function alone the two are at different calls. */
	for (int i = 2; i < traced_count; i++) {
		CHECK((uint32_t)i < walked.stack.count);
		CHECK_EQ(walked.stack.frames[i].address, (uint64_t)traced[i]);
		CHECK_EQ(walked.stack.frames[i].lookup,
			 (uint64_t)traced[i] - 1);
	}
	CHECK_EQ(walked.stack.count, traced_count);
}

NEVER_INLINED int chain_c(int depth)
{
	snapshot_take(&shot);
	trace();
	KEEP_FRAME();
	return depth;
}

NEVER_INLINED int chain_b(int depth)
{
	int result = chain_c(depth + 1);

	KEEP_FRAME();
	return result;
}

NEVER_INLINED int chain_a(int depth)
{
	/* A frame of a size that only its frame pointer knows. */
	volatile char *room = __builtin_alloca((size_t)depth * 16);
	int result;

	room[0] = 1;
	result = chain_b(depth + room[0]);
	KEEP_FRAME();
	return result;
}

TEST(a_chain_of_calls_is_what_backtrace_sees)
{
	walked_open();
	chain_a(7);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(0), "snapshot_take");
	CHECK_STR(walked_name(1), "chain_c");
	CHECK_STR(walked_name(2), "chain_b");
	CHECK_STR(walked_name(3), "chain_a");
	CHECK_STR(walked_name(walked.stack.count - 1), "_start");
	CHECK(walked_find("main", 4) < walked.stack.count);
	check_against_backtrace();
	walked_close();
}

TEST(a_second_walk_from_the_cache_is_the_same)
{
	struct stack first;

	walked_open();
	chain_a(7);
	CHECK_EQ(walk(), COMPLETE);
	first = walked.stack;
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(walk(), COMPLETE);
		CHECK_EQ(walked.stack.count, first.count);
		CHECK(memcmp(walked.stack.frames, first.frames,
			     walked.stack.count *
				     sizeof(*walked.stack.frames)) == 0);
	}
	walked_close();
}

NEVER_INLINED int compare_and_take(const void *a, const void *b)
{
	snapshot_take(&shot);
	trace();
	KEEP_FRAME();
	return *(const int *)a - *(const int *)b;
}

NEVER_INLINED void sort_two(void)
{
	int pair[2] = {2, 1};

	qsort(pair, 2, sizeof(pair[0]), compare_and_take);
	KEEP_FRAME();
}

TEST(a_callback_through_libc_is_complete)
{
	walked_open();
	sort_two();
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(1), "compare_and_take");
	CHECK_STR(walked.stack.frames[2].module->name, "libc.so.6");
	CHECK(walked_find("qsort_r", 2) < walked_find("sort_two", 2));
	CHECK(walked_find("sort_two", 2) < walked.stack.count);
	check_against_backtrace();
	walked_close();
}

/* It interrupts nothing but a system call. */
/* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c) */
NEVER_INLINED void inner_handler(int number)
{
	(void)number;
	snapshot_take(&shot);
	trace();
	KEEP_FRAME();
}

/* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */

/* Interrupted between two instructions of its own, at one that begins a row of
 * the unwind table or not: its pc must be looked up as it is. */
NEVER_INLINED void interrupted(void)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)getpid()), "S"((long)gettid()),
			   "d"((long)SIGUSR2)
			 : "rcx", "r11", "memory");
	KEEP_FRAME();
}

TEST(a_handler_and_what_it_interrupted_are_complete)
{
	uint32_t at;

	signal(SIGUSR2, inner_handler);
	walked_open();
	interrupted();
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(1), "inner_handler");
	at = walked_find("interrupted", 0);
	CHECK_EQ(at, 3);
	CHECK_EQ(walked.stack.frames[at].address,
		 walked.stack.frames[at].lookup);
	CHECK_EQ(walked.stack.frames[2].address, walked.stack.frames[2].lookup);
	CHECK_EQ(walked.stack.frames[2].address, (uint64_t)traced[2]);
	CHECK_EQ(walked.stack.frames[3].address, (uint64_t)traced[3]);
	CHECK_EQ(walked.stack.count, traced_count);
	walked_close();
}

static void *thread_body(void *arg)
{
	chain_a(3);
	return arg;
}

TEST(a_thread_is_complete_to_its_start)
{
	pthread_t thread;

	walked_open();
	pthread_create(&thread, NULL, thread_body, NULL);
	pthread_join(thread, NULL);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(4), "thread_body");
	CHECK_EQ(walked.stack.count, 7);
	CHECK_STR(walked.stack.frames[6].module->name, "libc.so.6");
	check_against_backtrace();
	walked_close();
}

NEVER_INLINED void take_here(void)
{
	snapshot_take(&shot);
	KEEP_FRAME();
}

TEST(frames_of_our_own_library_are_left_out)
{
	void *library =
		walked_library("libspanprof.so.1",
			       "void through(void (*f)(void)) { f(); "
			       "__asm__ volatile(\"\" ::: \"memory\"); }",
			       "");
	void (*through)(void (*)(void)) = NULL;

	CHECK(library != NULL);
	*(void **)&through = dlsym(library, "through");
	walked_open();
	through(take_here);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(1), "take_here");
	CHECK_STR(walked_name(2),
		  "test_frames_of_our_own_library_are_left_out");
	walked_close();
}

/* Constructors of libraries run below ld.so's entry point, for which glibc has
 * no unwind information. Nothing calls it. */
TEST(the_entry_point_of_the_loader_is_the_start)
{
	const struct module *loader;
	const struct elf_file *file;

	walked_open();
	chain_a(1);
	loader = address_map_find(walked.map, getauxval(AT_BASE) + 0x1000);
	CHECK(loader != NULL);
	file = address_map_file(walked.map, loader);
	CHECK(file != NULL);
	shot.sample.registers[16] = loader->load_bias + file->image.entry + 8;
	CHECK_EQ(walk(), COMPLETE);
	CHECK_EQ(walked.stack.count, 1);
	shot.sample.registers[16] = loader->load_bias + file->image.entry - 1;
	CHECK(walk() != COMPLETE);
	walked_close();
}

static volatile sig_atomic_t hits;

static void on_tick(int number, siginfo_t *info, void *context)
{
	static union snapshot tick;
	const struct module *module;

	(void)number, (void)info;
	if (hits)
		return;
	snapshot_fill(&tick, context, 128);
	module = address_map_find(walked.map, tick.sample.registers[16]);
	if (!module || strcmp(module->name, ELF_IMAGE_VDSO) != 0)
		return;
	memcpy(&shot, &tick, sizeof(shot));
	hits = 1;
}

NEVER_INLINED void ask_the_time(void)
{
	struct timespec now;

	for (long i = 0; i < 400000000 && !hits; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	KEEP_FRAME();
}

TEST(a_leaf_in_the_vdso_is_complete)
{
	struct sigaction action = {.sa_sigaction = on_tick,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval interval = {{0, 1000}, {0, 1000}};

	walked_open();
	snapshot_prepare();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
	ask_the_time();
	interval = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &interval, NULL);
	signal(SIGALRM, SIG_DFL);
	if (!hits)
		unit_skip("clock_gettime makes a system call here");
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked.stack.frames[0].module->name, "[vdso]");
	CHECK(strstr(walked_name(0), "clock_gettime") != NULL);
	CHECK(walked_find("ask_the_time", 1) < walked.stack.count);
	walked_close();
}

TEST(a_cut_copy_is_right_up_to_the_cut)
{
	static struct stack whole;

	walked_open();
	chain_a(200);
	CHECK_EQ(walk(), COMPLETE);
	whole = walked.stack;
	while (shot.sample.stack_bytes > 0) {
		shot.sample.stack_bytes -= 8;
		shot.sample.flags = SAMPLE_STACK_CUT;
		if (walk() == COMPLETE)
			continue; /* arguments and environment went */
		CHECK_EQ(walk(), TRUNCATED_STACK_CUT);
		CHECK(walked.stack.count > 0 &&
		      walked.stack.count < whole.count);
		CHECK(memcmp(walked.stack.frames, whole.frames,
			     walked.stack.count *
				     sizeof(*walked.stack.frames)) == 0);
	}
	CHECK_EQ(walked.stack.count, 1);
	walked_close();
}

/* NOLINTNEXTLINE(misc-no-recursion) */
NEVER_INLINED int recurse(int depth)
{
	int result = depth ? recurse(depth - 1) : chain_c(0);

	KEEP_FRAME();
	return result;
}

TEST(a_deep_stack_keeps_its_leaf_most_thousand_frames)
{
	walked_open();
	recurse(990);
	CHECK_EQ(walk(), COMPLETE);
	CHECK(walked_find("main", 990) < walked.stack.count);
	recurse(1300);
	CHECK_EQ(walk(), TRUNCATED_DEPTH);
	CHECK_EQ(walked.stack.count, COMPLETE_FRAMES_MAX);
	CHECK_STR(walked_name(COMPLETE_FRAMES_MAX - 1), "recurse");
	walked_close();
}

static void add_libc_only(const struct record_module *record, void *arg)
{
	if (strstr(record->path, "libc.so"))
		CHECK_EQ(address_map_add(arg, record), 0);
}

TEST(a_pc_in_no_module_says_so_and_can_be_tried_again)
{
	struct record_modules end = {
		.head = {.bytes = sizeof(end)}, .list = 1, .count = 1};

	walked.map = address_map_create(&walked.cache);
	snapshot_modules(1, add_libc_only, walked.map);
	CHECK_EQ(address_map_end(walked.map, &end), 1);
	walked.completer = completer_create(walked.map);
	sort_two();
	CHECK_EQ(walk(), UNKNOWN_MODULE);
	CHECK_EQ(walked.stack.count, 1);
	CHECK(walked.stack.frames[0].module == NULL);
	CHECK_EQ(snapshot_map(walked.map, 2), 1);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(walked_name(1), "compare_and_take");
	walked_close();
}

/* Another build of the program lies at its path by now. */
static void add_with_other_build_id(const struct record_module *record,
				    void *arg)
{
	static uint64_t copy[1024];
	struct record_module *other = (struct record_module *)copy;

	memcpy(copy, record, record->head.bytes);
	if (strstr(other->path, "complete_test"))
		other->build_id[0] ^= 1;
	other->build_id_bytes =
		other->build_id_bytes ? other->build_id_bytes : 20;
	address_map_add(arg, other);
}

TEST(a_replaced_file_gives_no_names_and_ends_the_walk)
{
	struct record_modules end = {.head = {.bytes = sizeof(end)}, .list = 1};

	walked.map = address_map_create(&walked.cache);
	end.count = snapshot_modules(1, add_with_other_build_id, walked.map);
	CHECK_EQ(address_map_end(walked.map, &end), 1);
	walked.completer = completer_create(walked.map);
	chain_a(1);
	CHECK_EQ(walk(), TRUNCATED_NO_CFI);
	CHECK_EQ(walked.stack.count, 1);
	CHECK(walked.stack.frames[0].module != NULL);
	CHECK(walked.stack.frames[0].vaddr != 0);
	CHECK_STR(walked_name(0), "");
	CHECK(walked.cache.counts.replaced > 0);
	walked_close();
}

TEST(a_null_function_pointer_is_an_unknown_module)
{
	walked_open();
	chain_a(1);
	shot.sample.registers[16] = 0;
	CHECK_EQ(walk(), UNKNOWN_MODULE);
	CHECK_EQ(walked.stack.count, 1);
	walked_close();
}

TEST(hostile_registers_and_stacks_end_somewhere)
{
	unsigned int seed = 1;
	union snapshot good;

	walked_open();
	chain_a(9);
	good = shot;
	for (int round = 0; round < 20000; round++) {
		unsigned int hits_wanted = (unsigned int)rand_r(&seed) % 8;

		memcpy(&shot, &good, sizeof(good.sample) + 2048);
		for (unsigned int i = 0; i < hits_wanted; i++) {
			uint64_t value = (uint64_t)rand_r(&seed) << 32 |
					 (uint64_t)rand_r(&seed);
			int at = rand_r(&seed) % 256;

			value >>= rand_r(&seed) % 64;
			if (at < (int)SAMPLE_REGISTERS)
				shot.sample.registers[at] += value;
			else
				memcpy(shot.sample.stack + at * 8L, &value, 8);
		}
		if (round % 16 == 0)
			shot.sample.stack_address = ~UINT64_C(0) - 64;
		CHECK(walk() < COMPLETE_RESULTS);
		CHECK(walked.stack.count <= COMPLETE_FRAMES_MAX);
	}
	walked_close();
}

TEST(a_warm_walk_of_a_usual_stack_takes_microseconds)
{
	struct timespec from, to;
	int64_t ns;

	walked_open();
	recurse(14);
	CHECK_EQ(walk(), COMPLETE);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 20000; i++)
		walk();
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec -
	     from.tv_nsec;
	printf("  %u frames: %.1f us a walk\n", walked.stack.count,
	       (double)ns / 20000 / 1000);
	CHECK(ns / 20000 < 500000);
	walked_close();
}
