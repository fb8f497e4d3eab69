/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows HTTP/1 connections: which request is being answered, which wait.
 * Runs on: the program's threads.
 *
 * A request is answered from its head on: by the thread that read it, until the
 * response is complete, the connection closes or another head is read. Heads
 * that come in one read are a pipeline: they wait for their turn in the order
 * of the responses. A head that comes in a later read while a response is not
 * complete means that the response was not fully seen, and ends the former
 * requests; should the client have pipelined after all, the thread that reads
 * two requests at a time is found out (hooks/request.c).
 */
#include "hooks/connection.h"

#include <errno.h>

#include "hooks/http1_request.h"
#include "hooks/http1_response.h"
#include "hooks/request.h"
#include "preload/process.h"
#include "sampler/arch.h"

/* Turns while another thread holds the connection: some microseconds, far more
 * than following a read takes. */
#define LOCK_TURNS 2000

struct connection {
	/* The process that holds it, 0 for none: what a forked child inherits
	 * from its parent's threads is nobody's. */
	_Atomic uint32_t lock;
	_Atomic uint32_t abandoned; /* someone could not wait for the lock */
	uint32_t pid;               /* the process that the handles belong to */
	uint32_t reads;             /* counts the reads */
	uint32_t head_read;         /* the read that brought the last head */
	uint32_t lost_read;         /* the read in which a head got no span */
	span_handle answered;       /* begun, not ended */
	span_handle first; /* of those that wait, linked by span->next */
	span_handle last;
	struct http1_request_stream in;
	struct http1_response_stream out;
};

_Atomic uint8_t connection_roles[CONNECTION_LIMIT];
static struct connection *connections;

int connection_table_map(void)
{
	connections =
		process_memory(sizeof(*connections) * CONNECTION_LIMIT, false);
	return connections ? 0 : -ENOMEM;
}

/* All but the lock, which the caller holds. */
static void clear(struct connection *c)
{
	zero_bytes_sig((char *)c + sizeof(c->lock),
		       sizeof(*c) - sizeof(c->lock));
}

static bool try_lock(struct connection *c)
{
	uint32_t holder = atomic_load(&c->lock);

	if (holder == process->pid ||
	    !atomic_compare_exchange_strong(&c->lock, &holder, process->pid))
		return false;
	/* A thread of the parent's was at work when it forked. */
	if (holder)
		clear(c);
	return true;
}

static bool lock_in(struct connection *c)
{
	for (int turn = 0; turn < LOCK_TURNS; turn++) {
		if (try_lock(c))
			return true;
		pause_sig();
	}
	return false;
}

static void set_role(int fd, enum connection_role role)
{
	atomic_store_explicit(&connection_roles[fd], (uint8_t)role,
			      memory_order_relaxed);
}

static void end_answered(struct connection *c, enum span_end_reason reason)
{
	struct scope_end how = {reason, c->out.status};

	if (c->answered)
		scope_end_app(thread_self_app(), c->answered, how);
	c->answered = 0;
}

static span_handle take_waiting(struct connection *c)
{
	span_handle request = c->first;
	struct span *span = span_get_sig(request);

	c->first = span ? span->next : 0;
	return span ? request : 0;
}

static void end_all(struct connection *c, enum span_end_reason reason)
{
	struct scope_end how = {reason, 0};
	span_handle waiting;

	end_answered(c, reason);
	while ((waiting = take_waiting(c)))
		scope_end_app(thread_self_app(), waiting, how);
}

static void leave(struct connection *c)
{
	do {
		if (atomic_exchange(&c->abandoned, 0))
			end_all(c, SPAN_END_LOST);
		atomic_store(&c->lock, 0);
		/* Someone may have given up since the exchange. */
	} while (atomic_load(&c->abandoned) && try_lock(c));
}

static void give_up(struct connection *c, int fd)
{
	atomic_store(&c->abandoned, 1);
	set_role(fd, CONNECTION_NONE);
	count_sig(RING_UNPARSABLE);
	/* The holder may have left just before that. */
	if (try_lock(c))
		leave(c);
}

/* Handles of the parent's spans are numbers that this process uses for others.
 * What was read of a message holds. */
static void forget_parents_spans(struct connection *c)
{
	c->answered = c->first = c->last = 0;
	c->pid = process->pid;
}

/* A connection that someone else holds for so long can't be waited for (it may
 * be the very thread that a signal handler has interrupted): nobody follows it
 * any further, and who holds it ends its requests. */
static struct connection *enter(int fd)
{
	struct connection *c = &connections[fd];

	/* A child of a fork that nobody told us of (raw clone). */
	if (!process->pid) {
		set_role(fd, CONNECTION_NONE);
		return 0;
	}
	if (!lock_in(c)) {
		give_up(c, fd);
		return 0;
	}
	if (c->pid != process->pid)
		forget_parents_spans(c);
	return c;
}

/* NULL, too, when another thread has closed it since the caller looked. */
static struct connection *enter_followed(int fd)
{
	struct connection *c = enter(fd);

	if (!c || connection_is_followed_app(fd))
		return c;
	leave(c);
	return 0;
}

static void add_waiting(struct connection *c, span_handle request)
{
	struct span *last = c->first ? span_get_sig(c->last) : 0;

	if (last)
		last->next = request;
	else
		c->first = request;
	c->last = request;
}

static void answer_next(struct connection *c, int fd)
{
	struct thread *self = thread_self_app();
	span_handle request = take_waiting(c);
	struct span *span = span_get_sig(request);

	if (!span)
		return;
	http1_response_begin(&c->out, (uint8_t)span->request_flags);
	c->answered = request;
	if (self)
		request_begin_app(self, request, fd);
}

