/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the exporter as an orphan.
 * Runs on: the program's main thread, in the constructor. The children share
 * the program's memory (CLONE_VM) until they have called execve or exit, so
 * they use raw system calls and a stack of their own.
 *
 * Not fork(): other libraries' atfork handlers must not run. The children's
 * exit signal is 0: the program sees no SIGCHLD and no wait reports them.
 */
#include "preload/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "preload/rendezvous.h"
#include "preload/text.h"
#include "sampler/arch.h"

#define STACK_BYTES (32u << 10)
#define MOST_VARIABLES 4096u

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct child {
	const struct launch *what;
	char **environment;
	char *stack; /* of both children, one after the other */
	_Atomic uint32_t tid;
	int error;
};

static void filter_environment(char **to, char *const *from)
{
	static char mark[] = RENDEZVOUS_EXPORTER_MARK "=1";
	unsigned used = 0;

	for (; *from && used < MOST_VARIABLES - 2; from++) {
		/* The loader's variables are the program's. */
		if (!text_after_sig(*from, "LD_"))
			to[used++] = *from;
	}
	to[used++] = mark;
	to[used] = 0;
}

/* Out of the way of the numbers that they are to get. */
static int move_up(int fd)
{
	return (int)SYS3(SYS_fcntl, fd, F_DUPFD, 16);
}

/* Not every image has devices, and the program's streams are not to be kept. */
static int open_nothing(void)
{
	long fd = SYS3(SYS_open, "/dev/null", O_RDWR, 0);

	return (int)(fd < 0 ? SYS2(SYS_memfd_create, "null", 0) : fd);
}

static void arrange_descriptors(const struct launch *what)
{
	int ring = move_up(what->ring_fd);
	int listener = move_up(what->listen_fd);
	int null = move_up(open_nothing());

	for (int fd = 0; fd <= 2; fd++)
		SYS3(SYS_dup3, null, fd, 0);
	SYS3(SYS_dup3, ring, RENDEZVOUS_RING_FD, 0);
	SYS3(SYS_dup3, listener, RENDEZVOUS_LISTEN_FD, 0);
	if (SYS3(SYS_close_range, 5, ~0u, 0) == 0)
		return;
	/* Linux before 5.9; nobody has more descriptors in a constructor. */
	for (int fd = 5; fd < 1024; fd++)
		SYS1(SYS_close, fd);
}

/* The exporter's first steps. Its folder stays the program's: the exporter
 * leaves it once it has resolved the configured paths. */
static void become_exporter(void *argument)
{
	static char name[] = "spanprof-exporter";
	static char detached[] = "--detached";
	struct child *child = argument;
	char program[256];
	char *arguments[] = {name, detached, program, 0};
	uint64_t none = 0;

	text_copy_sig(program, sizeof(program), child->what->program);
	arrange_descriptors(child->what);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	child->error = (int)SYS3(SYS_execve, child->what->exporter, arguments,
				 child->environment);
	SYS1(SYS_exit_group, 127);
}

static long clone_child(struct child *child, char *stack_top,
			void (*run)(void *))
{
	struct arch_clone how = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID,
		.stack_top = stack_top,
		.tid = &child->tid,
		.tls = 0,
	};

	return arch_clone_thread(&how, run, child);
}

/* Between the program and the exporter: its end makes the exporter an orphan
 * of another session. */
static void intermediate(void *argument)
{
	struct child *child = argument;
	long pid;

	SYS0(SYS_setsid);
	pid = clone_child(child, child->stack + STACK_BYTES / 2,
			  become_exporter);
	if (pid < 0)
		child->error = (int)pid;
	SYS1(SYS_exit_group, 0);
}

static int run_children(struct child *child)
{
	uint64_t all = UINT64_MAX;
	uint64_t before = 0;
	long pid;

	/* A handler of the program's must not run in the children. */
	SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, 8);
	pid = clone_child(child, child->stack + STACK_BYTES, intermediate);
	if (pid > 0) {
		while (SYS4(SYS_wait4, pid, 0, __WCLONE, 0) == -EINTR)
			;
	} else {
		child->error = (int)pid;
	}
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, 8);
	return child->error;
}

int launch_exporter(const struct launch *what)
{
	const size_t bytes = STACK_BYTES + MOST_VARIABLES * sizeof(char *);
	struct child child = {.what = what};
	long at;
	int error;

	at = SYS6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return (int)at;
	child.stack = (char *)at;
	child.environment = (char **)(at + STACK_BYTES);
	filter_environment(child.environment, what->environment);
	error = run_children(&child);
	SYS2(SYS_munmap, at, bytes);
	return error;
}
