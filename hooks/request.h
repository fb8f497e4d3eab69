/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as a span: made from its head, begun on a thread, ended.
 */
#ifndef HOOKS_REQUEST_H
#define HOOKS_REQUEST_H

#include "hooks/http1_request.h"
#include "preload/span.h"
#include "preload/thread.h"
#include "sampler/scope.h"

/* A span for a request with this head: the caller's trace where its
 * traceparent is valid, else the root of a new one. Not begun yet. 0, counted,
 * when the table is full. */
span_handle request_open_app(const struct http1_head *head);

/*
 * The request, read from descriptor fd, begins on this thread. It becomes the
 * thread's span, unless another request is open on the thread: then the thread
 * is a loop, and neither of them labels anything any more (counted).
 */
void request_begin_app(struct thread *self, span_handle request, int fd);

/* The thread is about to wait for other work than its request's: what it does
 * afterwards can't be known. */
void request_wait_app(struct thread *self);

#endif
