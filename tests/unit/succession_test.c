/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter takes the place of one that was killed.
 * Runs on: the test program's main thread, and children.
 */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "exporter/recorder.h"
#include "sampler/ring.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/forge.h"
#include "tests/lib/temp.h"
#include "tests/lib/unit.h"

static struct recorder recorder;
static struct config config;
static const char *folder;
static int epoll_fd = -1;

/* The last one was killed: nobody tidied up. What it held stays here, so that
 * the leak checker sees who owns it. */
static void begin_exporter(void)
{
	static struct recorder killed[32];
	static unsigned killed_count;

	CHECK(killed_count < sizeof(killed) / sizeof(killed[0]));
	killed[killed_count++] = recorder;
	memset(&recorder, 0, sizeof(recorder));
	recorder.program = "a program";
	CHECK_EQ(recorder_init(&recorder, &config, agent.ring, folder), 0);
	recorder.processes.epoll_fd = epoll_fd;
}

static void begin(void)
{
	static char *nothing[] = {NULL};

	if (epoll_fd < 0)
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	agent_begin();
	folder = temp_folder();
	config_read(&config, nothing, NULL, NULL);
	begin_exporter();
	CHECK_EQ(agent.ring->header.exporter_restarts, 0);
}

static void claim(uint32_t slot, pid_t pid)
{
	atomic_store(&agent.ring->processes[slot].claimed_boot_ns,
		     clock_boot_sig());
	atomic_store(&agent.ring->processes[slot].claim,
		     UINT64_C(1) << 32 | (uint32_t)pid);
}

static void put(uint16_t slot, uint64_t cpu_ns)
{
	union forged *record = forge(RECORD_UNSAMPLED, clock_monotonic_sig());

	record->head.process = slot;
	record->unsampled.cpu_ns = cpu_ns;
	forge_put(0, record);
}

static int wait_for_kill(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

TEST(what_the_dead_one_held_is_written_at_once)
{
	begin();
	claim(0, getpid());
	put(0, 1000);
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.total_ns, 1000);
	CHECK_EQ(recorder.output.files_written, 0);
	put(0, 10);
	begin_exporter();
	recorder_pass(&recorder);
	CHECK_EQ(recorder.output.files_written, 1);
	CHECK_EQ(recorder.window.total_ns, 0);
	put(0, 5);
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.total_ns, 5);
}

TEST(what_was_written_is_not_counted_again)
{
	begin();
	claim(0, getpid());
	put(0, 1000);
	recorder_pass(&recorder);
	recorder_flush(&recorder);
	put(0, 5);
	recorder_pass(&recorder);
	begin_exporter();
	CHECK_EQ(recorder.takes_over, true);
	recorder.takes_over = false; /* to see what it has */
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.total_ns, 5);
}

TEST(records_of_processes_that_ended_are_still_theirs)
{
	pid_t child;

	begin();
	child = crowd_fork(wait_for_kill, NULL);
	claim(3, child);
	put(3, 700);
	recorder_pass(&recorder);
	kill(child, SIGKILL);
	crowd_wait(child);
	for (int i = 0; i < 4; i++)
		recorder_pass(&recorder);
	CHECK(!recorder.processes.by_slot[3]);
	begin_exporter();
	recorder.takes_over = false;
	recorder_pass(&recorder);
	CHECK_EQ(recorder.window.total_ns, 700);
	CHECK_EQ(recorder.counts.orphans, 0);
	recorder_pass(&recorder);
	recorder_flush(&recorder);
	CHECK_EQ(agent.ring->processes[3].claim, UINT64_C(1) << 32);
}

TEST(each_restart_is_told_to_the_samplers)
{
	begin();
	for (uint32_t i = 1; i < 4; i++) {
		begin_exporter();
		CHECK_EQ(agent.ring->header.exporter_restarts, i);
	}
}

TEST(counters_go_on_where_the_last_window_told_them)
{
	begin();
	claim(0, getpid());
	atomic_store(&agent.ring->header.counters[RING_SAMPLES], 40);
	put(0, 1000);
	recorder_pass(&recorder);
	recorder_flush(&recorder);
	atomic_store(&agent.ring->header.counters[RING_SAMPLES], 50);
	begin_exporter();
	CHECK_EQ(recorder.ring_counts[RING_SAMPLES], 40);
}

TEST(the_window_began_where_the_last_one_ended)
{
	uint64_t start_ns;

	begin();
	start_ns = recorder.window_start_ns;
	begin_exporter();
	CHECK_EQ(recorder.window_start_ns, start_ns);
	recorder_pass(&recorder);
	CHECK(recorder.window_start_ns > start_ns);
	/* A lie. */
	atomic_store(&agent.ring->header.marks[1].end_ns, UINT64_MAX);
	begin_exporter();
	CHECK(recorder.window_start_ns > start_ns);
	CHECK(recorder.window_start_ns <= clock_monotonic_sig());
}

TEST(windows_are_short_once_the_program_is_told_to_end)
{
	begin();
	config.interval_ms = 15000;
	recorder.window_start_ns -= UINT64_C(1500000000);
	recorder_pass(&recorder);
	CHECK_EQ(agent.ring->header.windows_out, 0);
	atomic_store(&agent.ring->header.told_to_end_ns, clock_monotonic_sig());
	recorder_pass(&recorder);
	CHECK_EQ(agent.ring->header.windows_out, 1);
	/* It goes on. */
	recorder.window_start_ns -= UINT64_C(1500000000);
	atomic_store(&agent.ring->header.told_to_end_ns,
		     clock_monotonic_sig() - UINT64_C(61000000000));
	recorder_pass(&recorder);
	CHECK_EQ(agent.ring->header.windows_out, 1);
}
