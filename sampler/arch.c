/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two entry points that the compiler cannot write: the return from a signal
 * handler and the first instructions of a thread made by clone(2).
 * Runs on: any thread.
 */
#include "sampler/arch.h"

/* clang-format off */
__asm__(
	".text\n"
	".hidden arch_sigreturn\n"
	".globl arch_sigreturn\n"
	".type arch_sigreturn, @function\n"
	/* gdb and libgcc know a signal frame by these very bytes. The nop
	 * belongs to it: unwinders look the return address up minus one. */
	"	nop\n"
	"arch_sigreturn:\n"
	"	movq $15, %rax\n"
	"	syscall\n"
	".size arch_sigreturn, . - arch_sigreturn\n"

	".hidden arch_clone_raw\n"
	".globl arch_clone_raw\n"
	".type arch_clone_raw, @function\n"
	/* long arch_clone_raw(flags, stack, parent_tid, child_tid, tls,
	 *                     const struct start *) */
	"arch_clone_raw:\n"
	"	.cfi_startproc\n"
	"	movq %rcx, %r10\n"
	"	movq %r9, %r11\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	movq %r9, %rbx\n"
	"	movl $56, %eax\n"
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"1:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xorl %ebp, %ebp\n"
	"	movq 8(%rbx), %rdi\n"
	"	callq *(%rbx)\n"
	"	movl $60, %eax\n"
	"	xorl %edi, %edi\n"
	"	syscall\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size arch_clone_raw, . - arch_clone_raw\n"
);
/* clang-format on */

/* Lies at the top of the new thread's stack. */
struct start {
	void (*run)(void *);
	void *argument;
};

long arch_clone_raw(unsigned long flags, void *stack, void *parent_tid,
		    void *child_tid, void *tls, const struct start *start);

long arch_clone_thread(const struct arch_clone *how, void (*run)(void *),
		       void *argument)
{
	struct start *start = (struct start *)how->stack_top - 1;

	start->run = run;
	start->argument = argument;
	/* The psABI wants the stack aligned to 16 at the call. */
	return arch_clone_raw(how->flags, start, how->tid, how->tid, how->tls,
			      start);
}
