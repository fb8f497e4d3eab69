/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a seccomp filter says, here and in the kernel.
 * Runs on: the test program's main thread and in children that are filtered.
 */
#include "hooks/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* A call that no kernel has. */
#define NUMBER 1000

#define DATA(field) ((uint32_t)offsetof(struct seccomp_data, field))
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool lets_us(struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {(unsigned short)count, code};

	return seccomp_lets_us_sample_app(&program);
}

/* ---- the question ---- */

static bool lets_us_without(uint32_t number, uint32_t action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return lets_us(code, COUNT(code));
}

TEST(a_filter_that_allows_all_lets_us_sample)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter log = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG);

	CHECK(lets_us(&allow, 1));
	CHECK(lets_us(&log, 1));
}

TEST(a_filter_that_forbids_one_call_of_ours_does_not)
{
	CHECK(!lets_us_without(SYS_rt_sigreturn, SECCOMP_RET_KILL_PROCESS));
	CHECK(!lets_us_without(SYS_timer_create, SECCOMP_RET_ERRNO | EPERM));
	CHECK(!lets_us_without(SYS_clock_gettime, SECCOMP_RET_TRAP));
	CHECK(!lets_us_without(SYS_gettid, SECCOMP_RET_USER_NOTIF));
}

TEST(a_filter_that_forbids_other_calls_lets_us_sample)
{
	CHECK(lets_us_without(SYS_socket, SECCOMP_RET_KILL_PROCESS));
	CHECK(lets_us_without(SYS_execve, SECCOMP_RET_ERRNO | EPERM));
}

TEST(arguments_are_told_apart)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 12, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	/* A thread's CPU clock has a negative number. */
	CHECK(!lets_us(code, COUNT(code)));
}

TEST(what_the_kernel_can_not_read_changes_nothing)
{
	struct sock_fprog program = {4, NULL};

	CHECK(seccomp_lets_us_sample_app(NULL));
	CHECK(seccomp_lets_us_sample_app(&program));
}

TEST(a_filter_at_the_end_of_its_mapping_is_read_to_its_end)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sock_filter *last =
		(struct sock_filter *)(pages + 4096 - sizeof(allow));

	mprotect(pages + 4096, 4096, PROT_NONE);
	*last = allow;
	CHECK(lets_us(last, 1));
	munmap(pages, 8192);
}

/* ---- the machine against the kernel's ---- */

static const uint16_t operations[] = {
	BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR, BPF_NEG,
};
static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};

/* One instruction that the kernel takes; of a jump, both ways lead within the
 * next three. */
static struct sock_filter random_step(unsigned *seed)
{
	uint32_t value = (uint32_t)rand_r(seed) << 1 ^ (uint32_t)rand_r(seed);
	uint16_t source = rand_r(seed) % 2 ? BPF_X : BPF_K;
	uint32_t word = value % BPF_MEMWORDS;
	struct sock_filter loads[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, value % 16 * 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_LD | BPF_IMM, value),
		BPF_STMT(BPF_LDX | BPF_IMM, value),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_STMT(BPF_ST, word),
		BPF_STMT(BPF_STX, word),
		BPF_STMT(BPF_ALU | (value % 2 ? BPF_LSH : BPF_RSH) | BPF_K,
			 value >> 1 & 31),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, value | 1),
	};
	unsigned kind = (unsigned)rand_r(seed) % 4;

	uint16_t operation = operations[value % COUNT(operations)];

	if (kind == 0) /* a negation has no operand */
		return (struct sock_filter)BPF_STMT(
			BPF_ALU | operation |
				(operation == BPF_NEG ? BPF_K : source),
			value);
	if (kind == 1)
		return (struct sock_filter)BPF_JUMP(
			BPF_JMP | jumps[value % COUNT(jumps)] | source,
			value >> 8 & 3, (uint8_t)(value & 3),
			(uint8_t)(value >> 2 & 3));
	return loads[value % COUNT(loads)];
}

/* A program whose result for NUMBER is an errno, and that allows the rest.
 * The instruction pointer differs from call to call and is never loaded. */
static size_t random_program(unsigned *seed, struct sock_filter *code)
{
	size_t at = 0;
	size_t steps = (size_t)rand_r(seed) % 24;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						  NUMBER, 1, 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						  SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < BPF_MEMWORDS; i++)
		code[at++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
	for (size_t i = 0; i < steps; i++) {
		code[at] = random_step(seed);
		if (code[at].code == (BPF_LD | BPF_W | BPF_ABS) &&
		    (code[at].k == 8 || code[at].k == 12))
			code[at].k = 16;
		at++;
	}
	for (int i = 0; i < 3; i++)
		code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, 3);
	code[at++] =
		(struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K,
						  SECCOMP_RET_ERRNO);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return at;
}

static const uint64_t arguments[6] = {
	1, UINT64_C(0x1234567890abcdef), 0, UINT64_MAX, 77, 4096};

/* What the kernel makes of it, in a child: an errno, or -1. */
static int kernel_answer(struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {(unsigned short)count, code};
	int *answer = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	int result;

	if (child == 0) {
		*answer = -1;
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(1);
		errno = 0;
		syscall(NUMBER, arguments[0], arguments[1], arguments[2],
			arguments[3], arguments[4], arguments[5]);
		*answer = errno;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	result = *answer;
	munmap(answer, 4096);
	return result;
}

TEST(random_filters_say_what_they_say_to_the_kernel)
{
	struct sock_filter code[64];
	struct seccomp_data data = {.nr = NUMBER, .arch = AUDIT_ARCH_X86_64};
	unsigned seed = 1;

	for (int i = 0; i < 6; i++)
		data.args[i] = arguments[i];
	for (int i = 0; i < 300; i++) {
		size_t count = random_program(&seed, code);
		uint32_t ours = seccomp_run_app(code, (uint32_t)count, &data);

		CHECK_EQ(ours & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
		CHECK_EQ(ours & SECCOMP_RET_DATA, kernel_answer(code, count));
	}
}

TEST(what_is_no_filter_kills)
{
	struct seccomp_data data = {0};
	struct sock_filter beyond = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64);
	struct sock_filter far = BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX);
	struct sock_filter odd = {0xffff, 0, 0, 0};
	struct sock_filter word = BPF_STMT(BPF_ST, BPF_MEMWORDS);
	struct sock_filter zero[] = {
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	CHECK_EQ(seccomp_run_app(&beyond, 1, &data), SECCOMP_RET_KILL_PROCESS);
	CHECK_EQ(seccomp_run_app(&far, 1, &data), SECCOMP_RET_KILL_PROCESS);
	CHECK_EQ(seccomp_run_app(&odd, 1, &data), SECCOMP_RET_KILL_PROCESS);
	CHECK_EQ(seccomp_run_app(&word, 1, &data), SECCOMP_RET_KILL_PROCESS);
	CHECK_EQ(seccomp_run_app(zero, 2, &data), SECCOMP_RET_KILL_PROCESS);
	CHECK_EQ(seccomp_run_app(zero, 0, &data), SECCOMP_RET_KILL_PROCESS);
}
