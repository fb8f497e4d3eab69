/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans: what is known of each open span of this process.
 *
 * A span is referred to by a handle, an index with a generation. Ending a span
 * changes its generation, so that every handle that is still about reads as
 * "none" from that instant on; nobody needs to be told.
 *
 * The table is private to the process and wiped by fork: a child has no open
 * span and cannot end one of its parent's. What leaves the process are records
 * that carry ids by value.
 */
#ifndef PRELOAD_SPAN_H
#define PRELOAD_SPAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/layout.h"

/* Open spans at a time; a request beyond that gets none and is counted. */
#define SPAN_TABLE_SIZE 16384u

struct thread;

/* 0 is no span. */
typedef uint64_t span_handle;

struct span {
	/* generation << 2 | claimed << 1 | active. Written by span_open_app and
	 * span_close_app, read by all. */
	_Atomic uint64_t state;
	/* Fixed while the span is active. */
	struct span_context context;
	/* CPU time its threads spent under it so far. Written by the threads
	 * that bear it. */
	_Atomic uint64_t cpu_ns;
	/* The thread on which it began, and that thread's id: the record may
	 * belong to another thread by now. */
	struct thread *bearer;
	uint32_t bearer_tid;
	/* Whether its begin was told. */
	bool begun;
	/* The next request that waits on the same connection (pipelining), 0
	 * at the end. Owned by the connection. */
	span_handle next;
	/* What the request asks for; needed when its turn comes. */
	uint32_t request_flags;
	char method[SPAN_METHOD_BYTES];
	char path[SPAN_PATH_BYTES];
};

/* Maps the table. Returns 0 or -ENOMEM. Called by the constructor. */
int span_table_map(void);

/* Opens an empty span with a fresh generation. Returns 0 when the table is
 * full. The caller fills span_get(handle) before it shows the handle to
 * others. */
span_handle span_open_app(void);

/* Ends a span. Returns false when it had been ended already; of several
 * callers exactly one is told true. On true, *last holds its last contents. */
bool span_close_app(span_handle handle, struct span *last);

/* The span, or NULL when it has ended. The pointer stays readable for ever,
 * but says nothing once the span ends. */
struct span *span_get_sig(span_handle handle);

/* Copies the identity. Returns false, and leaves *context alone, when the span
 * has ended, also when it ends in the midst of the copy. */
bool span_context_sig(span_handle handle, struct span_context *context);

#endif
