/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal handler: which signals it takes for its own, what a sample says,
 * and that foreign signals get what the program asked for.
 * Runs on: the test program's main thread, and children.
 */
#include "sampler/handler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sampler/ledger.h"
#include "tests/lib/agent.h"
#include "tests/lib/crowd.h"
#include "tests/lib/records.h"
#include "tests/lib/unit.h"

#define MS INT64_C(1000000)

/* Signals as a timer would send them: the kernel lets us choose all of it. */
static void send(int code, const void *cookie, int overruns)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = agent.signal_number;
	info.si_code = code;
	info.si_overrun = overruns;
	info.si_value.sival_ptr = (void *)(uintptr_t)cookie;
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(),
			 agent.signal_number, &info),
		 0);
}

/* The only sample of those taken. */
static const struct record_sample *take_sample(void)
{
	records_take();
	CHECK_EQ(records_count(RECORD_SAMPLE), 1);
	return records_get(RECORD_SAMPLE, 0);
}

static struct thread *self;

static void begin(void)
{
	agent_begin();
	self = agent_enter();
}

TEST(the_signal_is_a_real_time_one_that_was_free)
{
	agent_begin();
	CHECK(agent.signal_number >= 35);
	CHECK(agent.signal_number <= 60);
}

TEST(an_expiry_is_a_sample_of_its_thread)
{
	const struct record_sample *sample;

	begin();
	send(SI_TIMER, self, 0);
	sample = take_sample();
	CHECK_EQ(sample->head.tid, self->tid);
	CHECK_EQ(sample->head.process, AGENT_SLOT);
	CHECK_EQ(sample->count, 1);
	CHECK_EQ(sample->cpu_ns, 10 * MS);
	CHECK_EQ(self->accounted_ns, 10 * MS);
	CHECK_EQ(agent_count(RING_SAMPLES), 1);
	CHECK_EQ(process->activity, 1);
	CHECK_EQ(sample->span.span_id[0], 0);
	CHECK_EQ(sample->span.trace_id[0], 0);
}

TEST(overruns_are_periods_within_a_bound)
{
	const int64_t most = ledger_most_periods_sig();

	begin();
	send(SI_TIMER, self, 6);
	CHECK_EQ(take_sample()->count, 7);
	CHECK_EQ(((const struct record_sample *)records_get(RECORD_SAMPLE, 0))
			 ->cpu_ns,
		 70 * MS);
	send(SI_TIMER, self, (int)most);
	CHECK_EQ(take_sample()->count, most);
	send(SI_TIMER, self, INT32_MAX);
	CHECK_EQ(take_sample()->count, most);
	CHECK_EQ(self->accounted_ns, (7 + 2 * most) * 10 * MS);
}

TEST(a_sample_bears_the_threads_span)
{
	span_handle handle;
	struct span last;

	begin();
	handle = span_open_app();
	memset(&span_get_sig(handle)->context, 0x5a,
	       sizeof(struct span_context));
	self->span = handle;
	send(SI_TIMER, self, 0);
	CHECK_EQ(take_sample()->span.span_id[7], 0x5a);
	span_close_app(handle, &last);
	send(SI_TIMER, self, 0);
	CHECK_EQ(take_sample()->span.span_id[7], 0);
}

TEST(late_expiries_of_threads_that_have_gone_are_nothing)
{
	struct thread *other;

	begin();
	other = thread_claim_sig();
	send(SI_TIMER, other, 0);
	thread_release_sig(other);
	send(SI_TIMER, other, 0);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(agent_count(RING_SAMPLES), 0);
}

/* ---- registers and stack ---- */

#define MARK UINT64_C(0x1122334455667788)

static struct thread *stack_owner;

/* Raises the signal with known words on the stack and in registers. */
static __attribute__((noipa)) uint64_t sample_with_marks(void)
{
	volatile uint64_t marks[4] = {MARK, MARK + 1, MARK + 2, MARK + 3};

	send(SI_TIMER, stack_owner, 0);
	return (uint64_t)&marks[0] + (marks[0] == MARK ? 0 : 1);
}

static const uint8_t *stack_at(const struct record_sample *sample,
			       uint64_t address)
{
	CHECK(address >= sample->stack_address);
	CHECK(address + 32 <= sample->stack_address + sample->stack_bytes);
	return sample->stack + (address - sample->stack_address);
}

TEST(a_sample_holds_the_stack_from_the_red_zone_to_its_top)
{
	const struct record_sample *sample;
	uint64_t expected[4] = {MARK, MARK + 1, MARK + 2, MARK + 3};
	uint64_t address;
	uint64_t sp;

	begin();
	stack_owner = self;
	/* The whole main stack would be too much for one sample. */
	self->stack_top = ((uint64_t)__builtin_frame_address(0) & ~7ull) + 256;
	address = sample_with_marks();
	sample = take_sample();
	CHECK(!memcmp(stack_at(sample, address), expected, sizeof(expected)));
	CHECK_EQ(sample->flags, 0);
	CHECK_EQ(sample->stack_address % 8, 0);
	CHECK_EQ(sample->stack_address + sample->stack_bytes, self->stack_top);
	sp = sample->registers[7];
	CHECK(sp > (uint64_t)&sample - 8192 && sp < address);
	CHECK_EQ(sample->stack_address, (sp - 128) & ~7ull);
	/* rip: behind the system call, in libc. */
	CHECK(sample->registers[16] > (uint64_t)syscall - (1 << 21));
	CHECK(sample->registers[16] < (uint64_t)syscall + (1 << 21));
}

