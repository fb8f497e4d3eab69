/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits of event loops (glibc 2.3.2 and later; the _chk forms 2.16,
 * epoll_pwait2 2.35). A thread that waits for other work while it has a request
 * open is a loop, and what it does after the wait can't be told apart: the
 * request labels nothing from then on. A wait for the request's own connection,
 * or for sockets that the program connected itself, is none of that.
 * Runs on: the program's threads.
 */
#undef _FORTIFY_SOURCE
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "hooks/connection.h"
#include "hooks/hook.h"
#include "hooks/request.h"
#include "sampler/probe.h"

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count,
		const struct timespec *timeout, const sigset_t *mask,
		size_t size);
int epoll_pwait2(int epoll, struct epoll_event *events, int count,
		 const struct timespec *timeout, const sigset_t *mask);

HOOK(epoll_wait);
HOOK(epoll_pwait);
HOOK(epoll_pwait2);
HOOK(poll);
HOOK(ppoll);
HOOK(__poll_chk);
HOOK(__ppoll_chk);
HOOK(select);
HOOK(pselect);

/* The calling thread, if it works for a request. */
static struct thread *labelled_thread(void)
{
	struct thread *self = thread_self_app();

	return self && atomic_load_explicit(&self->span, memory_order_relaxed)
		       ? self
		       : 0;
}

/* Which descriptors an epoll waits for is the kernel's knowledge; those who
 * use one are loops. */
static void waits_for_any(void)
{
	struct thread *self = labelled_thread();

	if (self)
		request_wait_app(self);
}

/* A bad pointer is EFAULT for the kernel to say. */
static bool is_readable(const void *memory)
{
	return probe_readable_sig((uint64_t)(uintptr_t)memory);
}

static bool is_other_work(const struct thread *self, int fd)
{
	return connection_role_app(fd) != CONNECTION_NONE &&
	       fd != self->span_fd;
}

/* glibc declares what poll is given as write-only, so gcc takes a pointer to
 * const for a read of what nobody wrote. */
static void waits_for_polled(struct pollfd *fds, nfds_t count)
{
	struct thread *self = labelled_thread();

	if (!self || count == 0 || !is_readable(&fds[0]) ||
	    !is_readable(&fds[count - 1]))
		return;
	for (nfds_t i = 0; i < count; i++) {
		if (is_other_work(self, fds[i].fd)) {
			request_wait_app(self);
			return;
		}
	}
}

static void waits_for_selected(int count, const fd_set *read_set)
{
	struct thread *self = labelled_thread();

	if (!self || !read_set || !is_readable(read_set))
		return;
	for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
		if (connection_role_app(fd) != CONNECTION_NONE &&
		    FD_ISSET(fd, read_set) && is_other_work(self, fd)) {
			request_wait_app(self);
			return;
		}
	}
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int count,
		      int timeout)
{
	waits_for_any();
	return REAL(epoll_wait)(epoll, events, count, timeout);
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int count,
		       int timeout, const sigset_t *mask)
{
	waits_for_any();
	return REAL(epoll_pwait)(epoll, events, count, timeout, mask);
}

EXPORT int epoll_pwait2(int epoll, struct epoll_event *events, int count,
			const struct timespec *timeout, const sigset_t *mask)
{
	waits_for_any();
	return REAL(epoll_pwait2)(epoll, events, count, timeout, mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	waits_for_polled(fds, count);
	return REAL(poll)(fds, count, timeout);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count,
		 const struct timespec *timeout, const sigset_t *mask)
{
	waits_for_polled(fds, count);
	return REAL(ppoll)(fds, count, timeout, mask);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout,
		      size_t size)
{
	waits_for_polled(fds, count);
	return REAL(__poll_chk)(fds, count, timeout, size);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count,
		       const struct timespec *timeout, const sigset_t *mask,
		       size_t size)
{
	waits_for_polled(fds, count);
	return REAL(__ppoll_chk)(fds, count, timeout, mask, size);
}

EXPORT int select(int count, fd_set *read_set, fd_set *write_set,
		  fd_set *except_set, struct timeval *timeout)
{
	waits_for_selected(count, read_set);
	return REAL(select)(count, read_set, write_set, except_set, timeout);
}

EXPORT int pselect(int count, fd_set *read_set, fd_set *write_set,
		   fd_set *except_set, const struct timespec *timeout,
		   const sigset_t *mask)
{
	waits_for_selected(count, read_set);
	return REAL(pselect)(count, read_set, write_set, except_set, timeout,
			     mask);
}
