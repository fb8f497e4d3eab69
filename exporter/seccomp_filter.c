/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of allowed system calls as a BPF program.
 * Runs on: the process that reads DWARF.
 */
#include "exporter/seccomp_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const unsigned int allowed[] = {
	SYS_read,         SYS_pread64,      SYS_readv,
	SYS_write,        SYS_close,        SYS_fstat,
	SYS_newfstatat,   SYS_lseek,        SYS_mmap,
	SYS_munmap,       SYS_mremap,       SYS_mprotect,
	SYS_madvise,      SYS_brk,          SYS_poll,
	SYS_recvmsg,      SYS_sendmsg,      SYS_memfd_create,
	SYS_setitimer,    SYS_futex,        SYS_fcntl,
	SYS_sysinfo,      SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_gettid,       SYS_getpid,
	SYS_tgkill,       SYS_exit,         SYS_exit_group,
};

#define COUNT (sizeof(allowed) / sizeof(allowed[0]))
#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SAY(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE SAY(SECCOMP_RET_ERRNO | EPERM)

/* newfstatat is there for fstat(3) of glibc, which asks about a descriptor. */
int seccomp_filter_install(void)
{
	struct sock_filter code[2 * COUNT + 5] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		REFUSE,
		LOAD(nr),
	};
	unsigned short used = 4;
	struct sock_fprog program = {.filter = code};

	for (size_t i = 0; i < COUNT; i++) {
		code[used++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[used++] = (struct sock_filter)SAY(SECCOMP_RET_ALLOW);
	}
	code[used++] = (struct sock_filter)REFUSE;
	program.len = used;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0
		       ? 0
		       : -errno;
}
