/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that gives rights away, one way a run:
 *
 *	rights WAY [SECONDS]
 *
 * It prints what happened, works for SECONDS (0.3) of CPU time and ends with
 * status 0. Under a filter the work asks for nothing of the kernel.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DATA(field) ((unsigned)offsetof(struct seccomp_data, field))
#define COUNT(array) (unsigned short)(sizeof(array) / sizeof(*(array)))

/* libc has it, and no header. */
extern int capset(void *header, const void *data);

static double seconds = 0.3;
static volatile unsigned long sink;

/* So many rounds take a second, as measured before. */
static double rounds_a_second;

static void spin(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		sink += i * i;
}

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void calibrate(void)
{
	double began = cpu_now();

	spin(20000000);
	rounds_a_second = 20000000 / (cpu_now() - began);
}

__attribute__((noinline)) static void work_in_the_sandbox(void)
{
	spin((unsigned long)(rounds_a_second * seconds));
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

/* ---- filters ---- */

static int install(struct sock_filter *code, unsigned short count,
		   unsigned flags)
{
	struct sock_fprog program = {count, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			    &program);
}

/* What a careful program leaves itself: writing and ending. */
static int install_narrow(unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, COUNT(code), flags);
}

/* What most sandboxes are: no new files, no network, no programs. */
static int install_wide(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	return install(code, COUNT(code), 0);
}

static void narrow(void)
{
	say(install_narrow(0) ? "refused\n" : "filtered\n");
	work_in_the_sandbox();
	say("done\n");
	_exit(0);
}

static void *spin_for_ever(void *ready)
{
	atomic_store((_Atomic int *)ready, 1);
	for (;;)
		spin(1000);
	return NULL;
}

/* The filter falls on a thread that is at work. */
static void everyone(void)
{
	_Atomic int ready = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, spin_for_ever, &ready);
	while (!atomic_load(&ready))
		;
	spin((unsigned long)(rounds_a_second * 0.1));
	say(install_narrow(SECCOMP_FILTER_FLAG_TSYNC) ? "refused\n"
						      : "filtered\n");
	work_in_the_sandbox();
	say("done\n");
	_exit(0);
}

static void strict(void)
{
	say(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) ? "refused\n"
						       : "filtered\n");
	work_in_the_sandbox();
	say("done\n");
	syscall(SYS_exit, 0);
}

static void *work_in_a_thread(void *unused)
{
	(void)unused;
	work_in_the_sandbox();
	return NULL;
}

static void wide(void)
{
	pthread_t thread;

	say(install_wide() ? "refused\n" : "filtered\n");
	work_in_the_sandbox();
	pthread_create(&thread, NULL, work_in_a_thread, NULL);
	pthread_join(thread, NULL);
	say("done\n");
}

/* How programs ask whether there is seccomp at all: nothing changes. */
static void question(void)
{
	printf("%d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
	printf(" %s", strerror(errno));
	printf(" %ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1, NULL));
	printf(" %s\n", strerror(errno));
	work_in_the_sandbox();
}

/* A filter that the kernel does not take. */
static void refused(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_ST, 1000)};

	printf("%d", install(code, 1, 0));
	printf(" %s\n", strerror(errno));
	work_in_the_sandbox();
}

/* ---- rights ---- */

/* What each thread may do, as the kernel shows it. */
static void show(const char *wanted)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "cat /proc/%d/task/*/status | grep -E '%s' | sort -u",
		 getpid(), wanted);
	fflush(stdout);
	if (system(command) != 0)
		exit(4);
}

static void capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	work_in_the_sandbox();
	printf("%d\n", capset(&head, none));
	work_in_the_sandbox();
	show("CapEff");
}

static void user_by_number(void)
{
	work_in_the_sandbox();
	printf("%ld\n", syscall(SYS_setresuid, 65534, 65534, 65534));
	work_in_the_sandbox();
	show("Uid");
}

static void no_new_privileges(void)
{
	work_in_the_sandbox();
	printf("%d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	work_in_the_sandbox();
	show("NoNewPrivs");
}

static void user_namespace(void)
{
	work_in_the_sandbox();
	printf("%d\n", unshare(CLONE_NEWUSER));
	work_in_the_sandbox();
}

/* The child is number 1 of its own world. */
static void pid_namespace(void)
{
	int status = 0;
	pid_t child;

	printf("%d\n", unshare(CLONE_NEWPID));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		work_in_the_sandbox();
		_exit(getpid());
	}
	waitpid(child, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	work_in_the_sandbox();
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"narrow", narrow},
	{"everyone", everyone},
	{"strict", strict},
	{"wide", wide},
	{"question", question},
	{"refused", refused},
	{"capabilities", capabilities},
	{"user-by-number", user_by_number},
	{"no-new-privileges", no_new_privileges},
	{"user-namespace", user_namespace},
	{"pid-namespace", pid_namespace},
};

int main(int argc, char **argv)
{
	if (argc > 2)
		seconds = atof(argv[2]);
	calibrate();
	for (size_t i = 0; argc > 1 && i < COUNT(ways); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	}
	return 2;
}