/* Raises the signal with a number of its own in each register that the system
 * call leaves alone. */
static void send_with_registers(siginfo_t *info)
{
	long result = SYS_rt_tgsigqueueinfo;
	long pid = getpid();
	long tid = gettid();
	long number = agent.signal_number;
	register long r10 __asm__("r10") = (long)info;

	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
			 "pushq %%rbp\n\t"
			 "movq $0x106, %%rbp\n\t"
			 "movq $0x103, %%rbx\n\t"
			 "movq $0x108, %%r8\n\t"
			 "movq $0x109, %%r9\n\t"
			 "movq $0x10c, %%r12\n\t"
			 "movq $0x10d, %%r13\n\t"
			 "movq $0x10e, %%r14\n\t"
			 "movq $0x10f, %%r15\n\t"
			 "syscall\n\t"
			 "popq %%rbp\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 : "+a"(result)
			 : "D"(pid), "S"(tid), "d"(number), "r"(r10)
			 : "rbx", "rcx", "r8", "r9", "r11", "r12", "r13", "r14",
			   "r15", "memory", "cc");
	CHECK_EQ(result, 0);
}

static siginfo_t sent_info;
static long sender_tid;

/* On a thread whose id is not its process's. */
static void *send_from_thread(void *unused)
{
	(void)unused;
	sender_tid = gettid();
	sent_info.si_signo = agent.signal_number;
	sent_info.si_code = SI_TIMER;
	sent_info.si_value.sival_ptr = agent_enter();
	send_with_registers(&sent_info);
	return NULL;
}

/* x86-64 psABI, figure 3.36. */
TEST(registers_are_in_the_order_of_dwarf)
{
	const struct record_sample *sample;
	pthread_t thread;

	agent_begin();
	CHECK_EQ(pthread_create(&thread, NULL, send_from_thread, NULL), 0);
	pthread_join(thread, NULL);
	sample = take_sample();
	CHECK_EQ(sample->registers[0], 0); /* rax: the call's result */
	CHECK_EQ(sample->registers[1], agent.signal_number);   /* rdx */
	CHECK_EQ(sample->registers[2], sample->registers[16]); /* rcx: rip */
	CHECK_EQ(sample->registers[3], 0x103);                 /* rbx */
	CHECK_EQ(sample->registers[4], sender_tid);            /* rsi */
	CHECK_EQ(sample->registers[5], getpid());              /* rdi */
	CHECK_EQ(sample->registers[6], 0x106);                 /* rbp */
	CHECK_EQ(sample->registers[8], 0x108);
	CHECK_EQ(sample->registers[9], 0x109);
	CHECK_EQ(sample->registers[10], (uint64_t)&sent_info);
	for (unsigned i = 12; i < 16; i++)
		CHECK_EQ(sample->registers[i], 0x100 + i);
}

static uint64_t deep_address;

/* Deep inside of the stack of a thread, which was found or is known. */
static void *send_from_deep_inside(void *found)
{
	volatile char below[2 * SAMPLE_STACK_MAX_BYTES];
	struct thread *thread = agent_enter();

	thread->found = found != NULL;
	below[0] = below[sizeof(below) - 1] = 1;
	deep_address = (uint64_t)&below[0];
	send(SI_TIMER, thread, 0);
	return NULL;
}

TEST(a_deep_stack_is_cut_at_its_outer_end)
{
	for (int found = 0; found < 2; found++) {
		const struct record_sample *sample;
		pthread_t thread;

		agent_begin();
		CHECK_EQ(pthread_create(&thread, NULL, send_from_deep_inside,
					found ? &thread : NULL),
			 0);
		pthread_join(thread, NULL);
		sample = take_sample();
		CHECK_EQ(sample->flags, SAMPLE_STACK_CUT);
		CHECK_EQ(sample->stack_bytes, SAMPLE_STACK_MAX_BYTES);
		CHECK(sample->stack_address < deep_address);
		stack_at(sample, deep_address);
		CHECK_EQ(agent_count(RING_STACKS_CUT), 1);
	}
}

/* A coroutine has a stack that the agent knows nothing of. */
static ucontext_t main_context;
static ucontext_t other_context;

static void run_on_other_stack(void)
{
	send(SI_TIMER, stack_owner, 0);
}

static void sample_on_other_stack(char *stack, size_t bytes)
{
	CHECK_EQ(getcontext(&other_context), 0);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = bytes;
	other_context.uc_link = &main_context;
	makecontext(&other_context, run_on_other_stack, 0);
	swapcontext(&main_context, &other_context);
}

