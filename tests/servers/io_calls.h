/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls by which bytes can come from a socket and go to it, each
 * behind the form of read(2) or write(2).
 */
#ifndef TESTS_SERVERS_IO_CALLS_H
#define TESTS_SERVERS_IO_CALLS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * NAME is one of read, recv, recvfrom, recvmsg, readv (the last two into small
 * pieces first), read_chk, recv_chk, recvfrom_chk (what _FORTIFY_SOURCE makes
 * of them) and peek (recv after a look at the same bytes by MSG_PEEK).
 * Returns NULL for any other name.
 */
ssize_t (*io_reader(const char *name))(int, void *, size_t);

/* NAME is one of write, writev, send, sendto, sendmsg. */
ssize_t (*io_writer(const char *name))(int, const void *, size_t);

#endif
