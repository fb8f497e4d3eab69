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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "exporter/demangle.h"
#include "tests/lib/compile.h"
#include "tests/lib/snapshot.h"
#include "tests/lib/unit.h"

#define NEVER_INLINED static __attribute__((noipa))
/* Keeps a call from becoming a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static struct elf_cache cache;
static struct address_map *map;
static struct completer *completer;
static struct stack stack;
static union snapshot shot;

static void *traced[64];
static int traced_count;

static void open_map(void)
{
	map = address_map_create(&cache);
	CHECK_EQ(snapshot_map(map, 1), 1);
	completer = completer_create(map);
	CHECK(completer != NULL);
}

static void close_map(void)
{
	completer_destroy(completer);
	address_map_destroy(map);
	elf_cache_fini(&cache);
	completer = NULL;
	map = NULL;
}

static enum complete_result walk(void)
{
	return completer_walk(completer, &shot.sample, &stack);
}

/* "" when there is no name. */
static const char *name_of(uint32_t index)
{
	static char name[DEMANGLE_NAME_MAX_BYTES + 1];
	const struct stack_frame *f = &stack.frames[index];
	const struct elf_file *file =
		f->module ? address_map_file(map, f->module) : NULL;
	const char *raw = file ? elf_file_symbol(file, f->vaddr) : NULL;
	char *text = demangle(raw ? raw : "");

	snprintf(name, sizeof(name), "%s", text);
	free(text);
	return name;
}

/* Index of the first frame of that name from `from` on; count for none. */
static uint32_t find_name(const char *name, uint32_t from)
{
	uint32_t i = from;

	while (i < stack.count && strcmp(name_of(i), name) != 0)
		i++;
	return i;
}

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
		CHECK((uint32_t)i < stack.count);
		CHECK_EQ(stack.frames[i].address, (uint64_t)traced[i]);
		CHECK_EQ(stack.frames[i].lookup, (uint64_t)traced[i] - 1);
	}
	CHECK_EQ(stack.count, traced_count);
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
	open_map();
	chain_a(7);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(0), "snapshot_take");
	CHECK_STR(name_of(1), "chain_c");
	CHECK_STR(name_of(2), "chain_b");
	CHECK_STR(name_of(3), "chain_a");
	CHECK_STR(name_of(stack.count - 1), "_start");
	CHECK(find_name("main", 4) < stack.count);
	check_against_backtrace();
	close_map();
}

TEST(a_second_walk_from_the_cache_is_the_same)
{
	struct stack first;

	open_map();
	chain_a(7);
	CHECK_EQ(walk(), COMPLETE);
	first = stack;
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(walk(), COMPLETE);
		CHECK_EQ(stack.count, first.count);
		CHECK(memcmp(stack.frames, first.frames,
			     stack.count * sizeof(*stack.frames)) == 0);
	}
	close_map();
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
	open_map();
	sort_two();
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(1), "compare_and_take");
	CHECK_STR(stack.frames[2].module->name, "libc.so.6");
	CHECK(find_name("qsort_r", 2) < find_name("sort_two", 2));
	CHECK(find_name("sort_two", 2) < stack.count);
	check_against_backtrace();
	close_map();
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
	open_map();
	interrupted();
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(1), "inner_handler");
	at = find_name("interrupted", 0);
	CHECK_EQ(at, 3);
	CHECK_EQ(stack.frames[at].address, stack.frames[at].lookup);
	CHECK_EQ(stack.frames[2].address, stack.frames[2].lookup);
	CHECK_EQ(stack.frames[2].address, (uint64_t)traced[2]);
	CHECK_EQ(stack.frames[3].address, (uint64_t)traced[3]);
	CHECK_EQ(stack.count, traced_count);
	close_map();
}

static void *thread_body(void *arg)
{
	chain_a(3);
	return arg;
}

TEST(a_thread_is_complete_to_its_start)
{
	pthread_t thread;

	open_map();
	pthread_create(&thread, NULL, thread_body, NULL);
	pthread_join(thread, NULL);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(4), "thread_body");
	CHECK_EQ(stack.count, 7);
	CHECK_STR(stack.frames[6].module->name, "libc.so.6");
	check_against_backtrace();
	close_map();
}

/* Snapshots of each instruction of a thread while it runs `stepped`. */
#define STEPS_MAX 5000u
#define STEP_BYTES 8192u

union step {
	struct record_sample sample;
	uint8_t room[sizeof(struct record_sample) + STEP_BYTES];
};

static union step *steps;
static uint32_t step_count;
static uint64_t below_bytes;

static void on_step(int number, siginfo_t *info, void *context)
{
	static union snapshot s;
	union step *step = &steps[step_count];

	(void)number, (void)info;
	if (step_count == STEPS_MAX)
		return;
	snapshot_fill(&s, context, below_bytes);
	if (s.sample.stack_bytes > STEP_BYTES)
		return;
	memcpy(step, &s, sizeof(s.sample) + s.sample.stack_bytes);
	step_count++;
}

