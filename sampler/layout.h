/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared memory between the programs of a tree and their exporter.
 *
 * One sealed memfd is mapped by every process of the tree and by the exporter.
 * It holds a header page, a table of processes and a row of blocks into which
 * the processes write records. This header is the whole contract between the
 * two sides: fixed-size fields, native byte order, no pointers.
 *
 * A block is a buffer with a try-lock. Whoever wants to write takes a free one
 * (compare-and-swap of `owner` from 0 to its own token), appends whole records,
 * publishes them with a release store to `used` and gives the block back.
 * Nobody ever waits: a writer that finds no block drops the record and counts
 * it. The exporter takes blocks in the same way and copies what is new in them.
 * It resets `used` once the window that holds the records is out, so that what
 * an exporter had in its memory when it was killed is still there for the next
 * one; or at once, when more than half of the blocks are kept in this way. A
 * record that its writer never finished lies beyond `used` and is not seen; a
 * block whose owner died is taken over once the owner is known to be dead.
 *
 * The exporter trusts nothing in here except its own private copies.
 */
#ifndef SAMPLER_LAYOUT_H
#define SAMPLER_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define RING_MAGIC UINT64_C(0x676e697250534e31)
#define RING_VERSION 1

#define RING_PAGE_BYTES 4096u
#define RING_BLOCK_BYTES (256u << 10)
#define RING_BLOCKS 128u
#define RING_PROCESSES 4096u

/* Statistics, added up by all producers; units are events. */
enum ring_counter {
	RING_SAMPLES,            /* samples written */
	RING_LOST_NO_BLOCK,      /* records dropped, every block in use */
	RING_LOST_NO_THREAD,     /* threads not sampled, no free record */
	RING_LOST_TIMER,         /* threads not sampled, timer refused */
	RING_STACKS_CUT,         /* stack copies that hit the size limit */
	RING_THREADS,            /* threads given a timer */
	RING_HEADS,              /* HTTP request heads read */
	RING_SPANS,              /* spans begun */
	RING_SPANS_NO_RECORD,    /* requests without a span, table full */
	RING_AMBIGUOUS,          /* requests unlabelled: thread is a loop */
	RING_UNPARSABLE,         /* connections given up: not HTTP/1 */
	RING_DESCRIPTORS_BEYOND, /* accepted descriptors above the table */
	RING_NO_SAMPLER_THREAD,  /* processes without a sampler thread */
	RING_SANDBOXED,          /* processes whose seccomp filter stops us */
	RING_COUNTERS = 32
};

/* How far an exporter has got. Written by it, read by its successor. */
struct ring_mark {
	/* Bytes of each block's `data` whose records are in windows that are
	 * out. */
	_Atomic uint32_t delivered[RING_BLOCKS];
	/* The counters as the last of these windows told them, and its end,
	 * CLOCK_MONOTONIC ns. */
	_Atomic uint64_t counters[RING_COUNTERS];
	_Atomic uint64_t end_ns;
};

/* The first page. Written once by the creator unless marked otherwise. */
struct ring_header {
	uint64_t magic;
	uint32_t version;
	uint32_t block_bytes;
	uint32_t block_count;
	uint32_t process_count;
	uint64_t total_bytes;
	/* Written by the exporter, CLOCK_MONOTONIC ns; read by the
	 * supervisor. */
	_Atomic uint64_t exporter_beat_ns;
	/* Processes known to be alive. Written by the exporter. */
	_Atomic uint32_t live_processes;
	/* The parent of a detached exporter: where the program is an init, its
	 * child. Written by the exporter, read by the hooks of the wait
	 * family. */
	_Atomic uint32_t keeper_pid;
	/* When the program was last told to end, CLOCK_MONOTONIC ns; 0: never.
	 * It may be killed soon: windows are closed every second for a while.
	 * Written by the supervisor and by the program's processes, read by the
	 * exporter. */
	_Atomic uint64_t told_to_end_ns;
	/* Not 0: what there is is to be delivered now, whoever lives on.
	 * Written by the supervisor, read by the exporter. */
	_Atomic uint32_t leave;
	/* Exporters that took the place of a dead one: each is told the modules
	 * anew. Written by the exporter, read by the sampler threads. */
	_Atomic uint32_t exporter_restarts;
	/* Starts of an exporter since a window went out. Written by it. */
	_Atomic uint32_t exporter_starts;
	/* Windows that are out; the last bit says which mark holds. The other
	 * one is written before the next window goes out, so that one store
	 * moves on from the one to the other. Written by the exporter. */
	_Atomic uint64_t windows_out;
	struct ring_mark marks[2];
	/* Windows closed with something in them. Written by the exporter, read
	 * by the supervisor. */
	_Atomic uint32_t windows;
	/* CPU time that samples of ended processes claimed beyond their clocks,
	 * ns; the living pay it (sampler/ledger.c). Written by them all. */
	_Atomic int64_t debt_ns;
	/* Written by all producers, read by the exporter. */
	_Atomic uint64_t counters[RING_COUNTERS];
};

