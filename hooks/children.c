/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait family (wait, waitpid, wait3, wait4, waitid; glibc 2.2.5 and later),
 * for programs to whom orphans come: as PID 1, or as subreapers. The exporter's
 * keeper is an orphan, and such a program would wait for it for ever, or find a
 * child that it never made. So for waits for any child it isn't there.
 *
 * What is left: SIGCHLD when the keeper dies before the program; and where two
 * threads wait for any child at once, the one that is left waits on.
 * Runs on: the program's threads, in handlers of SIGCHLD too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hooks/hook.h"
#include "preload/process.h"
#include "preload/text.h"
#include "sampler/arch.h"
#include "sampler/directory.h"

HOOK(wait);
HOOK(waitpid);
HOOK(wait3);
HOOK(wait4);
HOOK(waitid);

static bool is_reaper(void)
{
	int subreaper = 0;

	if (process->pid == 1)
		return true;
	SYS5(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	return subreaper != 0;
}

/* The keeper where it may be a child of ours; 0: nobody. */
static pid_t hidden_child(void)
{
	pid_t keeper;

	if (!agent.active)
		return 0;
	keeper = (pid_t)atomic_load_explicit(&agent.ring->header.keeper_pid,
					     memory_order_relaxed);
	return keeper && is_reaper() ? keeper : 0;
}

/* Who is among our children. */
struct family {
	uint64_t hidden;
	bool has_hidden;
	bool has_others;
};

static void see_child(struct family *family, uint64_t pid)
{
	if (pid == family->hidden)
		family->has_hidden = true;
	else if (pid)
		family->has_others = true;
}

/* Numbers, each with a space behind it; they may be cut by the end of the
 * buffer. */
static void read_children(struct family *family, long fd)
{
	char text[512];
	uint64_t pid = 0;
	long got;

	while ((got = SYS3(SYS_read, fd, text, sizeof(text))) > 0) {
		for (long i = 0; i < got; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (uint64_t)(text[i] - '0');
				continue;
			}
			see_child(family, pid);
			pid = 0;
		}
	}
}

/* A thread of ours that forked, or that orphans came to. */
static void see_task(struct family *family, const char *tid)
{
	char path[64];
	char *end = text_append_sig(path, "/proc/self/task/");
	long fd;

	if (tid[0] == '.' || !text_copy_sig(end, 24, tid))
		return;
	text_append_sig(end + text_length_sig(end), "/children");
	fd = SYS3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0) /* no such file in this kernel: not known to be alone */
		family->has_others = true;
	if (fd >= 0) {
		read_children(family, fd);
		SYS1(SYS_close, fd);
	}
}

static void see_all(struct family *family, long tasks_fd)
{
	union {
		char bytes[2048];
		struct directory_entry alignment;
	} buffer;
	long got;

	while ((got = SYS3(SYS_getdents64, tasks_fd, buffer.bytes,
			   sizeof(buffer))) > 0) {
		for (long at = 0; at < got;) {
			const struct directory_entry *entry =
				(const struct directory_entry
					 *)(const void *)(buffer.bytes + at);

			see_task(family, entry->name);
			at += entry->bytes;
		}
	}
}

/* Whether the hidden one is our only child. */
static bool is_alone(pid_t hidden)
{
	struct family family = {.hidden = (uint64_t)hidden};
	long fd = SYS3(SYS_open, "/proc/self/task",
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	see_all(&family, fd);
	SYS1(SYS_close, fd);
	return family.has_hidden && !family.has_others;
}

static pid_t no_child(void)
{
	errno = ECHILD;
	return -1;
}

/* `any`: not for one child or for a group, since the hidden one has a group of
 * its own. */
#define WAIT_FOR_OTHERS(any, call)                         \
	do {                                               \
		pid_t hidden = (any) ? hidden_child() : 0; \
		pid_t got;                                 \
		do {                                       \
			if (hidden && is_alone(hidden))    \
				return no_child();         \
			got = (call);                      \
		} while (hidden && got == hidden);         \
		return got;                                \
	} while (0)

EXPORT pid_t wait(int *status)
{
	WAIT_FOR_OTHERS(true, REAL(wait)(status));
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	WAIT_FOR_OTHERS(pid == -1, REAL(waitpid)(pid, status, options));
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	WAIT_FOR_OTHERS(true, REAL(wait3)(status, options, usage));
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	WAIT_FOR_OTHERS(pid == -1, REAL(wait4)(pid, status, options, usage));
}

/* One that is only to be looked at would be seen again and again. */
static void bury(pid_t hidden)
{
	SYS5(SYS_waitid, P_PID, hidden, 0, WEXITED | WNOHANG, 0);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	pid_t hidden = type == P_ALL ? hidden_child() : 0;
	int result;

	do {
		if (hidden && is_alone(hidden))
			return no_child();
		result = REAL(waitid)(type, id, info, options);
		if (!hidden || result || !info || info->si_pid != hidden)
			return result;
		bury(hidden);
	} while (true);
}
