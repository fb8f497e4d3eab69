/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler thread: that it can be made, held and released; what it has of
 * the program's (nothing); and that it finds threads, tells modules and closes
 * windows.
 * Runs on: the test program's threads.
 */
#include "sampler/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/tasks.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

/* Looks a hundred times a second, for ten seconds at most. */
static bool wait_until(bool (*condition)(void))
{
	for (int i = 0; i < 1000; i++) {
		if (condition())
			return true;
		usleep(10000);
	}
	return false;
}

static void begin(void)
{
	agent_begin();
	agent.config.interval_ms = 50;
	agent_enter();
}

static bool has_settled(void)
{
	char name[32] = "";
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm",
		 process->worker_tid);
	file = fopen(path, "re");
	if (file) {
		if (!fgets(name, sizeof(name), file))
			name[0] = '\0';
		fclose(file);
	}
	return strcmp(name, "spanprof\n") == 0;
}

static void begin_with_worker(void)
{
	begin();
	agent_let_worker();
	CHECK(wait_until(has_settled));
}

static void end(void)
{
	agent_end_worker();
	agent_leave();
}

static bool exists(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) == 0;
}

TEST(it_is_made_when_it_is_wanted)
{
	begin_with_worker();
	CHECK_EQ(process->worker_state, WORKER_RUNNING);
	CHECK(exists(process->worker_tid));
	end();
}

TEST(one_is_enough)
{
	uint32_t tid;

	begin_with_worker();
	tid = process->worker_tid;
	for (int i = 0; i < 10; i++)
		worker_wanted_sig();
	CHECK_EQ(process->worker_tid, tid);
	end();
}

TEST(a_hold_ends_it_also_for_the_kernel)
{
	uint32_t tid;

	for (int i = 0; i < 50; i++) {
		begin();
		agent_let_worker();
		tid = process->worker_tid;
		worker_hold_app();
		CHECK(!tid || !exists(tid));
		CHECK_EQ(errno, tid ? ESRCH : errno);
		CHECK_EQ(process->worker_state, WORKER_STOPPED);
		agent_leave();
	}
}

TEST(it_stays_away_until_the_last_release)
{
	begin_with_worker();
	worker_hold_app();
	worker_hold_app();
	worker_release_app();
	worker_wanted_sig();
	CHECK_EQ(process->worker_state, WORKER_STOPPED);
	worker_release_app();
	worker_wanted_sig();
	CHECK_EQ(process->worker_state, WORKER_RUNNING);
	CHECK(wait_until(has_settled));
	end();
}

TEST(where_it_is_refused_it_is_not_made)
{
	begin();
	worker_wanted_sig();
	CHECK_EQ(process->worker_state, WORKER_STOPPED);
	CHECK_EQ(process->worker_tid, 0);
	end();
}

static long hold_and_release(unsigned number, void *unused)
{
	long alive = 0;

	(void)number;
	(void)unused;
	for (int i = 0; i < 200; i++) {
		worker_hold_app();
		/* One that is asked for meanwhile sees the hold and goes back:
		 * the state may change, but there is no thread. */
		alive += process->worker_state == WORKER_RUNNING ||
			 process->worker_tid != 0;
		worker_release_app();
		worker_wanted_sig();
	}
	return alive;
}

TEST(threads_that_hold_at_the_same_time_all_hold)
{
	begin_with_worker();
	CHECK_EQ(crowd_run(4, hold_and_release, NULL), 0);
	end();
}

/* ---- what it has of the program's ---- */

static unsigned count_entries(const char *format, uint32_t tid)
{
	char path[64];
	struct dirent *entry;
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), format, tid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

TEST(it_holds_no_file_of_the_programs_open)
{
	char link[64];
	char target[64] = "";

	begin_with_worker();
	CHECK(count_entries("/proc/self/fd", 0) >= 3);
	/* At most the one that it reads at the moment. */
	CHECK(count_entries("/proc/self/task/%u/fd", process->worker_tid) <= 1);
	snprintf(link, sizeof(link), "/proc/self/task/%u/cwd",
		 process->worker_tid);
	CHECK(readlink(link, target, sizeof(target) - 1) > 0);
	CHECK_STR(target, "/");
	end();
}

