/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU timers.
 * Runs on: anywhere; raw system calls only.
 */
#include "sampler/timer.h"

#include <signal.h>
#include <time.h>

#include "preload/process.h"
#include "sampler/arch.h"

/*
 * The kernel's sigevent: glibc 2.36 names the target's field differently from
 * what timer_create(2) documents. 64 bytes, unused ones zero.
 */
struct kernel_sigevent {
	uint64_t value;
	int32_t signal_number;
	int32_t notify;
	int32_t tid;
	uint8_t unused[44];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "kernel ABI");

/* The clock of another thread: see clock_getcpuclockid(3) and the kernel's
 * include/linux/posix-timers_types.h: ~tid << 3 | per thread 4 |
 * scheduler 2. */
static int32_t cpu_clock_of_sig(uint32_t tid)
{
	return (int32_t)(~tid << 3 | 4 | 2);
}

int64_t thread_cpu_sig(uint32_t tid)
{
	struct timespec used;

	if (SYS2(SYS_clock_gettime, (long)cpu_clock_of_sig(tid), &used) != 0)
		return -1;
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static struct timespec timespec_from_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000),
			     (long)(ns % 1000000000)};

	return t;
}

/*
 * An expiry is noticed at the first tick after it that finds the thread
 * running, which is up to a tick too late: a thread that lives less than a tick
 * would be seen far too seldom. So the expiry is put at the beginning of the
 * tick's span in which it is to be noticed: a random moment of the first
 * period, rounded down to ticks of the thread's clock.
 */
static uint64_t first_expiry_sig(void)
{
	uint64_t ns = process_unique_id_sig() % agent.period_ns;

	return 1 + ns - ns % agent.tick_ns;
}

int timer_arm_sig(struct thread *thread)
{
	struct kernel_sigevent event;
	struct itimerspec when;
	int32_t id = -1;
	long error;

	zero_bytes_sig(&event, sizeof(event));
	event.value = (uint64_t)(uintptr_t)thread;
	event.signal_number = agent.signal_number;
	event.notify = SIGEV_THREAD_ID;
	event.tid = (int32_t)thread->tid;
	error = SYS3(SYS_timer_create, (long)cpu_clock_of_sig(thread->tid),
		     &event, &id);
	if (error)
		return (int)error;
	when.it_interval = timespec_from_ns(agent.period_ns);
	when.it_value = timespec_from_ns(first_expiry_sig());
	error = SYS4(SYS_timer_settime, id, 0, &when, 0);
	if (error) {
		SYS1(SYS_timer_delete, id);
		return (int)error;
	}
	thread->timer = id;
	return 0;
}

void timer_measure_tick(void)
{
	struct timespec tick = {0, 0};

	/* The coarse clocks advance by the tick. */
	SYS2(SYS_clock_getres, CLOCK_REALTIME_COARSE, &tick);
	agent.tick_ns = tick.tv_sec == 0 && tick.tv_nsec > 0
				? (uint64_t)tick.tv_nsec
				: 1;
}

void timer_disarm_sig(struct thread *thread)
{
	if (thread->timer >= 0)
		SYS1(SYS_timer_delete, thread->timer);
	thread->timer = -1;
}