static void head_came(struct connection *c, int fd)
{
	span_handle request;

	count_sig(RING_HEADS);
	if (c->head_read != c->reads)
		end_all(c, SPAN_END_NEXT);
	c->head_read = c->reads;
	if (c->lost_read == c->reads) {
		count_sig(RING_SPANS_NO_RECORD);
		return;
	}
	request = request_open_app(&c->in.head);
	if (!request) {
		/* The order of the responses is lost with it, up to the next
		 * read. */
		end_all(c, SPAN_END_LOST);
		c->lost_read = c->reads;
		return;
	}
	add_waiting(c, request);
	if (!c->answered)
		answer_next(c, fd);
}

static void lose(struct connection *c, int fd)
{
	end_all(c, SPAN_END_LOST);
	http1_request_lose(&c->in);
	set_role(fd, CONNECTION_NONE);
	count_sig(RING_UNPARSABLE);
}

static void read_part(struct connection *c, int fd, const uint8_t *bytes,
		      size_t length)
{
	while (length) {
		enum http1_request_event event;
		size_t used = http1_request_feed(&c->in, bytes, length, &event);

		bytes += used;
		length -= used;
		if (event == HTTP1_REQUEST_HEAD)
			head_came(c, fd);
		else if (event == HTTP1_REQUEST_LOST)
			lose(c, fd);
	}
}

/* The request after a CONNECT that was refused begins a fresh stream; after one
 * that was accepted, as after any upgrade, the bytes are none of ours. */
static void response_done(struct connection *c, int fd)
{
	bool was_connect = c->out.flags & HTTP1_HEAD_IS_CONNECT;

	end_answered(c, SPAN_END_COMPLETE);
	if (was_connect)
		zero_bytes_sig(&c->in, sizeof(c->in));
	answer_next(c, fd);
}

static void switched(struct connection *c, int fd)
{
	end_all(c, SPAN_END_COMPLETE);
	http1_request_lose(&c->in);
	set_role(fd, CONNECTION_NONE);
}

static void sent_event(struct connection *c, int fd,
		       enum http1_response_event event)
{
	if (event == HTTP1_RESPONSE_DONE)
		response_done(c, fd);
	else if (event == HTTP1_RESPONSE_SWITCHED)
		switched(c, fd);
	else if (event == HTTP1_RESPONSE_LOST)
		end_all(c, SPAN_END_LOST);
}

/* Without a request there is nothing to be answered: a time-out's 408, or
 * bytes of a response whose request was given up. */
static void sent_part(struct connection *c, int fd, const uint8_t *bytes,
		      size_t length)
{
	while (length && c->answered) {
		enum http1_response_event event;
		size_t used =
			http1_response_feed(&c->out, bytes, length, &event);

		bytes += used;
		length -= used;
		sent_event(c, fd, event);
	}
}

static void
each_part(int fd, const struct iovec *parts, size_t count, size_t length,
	  void (*part)(struct connection *, int, const uint8_t *, size_t))
{
	struct connection *c = &connections[fd];

	for (size_t i = 0; i < count && length; i++) {
		size_t bytes =
			parts[i].iov_len < length ? parts[i].iov_len : length;

		part(c, fd, parts[i].iov_base, bytes);
		length -= bytes;
	}
}

void connection_received_app(int fd, const struct iovec *parts, size_t count,
			     size_t length)
{
	struct connection *c = enter_followed(fd);

	if (!c)
		return;
	c->reads++;
	each_part(fd, parts, count, length, read_part);
	leave(c);
}

void connection_received_unseen_app(int fd, size_t length)
{
	struct connection *c = enter_followed(fd);

	if (!c)
		return;
	c->reads++;
	if (http1_request_skip(&c->in, length) == HTTP1_REQUEST_LOST)
		lose(c, fd);
	leave(c);
}

void connection_sent_app(int fd, const struct iovec *parts, size_t count,
			 size_t length)
{
	struct connection *c = enter_followed(fd);

	if (!c)
		return;
	each_part(fd, parts, count, length, sent_part);
	leave(c);
}

void connection_sent_unseen_app(int fd, size_t length)
{
	struct connection *c = enter_followed(fd);
	enum http1_response_event event = HTTP1_RESPONSE_NONE;

	if (!c)
		return;
	if (c->answered) {
		http1_response_skip(&c->out, length, &event);
		sent_event(c, fd, event);
	}
	leave(c);
}

void connection_listening_app(int fd)
{
	if ((unsigned)fd < CONNECTION_LIMIT && connections)
		set_role(fd, CONNECTION_LISTENING);
}

/* Whatever the number stood for has ended, whoever closed it and however. */
void connection_accepted_app(int fd)
{
	struct connection *c;

	if (!agent.active || !process->pid)
		return;
	if ((unsigned)fd >= CONNECTION_LIMIT) {
		count_sig(RING_DESCRIPTORS_BEYOND);
		return;
	}
	c = enter(fd);
	if (!c)
		return;
	end_all(c, SPAN_END_CLOSED);
	clear(c);
	set_role(fd, CONNECTION_ACCEPTED);
	leave(c);
}

/* A child of vfork closes descriptors in its own table but in our memory. */
static bool is_vfork_child(void)
{
	return process->pid != (uint32_t)SYS0(SYS_getpid);
}

void connection_closed_app(int fd)
{
	struct connection *c;

	if (connection_role_app(fd) == CONNECTION_NONE || is_vfork_child())
		return;
	c = connection_is_followed_app(fd) ? enter(fd) : 0;
	set_role(fd, CONNECTION_NONE);
	if (!c)
		return;
	end_all(c, SPAN_END_CLOSED);
	leave(c);
}

void connection_shut_app(int fd)
{
	struct connection *c = enter_followed(fd);

	if (!c)
		return;
	end_all(c, SPAN_END_CLOSED);
	leave(c);
}