/* No signal of the program's is delivered to it. All but KILL and STOP. */
TEST(it_blocks_every_signal)
{
	unsigned long long blocked = 0;
	char path[64];
	char line[256];
	FILE *file;

	begin_with_worker();
	snprintf(path, sizeof(path), "/proc/self/task/%u/status",
		 process->worker_tid);
	file = fopen(path, "re");
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "SigBlk: %llx", &blocked);
	fclose(file);
	CHECK_EQ(blocked, ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1)));
	end();
}

/* ---- what it does ---- */

static _Atomic uint32_t stranger_tid;
static _Atomic bool stranger_may_end;

/* A thread of which nobody tells the agent. */
static void *burn_as_stranger(void *unused)
{
	stranger_tid = (uint32_t)gettid();
	while (!stranger_may_end)
		agent_burn_ns(MS);
	return unused;
}

static struct thread *found_thread;

static void look_for_stranger(struct thread *thread, void *unused)
{
	(void)unused;
	if (thread->tid == stranger_tid && thread->state == THREAD_LIVE)
		found_thread = thread;
}

static bool stranger_is_known(void)
{
	found_thread = NULL;
	thread_each_sig(look_for_stranger, NULL);
	return found_thread != NULL;
}

static bool stranger_is_unknown(void)
{
	return !stranger_is_known();
}

/* A joined thread is a task for a moment more. */
static bool scan_forgets_stranger(void)
{
	tasks_scan();
	return !stranger_is_known();
}

static pthread_t start_stranger(void)
{
	pthread_t thread;

	stranger_tid = 0;
	stranger_may_end = false;
	CHECK_EQ(pthread_create(&thread, NULL, burn_as_stranger, NULL), 0);
	while (!stranger_tid)
		usleep(100);
	return thread;
}

static bool stranger_was_sampled(void)
{
	records_take();
	for (size_t i = 0; i < records_count(RECORD_SAMPLE); i++) {
		const struct record_sample *sample =
			records_get(RECORD_SAMPLE, i);

		if (sample->head.tid == stranger_tid &&
		    !(sample->flags & SAMPLE_STACK_UNKNOWN))
			return true;
	}
	return false;
}

/* Also with the bounds of its stack, which are looked up. */
TEST(a_thread_that_nobody_told_of_is_found_and_sampled)
{
	pthread_t thread;

	begin_with_worker();
	thread = start_stranger();
	CHECK(wait_until(stranger_is_known));
	CHECK(found_thread->found);
	CHECK(wait_until(stranger_was_sampled));
	stranger_may_end = true;
	pthread_join(thread, NULL);
	CHECK(wait_until(stranger_is_unknown));
	end();
}

/* While a thread of pthread_create's is on its way, none is adopted: it would
 * be that one. */
TEST(a_thread_on_its_way_is_not_taken_for_a_stranger)
{
	pthread_t thread;

	begin();
	process->threads_created = 1;
	thread = start_stranger();
	tasks_scan();
	CHECK(!stranger_is_known());
	process->threads_begun = 1;
	tasks_scan();
	CHECK(stranger_is_known());
	stranger_may_end = true;
	pthread_join(thread, NULL);
	CHECK(wait_until(scan_forgets_stranger));
	end();
}

TEST(a_thread_with_a_record_is_not_adopted)
{
	begin();
	stranger_tid = (uint32_t)gettid();
	tasks_scan();
	tasks_scan();
	CHECK_EQ(agent_count(RING_THREADS), 0);
	CHECK(stranger_is_known());
	CHECK(found_thread == thread_self_app());
	CHECK(!tasks_only_us());
	end();
}

static bool modules_were_told(void)
{
	records_take();
	return records_count(RECORD_MODULES) > 0 &&
	       records_count(RECORD_MODULE) >= 3;
}

/* Some code more, so that the list is another than the last one. */
TEST(it_tells_the_modules)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *code =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	CHECK(code != MAP_FAILED);
	close(fd);
	begin();
	agent_let_worker();
	CHECK(wait_until(modules_were_told));
	end();
	munmap(code, 4096);
}

static bool windows_pass(void)
{
	return process->window >= 4;
}

static bool time_was_booked(void)
{
	records_take();
	return records_count(RECORD_UNSAMPLED) > 0;
}

/* What a thread used before it fell asleep is booked for it. */
TEST(it_closes_windows_and_books_for_those_who_sleep)
{
	begin();
	thread_self_app()->accounted_ns = agent_cpu_ns() - 50 * MS;
	agent_let_worker();
	CHECK(wait_until(windows_pass));
	CHECK(wait_until(time_was_booked));
	end();
}
