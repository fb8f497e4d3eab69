/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the processes of the tree.
 * Runs on: the exporter's main thread.
 */
#include "exporter/processes.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/log.h"

/* A child that was just forked has a slot after so long, or none. */
#define CHILD_NS UINT64_C(1000000000)

/* A process that died while a block was being read is complete after the next
 * pass. */
#define PASSES_AFTER_DEATH 2

static uint32_t pid_of(uint64_t claim)
{
	return (uint32_t)claim;
}

static uint32_t generation_of(uint64_t claim)
{
	return (uint32_t)(claim >> 32);
}

/* Field 22 of /proc/PID/stat: clock ticks after boot at which it started. */
static bool start_time(uint32_t pid, uint64_t *boot_ns)
{
	char path[64];
	char text[1024];
	unsigned long long ticks;
	const char *rest;
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = '\0';
	rest = strrchr(text, ')');
	/* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number. */
	if (!rest || sscanf(rest + 1,
			    " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			    " %*s %*s %*s %*s %*s %*s %*s %llu",
			    &ticks) != 1)
		return false;
	*boot_ns =
		ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

static void find_executable(struct known_process *process)
{
	char path[64];
	char target[PATH_MAX];
	ssize_t length;
	const char *name;

	snprintf(path, sizeof(path), "/proc/%u/exe", process->pid);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	name = strrchr(target, '/');
	snprintf(process->executable, sizeof(process->executable), "%.255s",
		 name ? name + 1 : target);
}

static void watch(struct processes *processes, struct known_process *process)
{
	struct epoll_event event = {.events = EPOLLIN};

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		return; /* no descriptor left, or refused: see has_ended */
	event.data.fd = process->pidfd;
	epoll_ctl(processes->epoll_fd, EPOLL_CTL_ADD, process->pidfd, &event);
}

static uint64_t claim_time(const struct processes *processes,
			   const struct known_process *process)
{
	return atomic_load(
		&processes->ring->processes[process->slot].claimed_boot_ns);
}

/* A number that was given away again: its holder started after the claim, by
 * more than a clock tick's doubt. The time is 0 while the claim is just being
 * made. */
static bool is_another(const struct processes *processes,
		       const struct known_process *process)
{
	uint64_t claimed_ns = claim_time(processes, process);
	uint64_t started_ns;

	return claimed_ns && start_time(process->pid, &started_ns) &&
	       started_ns > claimed_ns + 20000000;
}

static struct known_process *create(struct processes *processes, uint32_t slot,
				    uint64_t claim)
{
	struct known_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->slot = slot;
	process->pid = pid_of(claim);
	process->generation = generation_of(claim);
	process->map = address_map_create(processes->files);
	if (process->map) {
		address_map_set_process(process->map, process->pid);
		process->completer = completer_create(process->map);
	}
	if (!process->completer) {
		address_map_destroy(process->map);
		free(process);
		return NULL;
	}
	return process;
}

static bool has_ended(const struct known_process *process)
{
	struct pollfd fd = {process->pidfd, POLLIN, 0};

	if (process->pidfd < 0)
		return process->pid > INT_MAX ||
		       (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH);
	return poll(&fd, 1, 0) > 0;
}

static void set_dead(struct processes *processes, struct known_process *process)
{
	if (process->dead)
		return;
	process->dead = true;
	address_map_set_process(process->map, 0);
	process->dead_ns = now_ns(CLOCK_MONOTONIC);
	processes->live--;
}

/* An exec gives the same process another slot; its old self is no more. */
static void replace_older(struct processes *processes,
			  struct known_process *process)
{
	for (uint32_t i = 0; i < RING_PROCESSES; i++) {
		struct known_process *other = processes->by_slot[i];

		if (!other || other == process || other->pid != process->pid)
			continue;
		if (claim_time(processes, other) <=
		    claim_time(processes, process))
			set_dead(processes, other);
		else
			set_dead(processes, process);
	}
}

/* Now, or when it joined. */
static void find_maps(struct processes *processes,
		      struct known_process *process)
{
	struct proc_maps noted = {.text = NULL};

	if (processes->newcomers)
		noted = newcomers_take(processes->newcomers, process->pid);
	if (proc_maps_read(&process->maps, process->pid) == 0)
		proc_maps_free(&noted);
	else
		process->maps = noted;
}

static void add(struct processes *processes, uint32_t slot, uint64_t claim)
{
	struct known_process *process = create(processes, slot, claim);

	if (!process) {
		log_message(CONFIG_LOG_ERROR,
			    "no memory for process %u: its samples are lost",
			    pid_of(claim));
		return;
	}
	processes->by_slot[slot] = process;
	processes->live++;
	processes->seen++;
	replace_older(processes, process);
	watch(processes, process);
	find_executable(process);
	find_maps(processes, process);
	if (has_ended(process) || is_another(processes, process))
		set_dead(processes, process);
	log_message(CONFIG_LOG_INFO, "process %u (%s) joined", process->pid,
		    process->executable);
}

/* For others; who claims it counts the generation on. */
static void free_slot(struct processes *processes, uint32_t slot,
		      uint64_t claim)
{
	struct ring_process *entry = &processes->ring->processes[slot];

	atomic_store(&entry->claimed_boot_ns, 0);
	atomic_compare_exchange_strong(&entry->claim, &claim,
				       claim & ~(uint64_t)UINT32_MAX);
}

static void keep_slot(struct processes *processes, uint32_t slot,
		      uint64_t claim)
{
	struct ring_process *entry = &processes->ring->processes[slot];

	/* A newcomer with the same number must not take it for its own. */
	if (atomic_load(&entry->claim) == claim)
		atomic_store(&entry->leader_accounted_ns, 0);
	if (processes->kept == PROCESSES_KEPT_MAX) {
		free_slot(processes, slot, claim);
		return;
	}
	processes->kept_claims[slot] = claim;
	processes->kept++;
}

static void forget_slot(struct processes *processes, uint32_t slot)
{
	processes->kept -= processes->kept_claims[slot] != 0;
	processes->kept_claims[slot] = 0;
}

void processes_free_slots(struct processes *processes)
{
	for (uint32_t slot = 0; processes->kept && slot < RING_PROCESSES;
	     slot++) {
		if (!processes->kept_claims[slot])
			continue;
		free_slot(processes, slot, processes->kept_claims[slot]);
		forget_slot(processes, slot);
	}
}

static void release(struct processes *processes, struct known_process *process)
{
	uint64_t claim = (uint64_t)process->generation << 32 | process->pid;

	if (processes->gone)
		processes->gone(processes->context, process);
	processes->by_slot[process->slot] = NULL;
	if (process->pidfd >= 0)
		close(process->pidfd);
	proc_maps_free(&process->maps);
	completer_destroy(process->completer);
	address_map_destroy(process->map);
	keep_slot(processes, process->slot, claim);
	free(process);
}

static void look_at(struct processes *processes, uint32_t slot)
{
	uint64_t claim = atomic_load_explicit(
		&processes->ring->processes[slot].claim, memory_order_acquire);
	struct known_process *process = processes->by_slot[slot];

	if (process && !process->dead && has_ended(process))
		set_dead(processes, process);
	if (process && process->generation != generation_of(claim)) {
		/* Someone rewrote the slot: only a hostile program does. */
		set_dead(processes, process);
		release(processes, process);
		process = NULL;
	}
	if (claim == processes->kept_claims[slot])
		return;
	forget_slot(processes, slot);
	if (!process && pid_of(claim) != 0)
		add(processes, slot, claim);
}

void processes_look(struct processes *processes)
{
	for (uint32_t slot = 0; slot < RING_PROCESSES; slot++)
		look_at(processes, slot);
	atomic_store(&processes->ring->header.live_processes, processes->live);
}

/* Daemons fork, and the parent may be gone before the child is there. A fork
 * that failed looks the same. */
static bool awaits_child(const struct processes *processes,
			 const struct known_process *process)
{
	const struct ring_process *entry =
		&processes->ring->processes[process->slot];

	return atomic_load(&entry->forks_begun) !=
		       atomic_load(&entry->forks_claimed) &&
	       now_ns(CLOCK_MONOTONIC) < process->dead_ns + CHILD_NS;
}

void processes_settle(struct processes *processes)
{
	for (uint32_t slot = 0; slot < RING_PROCESSES; slot++) {
		struct known_process *process = processes->by_slot[slot];

		if (process && process->dead &&
		    ++process->passes_dead >= PASSES_AFTER_DEATH &&
		    !awaits_child(processes, process))
			release(processes, process);
	}
}

struct known_process *processes_find(struct processes *processes,
				     const struct record *record)
{
	struct known_process *process = processes->by_slot[record->process];

	if (!process || process->generation != record->generation)
		return NULL;
	return process;
}

void processes_need_modules(struct processes *processes,
			    struct known_process *process)
{
	const struct ring_process *entry =
		&processes->ring->processes[process->slot];

	if (!process->maps.text)
		return;
	if (address_map_generation(process->map) == 0)
		proc_maps_tell(&process->maps,
			       atomic_load(&entry->agent_address),
			       process->map);
	proc_maps_free(&process->maps);
}

static bool task_exists(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

bool processes_owner_is_dead(struct processes *processes, uint64_t owner)
{
	uint32_t slot = (uint32_t)(owner >> 48) - 1;
	struct known_process *process =
		slot < RING_PROCESSES ? processes->by_slot[slot] : NULL;

	/* No such process: it was released, or the token is made up. */
	if (!process ||
	    (process->generation & 0xffff) != (owner >> 32 & 0xffff))
		return true;
	return process->dead || !task_exists(process->pid, (uint32_t)owner);
}

void processes_fini(struct processes *processes)
{
	for (uint32_t slot = 0; slot < RING_PROCESSES; slot++) {
		if (processes->by_slot[slot])
			release(processes, processes->by_slot[slot]);
	}
	processes_free_slots(processes);
}
