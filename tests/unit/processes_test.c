/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in the ring: newcomers, the dead, execs, numbers that are given away
 * again, and claims that are made up.
 * Runs on: the test program's main thread, and children.
 */
#include "exporter/processes.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sampler/ring.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/unit.h"

static struct processes processes;
static struct elf_cache files;
static unsigned gone_count;
static uint32_t gone_pid;

static void gone(void *context, const struct known_process *known)
{
	CHECK(context == &gone_count);
	gone_count++;
	gone_pid = known->pid;
}

static void begin(void)
{
	if (processes.ring) {
		processes.gone = NULL;
		processes_fini(&processes);
		close(processes.epoll_fd);
	}
	agent_begin();
	memset(&processes, 0, sizeof(processes));
	processes.ring = agent.ring;
	processes.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	processes.files = &files;
	processes.gone = gone;
	processes.context = &gone_count;
	gone_count = 0;
}

static void claim(uint32_t slot, uint32_t generation, uint32_t pid,
		  uint64_t boot_ns)
{
	atomic_store(&agent.ring->processes[slot].claimed_boot_ns, boot_ns);
	atomic_store(&agent.ring->processes[slot].claim,
		     (uint64_t)generation << 32 | pid);
}

static void claim_own(uint32_t slot, uint32_t generation)
{
	claim(slot, generation, (uint32_t)getpid(), clock_boot_sig());
}

static struct known_process *find(uint32_t slot, uint32_t generation)
{
	struct record record = {.process = (uint16_t)slot,
				.generation = generation};

	return processes_find(&processes, &record);
}

static uint64_t owner(uint32_t slot, uint32_t generation, uint32_t tid)
{
	return (uint64_t)(slot + 1) << 48 |
	       (uint64_t)(generation & 0xffff) << 32 | tid;
}

static void look_and_settle(void)
{
	processes_look(&processes);
	processes_settle(&processes);
}

TEST(an_empty_ring_has_no_process)
{
	begin();
	look_and_settle();
	CHECK_EQ(processes.live, 0);
	CHECK_EQ(processes.seen, 0);
	CHECK(!find(0, 0));
}

TEST(a_claim_is_a_process)
{
	struct known_process *known;

	begin();
	claim_own(7, 3);
	processes_look(&processes);
	known = find(7, 3);
	CHECK(known != NULL);
	CHECK_EQ(known->pid, getpid());
	CHECK(!known->dead);
	CHECK_STR(known->executable, "processes_test");
	CHECK(!find(7, 2) && !find(6, 3));
	CHECK_EQ(processes.live, 1);
	CHECK_EQ(agent.ring->header.live_processes, 1);
	for (int i = 0; i < 5; i++)
		look_and_settle();
	CHECK(find(7, 3) == known);
	CHECK_EQ(processes.seen, 1);
	CHECK_EQ(gone_count, 0);
}

