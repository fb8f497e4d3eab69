/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's state of one process.
 * Runs on: the constructor; process_unique_id_sig anywhere.
 */
#include "preload/process.h"

#include <errno.h>
#include <sys/mman.h>

#include "sampler/arch.h"

/* Linux 4.14; the C library's headers may be older. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct agent agent;
struct process *process;

void *process_memory(uint64_t bytes, bool wiped)
{
	long at = SYS6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *memory = (void *)at;

	if (at < 0 && at > -4096)
		return 0;
	SYS3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	if (wiped && SYS3(SYS_madvise, at, bytes, MADV_WIPEONFORK) != 0)
		agent.forks_wipe = false;
	return memory;
}

int process_map(void)
{
	agent.forks_wipe = true;
	process = process_memory(4096, true);
	return process ? 0 : -ENOMEM;
}

/* splitmix64's mixing step: a bijection, so that counters give no number
 * twice. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t process_unique_id_sig(void)
{
	uint64_t id;

	do {
		uint64_t n = atomic_fetch_add_explicit(&process->id_counter, 1,
						       memory_order_relaxed);

		id = mix(process->id_seed + n * UINT64_C(0x9e3779b97f4a7c15));
	} while (id == 0);
	return id;
}
