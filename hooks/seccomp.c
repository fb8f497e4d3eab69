/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a seccomp filter beforehand what it would do to us.
 * Runs on: the program's threads.
 */
#include "hooks/seccomp.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "sampler/arch.h"
#include "sampler/probe.h"

#define PAGE_BYTES 4096u

struct machine {
	const struct seccomp_data *data;
	uint32_t a;
	uint32_t x;
	uint32_t memory[BPF_MEMWORDS];
};

/* ---- the machine ---- */

static bool load_data(struct machine *m, uint32_t offset)
{
	if (offset % 4 != 0 || offset >= sizeof(*m->data))
		return false;
	memcpy(&m->a, (const char *)m->data + offset, sizeof(m->a));
	return true;
}

/* Loads, stores and moves. */
static bool move(struct machine *m, const struct sock_filter *at)
{
	bool in_memory = at->k < BPF_MEMWORDS;

	switch (at->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return load_data(m, at->k);
	case BPF_LD | BPF_W | BPF_LEN:
		m->a = sizeof(*m->data);
		return true;
	case BPF_LDX | BPF_W | BPF_LEN:
		m->x = sizeof(*m->data);
		return true;
	case BPF_LD | BPF_IMM:
		m->a = at->k;
		return true;
	case BPF_LDX | BPF_IMM:
		m->x = at->k;
		return true;
	case BPF_LD | BPF_MEM:
		m->a = in_memory ? m->memory[at->k] : 0;
		return in_memory;
	case BPF_LDX | BPF_MEM:
		m->x = in_memory ? m->memory[at->k] : 0;
		return in_memory;
	case BPF_ST:
	case BPF_STX:
		if (in_memory)
			m->memory[at->k] = at->code == BPF_ST ? m->a : m->x;
		return in_memory;
	case BPF_MISC | BPF_TAX:
		m->x = m->a;
		return true;
	case BPF_MISC | BPF_TXA:
		m->a = m->x;
		return true;
	default:
		return false;
	}
}

/* A division by zero ends a filter with 0, which kills the thread. */
static bool compute(struct machine *m, const struct sock_filter *at)
{
	uint32_t operand = BPF_SRC(at->code) == BPF_X ? m->x : at->k;

	switch (BPF_OP(at->code)) {
	case BPF_ADD:
		m->a += operand;
		return true;
	case BPF_SUB:
		m->a -= operand;
		return true;
	case BPF_MUL:
		m->a *= operand;
		return true;
	case BPF_DIV:
		m->a = operand ? m->a / operand : 0;
		return operand != 0;
	case BPF_AND:
		m->a &= operand;
		return true;
	case BPF_OR:
		m->a |= operand;
		return true;
	case BPF_XOR:
		m->a ^= operand;
		return true;
	case BPF_LSH:
		m->a = operand < 32 ? m->a << operand : 0;
		return true;
	case BPF_RSH:
		m->a = operand < 32 ? m->a >> operand : 0;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

/* How many instructions to skip; negative: none that is known. */
static int64_t jump(const struct machine *m, const struct sock_filter *at)
{
	uint32_t operand = BPF_SRC(at->code) == BPF_X ? m->x : at->k;
	bool taken;

	switch (BPF_OP(at->code)) {
	case BPF_JA:
		return at->k;
	case BPF_JEQ:
		taken = m->a == operand;
		break;
	case BPF_JGT:
		taken = m->a > operand;
		break;
	case BPF_JGE:
		taken = m->a >= operand;
		break;
	case BPF_JSET:
		taken = (m->a & operand) != 0;
		break;
	default:
		return -1;
	}
	return taken ? at->jt : at->jf;
}

/* Jumps go forward only, so that every program ends. */
uint32_t seccomp_run_app(const struct sock_filter *code, uint32_t count,
			 const struct seccomp_data *data)
{
	struct machine m = {.data = data};
	bool known = true;

	for (uint64_t i = 0; i < count && known; i++) {
		int64_t skipped;

		switch (BPF_CLASS(code[i].code)) {
		case BPF_RET:
			return BPF_RVAL(code[i].code) == BPF_A ? m.a
							       : code[i].k;
		case BPF_JMP:
			skipped = jump(&m, &code[i]);
			known = skipped >= 0;
			i += (uint64_t)skipped;
			break;
		case BPF_ALU:
			known = compute(&m, &code[i]);
			break;
		default:
			known = move(&m, &code[i]);
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* ---- the question ---- */

/* Any thread's CPU clock, as sampler/timer.c writes it. */
#define SOME_CPU_CLOCK (~1ul << 3 | 4 | 2)

/* What the handler, the beginning and the end of threads, and spans need. */
static const struct call {
	int number;
	uint64_t first;
} calls[] = {
	{SYS_rt_sigreturn, 0},
	{SYS_clock_gettime, CLOCK_MONOTONIC},
	{SYS_clock_gettime, SOME_CPU_CLOCK},
	{SYS_rt_sigprocmask, SIG_BLOCK},
	{SYS_rt_sigprocmask, (uint64_t)-1}, /* sampler/probe.h */
	{SYS_gettid, 0},
	{SYS_getpid, 0},
	{SYS_timer_create, SOME_CPU_CLOCK},
	{SYS_timer_settime, 0},
	{SYS_timer_delete, 0},
	{SYS_getrandom, 0},
	{SYS_sched_yield, 0},
};

static bool allows(const struct sock_filter *code, uint32_t count,
		   const struct call *call)
{
	struct seccomp_data data = {
		.nr = call->number,
		.arch = AUDIT_ARCH_X86_64,
		.args = {call->first},
	};
	uint32_t answer =
		seccomp_run_app(code, count, &data) & SECCOMP_RET_ACTION_FULL;

	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

static bool allows_all(const struct sock_filter *code, uint32_t count)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!allows(code, count, &calls[i]))
			return false;
	}
	return true;
}

/* Whether the program's memory can be read, without a system call that an
 * earlier filter may forbid. */
static bool is_readable(const void *at, size_t bytes)
{
	uint64_t from = (uint64_t)(uintptr_t)at;

	for (uint64_t page = from; page < from + bytes;
	     page = (page | (PAGE_BYTES - 1)) + 1) {
		if (!probe_readable_sig(page))
			return false;
	}
	return true;
}

bool seccomp_lets_us_sample_app(const void *filter)
{
	const struct sock_fprog *program = filter;

	if (!is_readable(program, sizeof(*program)) ||
	    program->len > BPF_MAXINSNS ||
	    !is_readable(program->filter,
			 program->len * sizeof(struct sock_filter)))
		return true; /* the kernel will refuse it */
	return allows_all(program->filter, program->len);
}
