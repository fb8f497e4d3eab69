/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the thread records in step with /proc/self/task.
 * Runs on: the sampler thread; raw system calls only.
 */
#include "sampler/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "preload/process.h"
#include "preload/text.h"
#include "preload/thread.h"
#include "sampler/arch.h"
#include "sampler/directory.h"
#include "sampler/lines.h"
#include "sampler/maps.h"
#include "sampler/timer.h"

/*
 * A set of thread ids: open addressing, each place stamped with the scan it
 * belongs to, so that it never has to be cleared. Ids of consecutive threads
 * lie side by side and touch few pages.
 */
#define SET_SIZE (2 * (size_t)THREAD_POOL_SIZE)
#define TID_BITS 22 /* PID_MAX_LIMIT of a 64-bit kernel */

static uint32_t *set;
static uint32_t stamp;
static bool only_us;

static uint32_t place_of(uint32_t tid)
{
	uint32_t wanted = stamp << TID_BITS | tid;
	uint32_t i = tid % SET_SIZE;

	while (set[i] != wanted && set[i] >> TID_BITS == stamp)
		i = (i + 1) % SET_SIZE;
	return i;
}

static bool in_set(uint32_t tid)
{
	return set[place_of(tid)] == (stamp << TID_BITS | tid);
}

static void insert(uint32_t tid)
{
	set[place_of(tid)] = stamp << TID_BITS | tid;
}

static bool begin_set(void)
{
	if (!set)
		set = process_memory(SET_SIZE * sizeof(*set), false);
	if (!set)
		return false;
	only_us = false;
	stamp = (stamp + 1) & ((1u << (32 - TID_BITS)) - 1);
	if (stamp == 0) {
		zero_bytes_sig(set, SET_SIZE * sizeof(*set));
		stamp = 1;
	}
	return true;
}

static bool has_gone(uint32_t tid)
{
	return SYS3(SYS_tgkill, process->pid, tid, 0) == -ESRCH;
}

/* A thread that ended without a word (raw exit): nobody else gives its timer
 * back. */
static void sweep(struct thread *thread)
{
	uint32_t live = THREAD_LIVE;

	if (!atomic_compare_exchange_strong(&thread->state, &live,
					    THREAD_CLAIMED))
		return;
	timer_disarm_sig(thread);
	thread_release_sig(thread);
}

static void note(struct thread *thread, void *unused)
{
	uint32_t tid = atomic_load(&thread->tid);

	(void)unused;
	if (thread->state == THREAD_LIVE && has_gone(tid)) {
		sweep(thread);
		return;
	}
	if (tid)
		insert(tid);
	if (thread->lost_stack) {
		maps_find(thread->lost_stack, &thread->stack_low,
			  &thread->stack_top);
		thread->lost_stack = 0;
	}
}

static void adopt(uint32_t tid)
{
	struct thread *thread = thread_claim_sig();

	if (!thread) {
		count_sig(RING_LOST_NO_THREAD);
		return;
	}
	thread->tid = tid;
	thread->found = true;
	if (timer_arm_sig(thread) != 0) {
		count_sig(RING_LOST_TIMER);
		thread_release_sig(thread);
		return;
	}
	count_sig(RING_THREADS);
	atomic_store_explicit(&thread->state, THREAD_LIVE,
			      memory_order_release);
}

#define MOST_NEW 64u

struct scan {
	uint32_t others; /* tasks besides this thread and the leader */
	uint32_t new_tids[MOST_NEW];
	uint32_t new_count;
};

static void see_task(struct scan *scan, const char *name)
{
	uint64_t tid;

	if (!text_number_sig(&name, 10, &tid) ||
	    tid == atomic_load(&process->worker_tid))
		return;
	/* The leader's record comes with the process and may have ended
	 * before the leader does. */
	if (tid == process->pid)
		return;
	scan->others++;
	if (!in_set((uint32_t)tid) && scan->new_count < MOST_NEW)
		scan->new_tids[scan->new_count++] = (uint32_t)tid;
}

static bool list_tasks(struct scan *scan)
{
	static union {
		char bytes[8192];
		uint64_t alignment;
	} buffer;
	long fd = SYS3(SYS_open, "/proc/self/task",
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long got;

	if (fd < 0)
		return false;
	while ((got = SYS3(SYS_getdents64, fd, buffer.bytes, sizeof(buffer))) >
	       0) {
		for (long at = 0; at < got;) {
			struct directory_entry *entry =
				(struct directory_entry *)(buffer.bytes + at);

			see_task(scan, entry->name);
			at += entry->bytes;
		}
	}
	SYS1(SYS_close, fd);
	return got == 0;
}

/* The fields of /proc/self/stat from the third on: "pid (name) state ...". The
 * name may hold anything, so the last parenthesis counts. */
static const char *leader_fields(void)
{
	static char text[1024];
	long got = lines_read_file("/proc/self/stat", text, sizeof(text));

	while (got > 0 && text[got - 1] != ')')
		got--;
	return got > 0 && text[got] == ' ' ? text + got + 1 : "";
}

static bool leader_is_zombie(void)
{
	return leader_fields()[0] == 'Z';
}

int tasks_leader_status(void)
{
	const char *field = leader_fields();
	uint64_t status = 0;

	/* exit_code is field 52, see proc_pid_stat(5). */
	for (int i = 3; i < 52 && *field; i++) {
		while (*field && *field != ' ')
			field++;
		while (*field == ' ')
			field++;
	}
	text_number_sig(&field, 10, &status);
	return (int)(status >> 8 & 0xff);
}

void tasks_scan(void)
{
	static struct scan scan;
	uint32_t created = atomic_load(&process->threads_created);
	/* A thread that pthread_create has made and that has not said so yet
	 * must not be adopted as a stranger. */
	bool quiet = created == atomic_load(&process->threads_begun);

	if (!begin_set())
		return;
	thread_each_sig(note, 0);
	scan.others = scan.new_count = 0;
	if (!list_tasks(&scan))
		return;
	if (quiet && created == atomic_load(&process->threads_created)) {
		for (uint32_t i = 0; i < scan.new_count; i++)
			adopt(scan.new_tids[i]);
	}
	only_us = scan.others == 0 && leader_is_zombie();
}

bool tasks_only_us(void)
{
	return only_us;
}