TEST(of_an_unknown_stack_only_one_page_is_read)
{
	const size_t bytes = 256u << 10;
	const struct record_sample *sample;
	uint64_t sp;
	char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED);
	begin();
	stack_owner = self;
	for (int found = 0; found < 2; found++) {
		self->found = found;
		sample_on_other_stack(stack, bytes);
		sample = take_sample();
		sp = sample->registers[7];
		CHECK(sp > (uint64_t)stack && sp < (uint64_t)stack + bytes);
		CHECK_EQ(sample->flags, SAMPLE_STACK_UNKNOWN);
		CHECK(sample->stack_address <= sp);
		CHECK(sample->stack_address >= (sp & ~4095ull));
		CHECK_EQ(sample->stack_address + sample->stack_bytes,
			 (sp | 4095) + 1);
		/* The sampler thread is asked to look up its bounds. */
		CHECK_EQ(self->lost_stack, found ? sp : 0);
	}
	munmap(stack, bytes);
}

TEST(a_full_ring_leaves_the_account_alone)
{
	begin();
	for (unsigned i = 0; i < RING_BLOCKS; i++)
		atomic_store(&agent.ring->blocks[i].owner, 1);
	send(SI_TIMER, self, 0);
	CHECK_EQ(self->accounted_ns, 0);
	CHECK_EQ(agent_count(RING_SAMPLES), 0);
	CHECK_EQ(agent_count(RING_LOST_NO_BLOCK), 1);
}

TEST(a_sample_leaves_errno_alone)
{
	begin();
	errno = 77;
	send(SI_TIMER, self, 0);
	CHECK_EQ(errno, 77);
	take_sample();
}

TEST(a_blocked_signal_waits)
{
	begin();
	CHECK_EQ(handler_block_sig(1), 0);
	CHECK_EQ(handler_block_sig(1), 1);
	send(SI_TIMER, self, 0);
	CHECK_EQ(records_take(), 0);
	CHECK_EQ(handler_block_sig(0), 1);
	take_sample();
	CHECK_EQ(handler_block_sig(0), 0);
}

/* ---- signals that are not from our timers ---- */

static void set_program_action(void *handler, uint64_t flags)
{
	struct handler_action action = {handler, flags, 0};

	handler_set_program_action_sig(action);
}

static volatile int got_number;
static volatile int got_code;
static const void *volatile got_cookie;

static void take_signal(int number)
{
	got_number = number;
}

static void take_info(int number, siginfo_t *info, void *context)
{
	got_number = context ? number : 0;
	got_code = info->si_code;
	got_cookie = info->si_value.sival_ptr;
}

TEST(a_signal_that_somebody_sent_gets_the_programs_handler)
{
	begin();
	got_number = 0;
	set_program_action((void *)take_signal, 0);
	send(SI_QUEUE, self, 0);
	CHECK_EQ(got_number, agent.signal_number);
	got_number = 0;
	set_program_action((void *)take_info, SA_SIGINFO);
	send(SI_QUEUE, self, 0);
	CHECK_EQ(got_number, agent.signal_number);
	CHECK_EQ(got_code, SI_QUEUE);
	CHECK(got_cookie == self);
	CHECK_EQ(records_take(), 0);
}

TEST(a_timer_of_the_programs_own_gets_the_programs_handler)
{
	int on_stack;
	const void *cookies[] = {NULL, &on_stack, (char *)self + 1,
				 (const void *)UINTPTR_MAX};

	begin();
	set_program_action((void *)take_info, SA_SIGINFO);
	for (size_t i = 0; i < 4; i++) {
		got_code = 0;
		send(SI_TIMER, cookies[i], 0);
		CHECK_EQ(got_code, SI_TIMER);
		CHECK(got_cookie == cookies[i]);
	}
	CHECK_EQ(records_take(), 0);
}

TEST(a_late_expiry_of_ours_is_not_the_programs)
{
	struct thread *other;

	begin();
	other = thread_claim_sig();
	thread_release_sig(other);
	got_code = 0;
	set_program_action((void *)take_info, SA_SIGINFO);
	send(SI_TIMER, other, 0);
	CHECK_EQ(got_code, 0);
}

TEST(a_signal_that_the_program_ignores_is_ignored)
{
	begin();
	set_program_action((void *)SIG_IGN, 0);
	send(SI_QUEUE, NULL, 0);
	CHECK_EQ(records_take(), 0);
}

static int send_to_default(void *unused)
{
	(void)unused;
	set_program_action((void *)SIG_DFL, 0);
	send(SI_QUEUE, NULL, 0);
	return 1;
}

static int send_twice_to_once(void *unused)
{
	(void)unused;
	got_number = 0;
	set_program_action((void *)take_signal, SA_RESETHAND);
	send(SI_QUEUE, NULL, 0);
	if (got_number)
		send(SI_QUEUE, NULL, 0);
	return 1;
}

TEST(the_default_of_the_signal_is_the_end)
{
	begin();
	CHECK_EQ(crowd_wait(crowd_fork(send_to_default, NULL)),
		 256 + agent.signal_number);
	CHECK_EQ(crowd_wait(crowd_fork(send_twice_to_once, NULL)),
		 256 + agent.signal_number);
}