/*
 * A process of the tree. `claim` is generation << 32 | pid; a pid of 0 means
 * that the slot is free. A process claims a slot for itself; the exporter frees
 * it once the process is dead. pid is the one of the common pid namespace.
 */
struct ring_process {
	_Atomic uint64_t claim;
	/* CLOCK_BOOTTIME ns. A process found under the same pid that started
	 * later than this is another one. */
	_Atomic uint64_t claimed_boot_ns;
	/* The signal that samples in this process, for the statistics. */
	_Atomic uint32_t signal_number;
	uint32_t reserved;
	/* What was accounted of the main thread's clock, ns: the clock goes on
	 * over exec, the thread's ledger does not. Written by the process. */
	_Atomic int64_t leader_accounted_ns;
	/* Forks that it began, and children that have a slot of their own since
	 * then: a child may outlive its parent before it has. Written by the
	 * process and by its children. */
	_Atomic uint32_t forks_begun;
	_Atomic uint32_t forks_claimed;
	/* Somewhere in the library's code as it is mapped there: a program that
	 * it becomes has it elsewhere, or not at all. Written by the process,
	 * before claimed_boot_ns. */
	_Atomic uint64_t agent_address;
	uint64_t unused[2];
};

/* The owner token of a block: slot + 1 in bits 48..63, the slot's generation
 * (low 16 bits) in 32..47, the thread id in 0..31. 0 is free. */
#define RING_OWNER_EXPORTER UINT64_MAX

struct ring_block {
	_Atomic uint64_t owner;
	_Atomic uint32_t used; /* bytes of whole records in `data` */
	uint32_t reserved;
	uint8_t data[RING_BLOCK_BYTES - 16];
};

struct ring {
	union {
		struct ring_header header;
		uint8_t page[RING_PAGE_BYTES];
	};
	struct ring_process processes[RING_PROCESSES];
	struct ring_block blocks[RING_BLOCKS];
};

enum record_kind {
	RECORD_SAMPLE = 1, /* struct record_sample */
	RECORD_UNSAMPLED,  /* struct record_unsampled */
	RECORD_SPAN_BEGIN, /* struct record_span_begin */
	RECORD_SPAN_END,   /* struct record_span_end */
	RECORD_MODULE,     /* struct record_module */
	RECORD_MODULES,    /* struct record_modules */
};