static void set_trap_flag(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
				 : "memory", "cc");
}

static void clear_trap_flag(void)
{
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
				 : "memory", "cc");
}

static void *step_body(void *arg)
{
	void (*stepped)(void) = NULL;

	*(void **)&stepped = arg;
	snapshot_prepare();
	set_trap_flag();
	stepped();
	clear_trap_flag();
	return NULL;
}

static void step_through(void (*stepped)(void), uint64_t below)
{
	struct sigaction action = {.sa_sigaction = on_step,
				   .sa_flags = SA_SIGINFO};
	pthread_attr_t attributes;
	pthread_t thread;

	steps = mmap(NULL, STEPS_MAX * sizeof(*steps), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(steps != MAP_FAILED);
	step_count = 0;
	below_bytes = below;
	sigaction(SIGTRAP, &action, NULL);
	pthread_attr_init(&attributes);
	CHECK_EQ(pthread_create(&thread, &attributes, step_body,
				*(void **)&stepped),
		 0);
	pthread_join(thread, NULL);
	signal(SIGTRAP, SIG_DFL);
}

struct tally {
	uint32_t all;
	uint32_t complete; /* to the thread's start, through step_body */
	uint32_t cut;
};

/* Without those in step_body itself, whose assembler moves the stack pointer
 * behind the unwind table's back. */
static struct tally count_steps(void)
{
	struct tally tally = {0, 0, 0};

	for (uint32_t i = 0; i < step_count; i++) {
		enum complete_result result =
			completer_walk(completer, &steps[i].sample, &stack);
		uint32_t at = find_name("step_body", 0);

		if (at == 0)
			continue;
		tally.all++;
		tally.complete += result == COMPLETE && at < stack.count;
		tally.cut += result == TRUNCATED_STACK_CUT;
		if (result != COMPLETE && result != TRUNCATED_STACK_CUT)
			printf("  step %u: %s+0x%llx: %u frames, %d\n", i,
			       stack.frames[0].module->name,
			       (unsigned long long)stack.frames[0].vaddr,
			       stack.count, result);
	}
	munmap(steps, STEPS_MAX * sizeof(*steps));
	return tally;
}

NEVER_INLINED int add_up(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NEVER_INLINED void sort_some(void)
{
	int numbers[] = {3, 1, 2, 5, 4};
	char text[64];

	qsort(numbers, 5, sizeof(numbers[0]), add_up);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 1.5);
	KEEP_FRAME();
}

TEST(each_instruction_of_a_call_is_a_complete_leaf)
{
	struct tally tally;

	open_map();
	sort_some(); /* what is bound lazily is bound */
	step_through(sort_some, 128);
	tally = count_steps();
	CHECK(tally.all > 500);
	CHECK_EQ(tally.complete, tally.all);
	close_map();
}

/* Between the pops of an epilogue and its end, the unwind table may still find
 * registers where they were saved, which is now below the stack pointer. */
TEST(without_the_red_zone_the_few_that_need_it_say_so)
{
	struct tally tally;

	open_map();
	step_through(sort_some, 0);
	tally = count_steps();
	printf("  %u of %u need it\n", tally.cut, tally.all);
	CHECK_EQ(tally.complete + tally.cut, tally.all);
	close_map();
}

static void *open_library(const char *name, const char *code, const char *flags)
{
	const char *path = compile_library(name, code, flags);

	return path ? dlopen(path, RTLD_LAZY) : NULL;
}

static void (*library_call)(void);

NEVER_INLINED void call_library(void)
{
	library_call();
	KEEP_FRAME();
}

TEST(lazy_binding_is_complete_at_each_instruction)
{
	void *library =
		open_library("liblazy.so",
			     "int strverscmp(const char *, const char *);"
			     "volatile int sink; void lazy(void)"
			     "{ sink = strverscmp(\"a1\", \"a2\"); sink++; }",
			     "-Wl,-z,lazy -fno-builtin -fcf-protection=none");
	struct tally tally;

	CHECK(library != NULL);
	*(void **)&library_call = dlsym(library, "lazy");
	open_map();
	step_through(call_library, 128);
	tally = count_steps();
	CHECK(tally.all > 500); /* it did go through the loader */
	CHECK_EQ(tally.complete, tally.all);
	close_map();
}

NEVER_INLINED void take_here(void)
{
	snapshot_take(&shot);
	KEEP_FRAME();
}

TEST(frames_of_our_own_library_are_left_out)
{
	void *library = open_library("libspanprof.so.1",
				     "void through(void (*f)(void)) { f(); "
				     "__asm__ volatile(\"\" ::: \"memory\"); }",
				     "");
	void (*through)(void (*)(void)) = NULL;

	CHECK(library != NULL);
	*(void **)&through = dlsym(library, "through");
	open_map();
	through(take_here);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(1), "take_here");
	CHECK_STR(name_of(2), "test_frames_of_our_own_library_are_left_out");
	close_map();
}