static int wait_for_kill(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

/* Its records may be in the ring for a pass after its death. */
TEST(a_dead_process_is_let_go_of_after_two_passes)
{
	pid_t child;

	begin();
	child = crowd_fork(wait_for_kill, NULL);
	claim(9, 5, (uint32_t)child, clock_boot_sig());
	look_and_settle();
	CHECK(find(9, 5) && !find(9, 5)->dead);
	kill(child, SIGKILL);
	CHECK_EQ(crowd_wait(child), 256 + SIGKILL);
	look_and_settle();
	CHECK(find(9, 5) && find(9, 5)->dead);
	CHECK_EQ(processes.live, 0);
	CHECK_EQ(gone_count, 0);
	look_and_settle();
	CHECK(!find(9, 5));
	CHECK_EQ(gone_count, 1);
	CHECK_EQ(gone_pid, child);
	/* A successor must still know whose records these are. */
	CHECK_EQ(agent.ring->processes[9].claim,
		 UINT64_C(5) << 32 | (uint32_t)child);
	look_and_settle();
	CHECK_EQ(processes.seen, 1);
	/* Free for others, who count the generation on. */
	processes_free_slots(&processes);
	CHECK_EQ(agent.ring->processes[9].claim, UINT64_C(5) << 32);
	look_and_settle();
	CHECK_EQ(processes.seen, 1);
}

TEST(death_wakes_who_waits)
{
	struct epoll_event event;
	pid_t child;

	begin();
	child = crowd_fork(wait_for_kill, NULL);
	claim(9, 5, (uint32_t)child, clock_boot_sig());
	processes_look(&processes);
	CHECK_EQ(epoll_wait(processes.epoll_fd, &event, 1, 0), 0);
	kill(child, SIGKILL);
	CHECK_EQ(epoll_wait(processes.epoll_fd, &event, 1, 10000), 1);
	crowd_wait(child);
}

TEST(who_is_dead_already_is_known_as_such)
{
	begin();
	claim(9, 5, 0x3fffff, clock_boot_sig());
	processes_look(&processes);
	CHECK(find(9, 5) && find(9, 5)->dead);
	CHECK_EQ(processes.live, 0);
	processes_settle(&processes);
	look_and_settle();
	CHECK_EQ(gone_count, 1);
}

/* A daemon's first process leaves before the second is known. */
TEST(a_dead_process_waits_for_the_child_that_it_forked)
{
	begin();
	claim(9, 5, 0x3fffff, clock_boot_sig());
	atomic_store(&agent.ring->processes[9].forks_begun, 3);
	atomic_store(&agent.ring->processes[9].forks_claimed, 2);
	for (int i = 0; i < 10; i++)
		look_and_settle();
	CHECK(find(9, 5) != NULL);
	atomic_fetch_add(&agent.ring->processes[9].forks_claimed, 1);
	look_and_settle();
	CHECK(!find(9, 5));
	CHECK_EQ(gone_count, 1);
}

/* The fork has failed, or the child is none of ours. */
TEST(no_child_is_waited_for_for_ever)
{
	begin();
	claim(9, 5, 0x3fffff, clock_boot_sig());
	atomic_store(&agent.ring->processes[9].forks_begun, 1);
	look_and_settle();
	CHECK(find(9, 5) != NULL);
	find(9, 5)->dead_ns -= UINT64_C(1000000000);
	look_and_settle();
	CHECK(!find(9, 5));
}

/* The number's holder began after the claim: it is another process. */
TEST(a_number_that_was_given_away_again_is_not_the_claimer)
{
	begin();
	claim(9, 5, (uint32_t)getpid(), 1);
	processes_look(&processes);
	CHECK(find(9, 5)->dead);
	CHECK_EQ(processes.live, 0);
}

/* The time of a claim is stored behind it. */
TEST(a_claim_that_is_just_being_made_is_believed)
{
	begin();
	claim(9, 5, (uint32_t)getpid(), 0);
	processes_look(&processes);
	CHECK(!find(9, 5)->dead);
}

/* An exec makes a second claim with the same number. */
TEST(an_exec_ends_the_older_self)
{
	uint64_t now = clock_boot_sig();

	begin();
	claim(9, 5, (uint32_t)getpid(), now - 1000);
	look_and_settle();
	claim(4, 1, (uint32_t)getpid(), now);
	processes_look(&processes);
	CHECK(find(9, 5)->dead);
	CHECK(!find(4, 1)->dead);
	CHECK_EQ(processes.live, 1);
	/* Seen at the same time, in whatever order. */
	begin();
	claim(4, 1, (uint32_t)getpid(), now);
	claim(9, 5, (uint32_t)getpid(), now - 1000);
	processes_look(&processes);
	CHECK(find(9, 5)->dead);
	CHECK(!find(4, 1)->dead);
	CHECK_EQ(processes.live, 1);
}

/* ---- made-up claims ---- */

TEST(a_rewritten_claim_is_another_process)
{
	begin();
	claim_own(7, 3);
	processes_look(&processes);
	claim_own(7, 4);
	processes_look(&processes);
	CHECK(!find(7, 3));
	CHECK(find(7, 4) != NULL);
	CHECK_EQ(processes.live, 1);
	CHECK_EQ(gone_count, 1);
	/* The claim stays the new one's. */
	CHECK_EQ(agent.ring->processes[7].claim,
		 UINT64_C(4) << 32 | (uint32_t)getpid());
	atomic_store(&agent.ring->processes[7].claim, 0);
	processes_look(&processes);
	CHECK_EQ(processes.live, 0);
	CHECK_EQ(gone_count, 2);
}

TEST(impossible_numbers_are_dead_processes)
{
	static const uint32_t pids[] = {UINT32_MAX, 1u << 31, INT32_MAX,
					0x400001};

	begin();
	for (uint32_t i = 0; i < 4; i++)
		claim(i, i, pids[i], 0);
	processes_look(&processes);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(find(i, i)->dead);
	for (int i = 0; i < 3; i++)
		look_and_settle();
	CHECK_EQ(gone_count, 4);
	CHECK_EQ(processes.live, 0);
}

TEST(all_slots_may_be_claimed)
{
	begin();
	for (uint32_t i = 0; i < RING_PROCESSES; i++)
		claim(i, 1, 0x3fffff, 0);
	look_and_settle();
	CHECK_EQ(processes.seen, RING_PROCESSES);
	look_and_settle();
	CHECK_EQ(gone_count, RING_PROCESSES);
}

/* A script that starts thousands of commands within one window. */
TEST(slots_are_kept_within_a_bound)
{
	uint32_t slots = 0;

	begin();
	for (uint32_t i = 0; i < RING_PROCESSES; i++)
		claim(i, 1, 0x3fffff, 0);
	look_and_settle();
	look_and_settle();
	CHECK_EQ(gone_count, RING_PROCESSES);
	for (uint32_t i = 0; i < RING_PROCESSES; i++)
		slots += (uint32_t)agent.ring->processes[i].claim != 0;
	CHECK_EQ(slots, PROCESSES_KEPT_MAX);
	processes_free_slots(&processes);
	CHECK_EQ(processes.kept, 0);
	for (uint32_t i = 0; i < RING_PROCESSES; i++)
		CHECK_EQ((uint32_t)agent.ring->processes[i].claim, 0);
}

/* What was accounted of a dead process is no newcomer's of the same number. */
TEST(a_kept_slot_accounts_for_nobody)
{
	begin();
	claim(9, 5, 0x3fffff, clock_boot_sig());
	atomic_store(&agent.ring->processes[9].leader_accounted_ns, 1000);
	look_and_settle();
	CHECK_EQ(agent.ring->processes[9].leader_accounted_ns, 1000);
	look_and_settle();
	CHECK_EQ(agent.ring->processes[9].leader_accounted_ns, 0);
}

/* ---- owners of blocks ---- */

TEST(an_owner_lives_while_its_thread_does)
{
	begin();
	claim_own(7, 0x10003);
	processes_look(&processes);
	CHECK(!processes_owner_is_dead(&processes,
				       owner(7, 0x10003, (uint32_t)gettid())));
	CHECK(processes_owner_is_dead(&processes, owner(7, 0x10003, 0x3fffff)));
	CHECK(processes_owner_is_dead(&processes,
				      owner(7, 4, (uint32_t)gettid())));
	CHECK(processes_owner_is_dead(&processes,
				      owner(8, 3, (uint32_t)gettid())));
}

TEST(an_owner_of_no_process_is_dead)
{
	begin();
	CHECK(processes_owner_is_dead(&processes, 1));
	CHECK(processes_owner_is_dead(&processes, UINT64_MAX - 1));
	CHECK(processes_owner_is_dead(&processes, (uint64_t)(RING_PROCESSES + 1)
							  << 48));
}

TEST(all_owners_of_a_dead_process_are_dead)
{
	begin();
	claim(9, 5, (uint32_t)getpid(), 1);
	processes_look(&processes);
	CHECK(processes_owner_is_dead(&processes,
				      owner(9, 5, (uint32_t)gettid())));
}