/* Head of every record. */
struct record {
	uint32_t bytes;      /* whole record, a multiple of 8 */
	uint16_t kind;       /* enum record_kind */
	uint16_t process;    /* slot in ring.processes */
	uint32_t generation; /* of that slot */
	uint32_t tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

#define TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8

enum span_flags {
	SPAN_SAMPLED = 1,       /* W3C sampled flag, or no caller */
	SPAN_REMOTE_PARENT = 2, /* parent_id and trace_id are the caller's */
};

/* The identity of a span. Ids are raw bytes, most significant first. A span
 * id of zeros means "no span". */
struct span_context {
	uint8_t trace_id[TRACE_ID_BYTES];
	uint8_t span_id[SPAN_ID_BYTES];
	uint8_t root_id[SPAN_ID_BYTES];   /* local root, often == span_id */
	uint8_t parent_id[SPAN_ID_BYTES]; /* zeros: root of its trace */
	uint32_t flags;                   /* enum span_flags */
	uint32_t reserved;
};

#define SAMPLE_REGISTERS 17u
#define SAMPLE_STACK_MAX_BYTES (64u << 10)

enum sample_flags {
	SAMPLE_STACK_CUT = 1,     /* more stack was in use than was copied */
	SAMPLE_STACK_UNKNOWN = 2, /* stack pointer outside any known stack */
};

/*
 * The state of a thread when its CPU timer expired. `registers` are in DWARF
 * order (x86-64 psABI figure 3.36: rax rdx rcx rbx rsi rdi rbp rsp r8..r15
 * rip). `stack` holds `stack_bytes` bytes that were at `stack_address`, which
 * lies up to 128 bytes (the psABI's red zone) below the stack pointer.
 */
struct record_sample {
	struct record head;
	struct span_context span;
	uint64_t cpu_ns; /* CPU time this sample stands for */
	uint32_t count;  /* timer periods this sample stands for */
	uint32_t flags;  /* enum sample_flags */
	uint64_t registers[SAMPLE_REGISTERS];
	uint64_t stack_address;
	uint32_t stack_bytes;
	uint32_t reserved;
	uint8_t stack[];
};

/* CPU time that was used and that no sample shows. */
struct record_unsampled {
	struct record head;
	struct span_context span;
	uint64_t cpu_ns;
};

#define SPAN_METHOD_BYTES 16
#define SPAN_PATH_BYTES 112

/* A span begins; head.time_ns is its start. Strings end with a NUL. */
struct record_span_begin {
	struct record head;
	struct span_context span;
	char method[SPAN_METHOD_BYTES]; /* "" unless it is an HTTP request */
	char path[SPAN_PATH_BYTES];     /* url.path, cut to fit */
};

enum span_end_reason {
	SPAN_END_COMPLETE = 1, /* the response was written to its last byte */
	SPAN_END_CLOSED,       /* the connection was closed before that */
	SPAN_END_NEXT,         /* the next request came before that */
	SPAN_END_LOST,         /* the agent could not follow the connection */
};

/* A span ends; head.time_ns is its end. */
struct record_span_end {
	struct record head;
	struct span_context span;
	uint64_t cpu_ns;      /* exact CPU time of the thread(s) that bore it */
	uint32_t http_status; /* 0 when none was seen */
	uint32_t reason;      /* enum span_end_reason */
};

#define MODULE_SEGMENTS 8u
#define MODULE_BUILD_ID_BYTES 32u

/* One executable mapping of a module, as /proc/PID/maps shows it. */
struct module_segment {
	uint64_t start; /* address */
	uint64_t end;
	uint64_t offset; /* in the file */
};

/*
 * A module that is mapped into a process. The records of one list share a
 * `list` number and are followed by one record_modules; only then does the
 * list replace the older one of that process.
 */
struct record_module {
	struct record head;
	uint32_t list;
	uint32_t build_id_bytes; /* 0 when there is none */
	uint64_t load_bias;      /* address = load_bias + ELF p_vaddr */
	uint64_t inode;
	uint32_t segment_count;
	uint32_t path_bytes; /* with the closing NUL */
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	struct module_segment segments[MODULE_SEGMENTS]; /* executable ones */
	char path[];
};

/* The end of a list of modules. */
struct record_modules {
	struct record head;
	uint32_t list;
	uint32_t count; /* records of this list written before */
};

_Static_assert(sizeof(struct ring_header) <= RING_PAGE_BYTES, "one page");
_Static_assert(sizeof(struct ring_process) == 64, "one cache line");
_Static_assert(sizeof(struct ring_block) == RING_BLOCK_BYTES, "no padding");
_Static_assert(sizeof(struct record_sample) + SAMPLE_STACK_MAX_BYTES <
		       sizeof(((struct ring_block *)0)->data),
	       "the largest sample fits into a block");

#endif