/* Constructors of libraries run below ld.so's entry point, for which glibc has
 * no unwind information. Nothing calls it. */
TEST(the_entry_point_of_the_loader_is_the_start)
{
	const struct module *loader;
	const struct elf_file *file;

	open_map();
	chain_a(1);
	loader = address_map_find(map, getauxval(AT_BASE) + 0x1000);
	CHECK(loader != NULL);
	file = address_map_file(map, loader);
	CHECK(file != NULL);
	shot.sample.registers[16] = loader->load_bias + file->image.entry + 8;
	CHECK_EQ(walk(), COMPLETE);
	CHECK_EQ(stack.count, 1);
	shot.sample.registers[16] = loader->load_bias + file->image.entry - 1;
	CHECK(walk() != COMPLETE);
	close_map();
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
	module = address_map_find(map, tick.sample.registers[16]);
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

	open_map();
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
	CHECK_STR(stack.frames[0].module->name, "[vdso]");
	CHECK(strstr(name_of(0), "clock_gettime") != NULL);
	CHECK(find_name("ask_the_time", 1) < stack.count);
	close_map();
}

TEST(a_cut_copy_is_right_up_to_the_cut)
{
	static struct stack whole;

	open_map();
	chain_a(200);
	CHECK_EQ(walk(), COMPLETE);
	whole = stack;
	while (shot.sample.stack_bytes > 0) {
		shot.sample.stack_bytes -= 8;
		shot.sample.flags = SAMPLE_STACK_CUT;
		if (walk() == COMPLETE)
			continue; /* arguments and environment went */
		CHECK_EQ(walk(), TRUNCATED_STACK_CUT);
		CHECK(stack.count > 0 && stack.count < whole.count);
		CHECK(memcmp(stack.frames, whole.frames,
			     stack.count * sizeof(*stack.frames)) == 0);
	}
	CHECK_EQ(stack.count, 1);
	close_map();
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
	open_map();
	recurse(990);
	CHECK_EQ(walk(), COMPLETE);
	CHECK(find_name("main", 990) < stack.count);
	recurse(1300);
	CHECK_EQ(walk(), TRUNCATED_DEPTH);
	CHECK_EQ(stack.count, COMPLETE_FRAMES_MAX);
	CHECK_STR(name_of(COMPLETE_FRAMES_MAX - 1), "recurse");
	close_map();
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

	map = address_map_create(&cache);
	snapshot_modules(1, add_libc_only, map);
	CHECK_EQ(address_map_end(map, &end), 1);
	completer = completer_create(map);
	sort_two();
	CHECK_EQ(walk(), UNKNOWN_MODULE);
	CHECK_EQ(stack.count, 1);
	CHECK(stack.frames[0].module == NULL);
	CHECK_EQ(snapshot_map(map, 2), 1);
	CHECK_EQ(walk(), COMPLETE);
	CHECK_STR(name_of(1), "compare_and_take");
	close_map();
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

	map = address_map_create(&cache);
	end.count = snapshot_modules(1, add_with_other_build_id, map);
	CHECK_EQ(address_map_end(map, &end), 1);
	completer = completer_create(map);
	chain_a(1);
	CHECK_EQ(walk(), TRUNCATED_NO_CFI);
	CHECK_EQ(stack.count, 1);
	CHECK(stack.frames[0].module != NULL);
	CHECK(stack.frames[0].vaddr != 0);
	CHECK_STR(name_of(0), "");
	CHECK(cache.counts.replaced > 0);
	close_map();
}

TEST(a_null_function_pointer_is_an_unknown_module)
{
	open_map();
	chain_a(1);
	shot.sample.registers[16] = 0;
	CHECK_EQ(walk(), UNKNOWN_MODULE);
	CHECK_EQ(stack.count, 1);
	close_map();
}

TEST(hostile_registers_and_stacks_end_somewhere)
{
	unsigned int seed = 1;
	union snapshot good;

	open_map();
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
		CHECK(stack.count <= COMPLETE_FRAMES_MAX);
	}
	close_map();
}

TEST(a_warm_walk_of_a_usual_stack_takes_microseconds)
{
	struct timespec from, to;
	int64_t ns;

	open_map();
	recurse(14);
	CHECK_EQ(walk(), COMPLETE);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 20000; i++)
		walk();
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec -
	     from.tv_nsec;
	printf("  %u frames: %.1f us a walk\n", stack.count,
	       (double)ns / 20000 / 1000);
	CHECK(ns / 20000 < 500000);
	close_map();
}
