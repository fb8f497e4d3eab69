/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that depends on the processor: raw system calls, the registers of
 * a signal frame, and the start of a thread that libc does not know.
 *
 * All functions are inline, use neither libc nor %fs, and may be called from
 * anywhere, a signal handler included.
 */
#ifndef SAMPLER_ARCH_H
#define SAMPLER_ARCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "sampler/layout.h"

#if !defined(__x86_64__)
#error "spanprof is written for x86-64; a port begins in this file"
#endif

/* Linux system call: returns the result or a negative errno.
 * NOLINTNEXTLINE(readability-function-size): it has six arguments. */
static inline long sys6_sig(long number, long a, long b, long c, long d, long e,
			    long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#define SYS_ARG(x) ((long)(uintptr_t)(x))
#define SYS6(n, a, b, c, d, e, f)                                   \
	sys6_sig(n, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), \
		 SYS_ARG(e), SYS_ARG(f))
#define SYS5(n, a, b, c, d, e) SYS6(n, a, b, c, d, e, 0)
#define SYS4(n, a, b, c, d) SYS6(n, a, b, c, d, 0, 0)
#define SYS3(n, a, b, c) SYS6(n, a, b, c, 0, 0, 0)
#define SYS2(n, a, b) SYS6(n, a, b, 0, 0, 0, 0)
#define SYS1(n, a) SYS6(n, a, 0, 0, 0, 0, 0)
#define SYS0(n) SYS6(n, 0, 0, 0, 0, 0, 0)

/* memcpy and memset that never become a call into libc. */
static inline void copy_bytes_sig(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(bytes)
			 :
			 : "memory");
}

static inline void zero_bytes_sig(void *to, size_t bytes)
{
	__asm__ volatile("rep stosb"
			 : "+D"(to), "+c"(bytes)
			 : "a"(0)
			 : "memory");
}

static inline void pause_sig(void)
{
	__asm__ volatile("pause");
}

static inline uint64_t stack_pointer_of_sig(const ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

/* Stores the registers in the order that struct record_sample documents. */
static inline void save_registers_sig(const ucontext_t *context,
				      uint64_t registers[SAMPLE_REGISTERS])
{
	static const uint8_t order[SAMPLE_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < SAMPLE_REGISTERS; i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

/* Where the kernel returns to after a signal handler; the kernel of x86-64
 * takes no default, so SA_RESTORER must be given. */
#define ARCH_SA_RESTORER 0x04000000
void arch_sigreturn(void);

/*
 * clone(2) of a thread of this process. The new thread runs run(argument) on
 * the given stack and ends by exit(2), never by returning. `tls` becomes its
 * thread pointer, `tid` is set before it runs and cleared, with a futex wake,
 * when it has gone. Returns the thread's id or a negative errno.
 */
struct arch_clone {
	unsigned long flags;
	void *stack_top;
	_Atomic uint32_t *tid;
	void *tls;
};
long arch_clone_thread(const struct arch_clone *how, void (*run)(void *),
		       void *argument);

/*
 * The request that tells whether valgrind runs the program (valgrind.h,
 * VG_USERREQ__RUNNING_ON_VALGRIND): rotations that leave rdi unchanged mark it.
 */
static inline int arch_runs_on_valgrind(void)
{
	uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(request)
			 : "cc", "memory");
	return result != 0;
}

#endif
