/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as spans.
 * Runs on: the program's threads.
 */
#include "hooks/request.h"

#include "preload/process.h"
#include "sampler/arch.h"

static void put_id(uint8_t id[8])
{
	uint64_t number = process_unique_id_sig();

	copy_bytes_sig(id, &number, 8);
}

/* The span is the local root: the first one inside this process. A caller's
 * flag says whether the trace is kept; a trace of our own always is. */
static void fill_context(struct span_context *context,
			 const struct http1_head *head)
{
	put_id(context->span_id);
	copy_bytes_sig(context->root_id, context->span_id, SPAN_ID_BYTES);
	if (head->traceparent == HTTP1_TRACEPARENT_VALID) {
		copy_bytes_sig(context->trace_id, head->parent.trace_id,
			       TRACE_ID_BYTES);
		copy_bytes_sig(context->parent_id, head->parent.parent_id,
			       SPAN_ID_BYTES);
		context->flags = SPAN_REMOTE_PARENT;
		if (head->parent.flags & TRACE_PARENT_SAMPLED)
			context->flags |= SPAN_SAMPLED;
		return;
	}
	put_id(context->trace_id);
	put_id(context->trace_id + 8);
	context->flags = SPAN_SAMPLED;
}

span_handle request_open_app(const struct http1_head *head)
{
	span_handle handle = span_open_app();
	struct span *span = span_get_sig(handle);

	if (!span) {
		count_sig(RING_SPANS_NO_RECORD);
		return 0;
	}
	fill_context(&span->context, head);
	span->request_flags = head->flags;
	copy_bytes_sig(span->method, head->method, sizeof(span->method));
	copy_bytes_sig(span->path, head->path, sizeof(span->path));
	return handle;
}

void request_begin_app(struct thread *self, span_handle request, int fd)
{
	bool alone = atomic_load(&self->open_requests) == 0;

	scope_begin_app(self, request);
	if (alone) {
		self->span_fd = fd;
		scope_switch_app(self, request);
		return;
	}
	count_sig(RING_AMBIGUOUS);
	if (self->span)
		scope_switch_app(self, 0);
}

void request_wait_app(struct thread *self)
{
	if (self->span) {
		count_sig(RING_AMBIGUOUS);
		scope_switch_app(self, 0);
	}
}
