/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the processes of a tree and their exporter find each other: an abstract
 * unix socket whose name says who may share one exporter, over which a
 * newcomer gets the ring's descriptor.
 *
 * Used by the preloaded library and by the supervisor. Raw system calls only:
 * the library interposes socket(2) and its like.
 */
#ifndef PRELOAD_RENDEZVOUS_H
#define PRELOAD_RENDEZVOUS_H

#include <stdint.h>

#include "sampler/layout.h"

/* The descriptors that an exporter is started with. */
#define RENDEZVOUS_RING_FD 3
#define RENDEZVOUS_LISTEN_FD 4
/* Under the supervisor, a memfd into which it writes the summary. */
#define RENDEZVOUS_SUMMARY_FD 5

/* For the exporter alone: how the summary calls the report command. */
#define RENDEZVOUS_REPORT "SPANPROF_REPORT"

/* Set in the exporter's environment: a library that is loaded into it all the
 * same (/etc/ld.so.preload) stands aside. */
#define RENDEZVOUS_EXPORTER_MARK "SPANPROF_EXPORTER_PROCESS"

#define RENDEZVOUS_NAME_BYTES 32

/* What the exporter sends, once, with the ring's descriptor (SCM_RIGHTS). */
struct rendezvous_welcome {
	uint64_t magic; /* RING_MAGIC */
	uint32_t version;
	uint32_t reserved;
	uint64_t total_bytes;
};

/*
 * The socket's name: a hash of the user, the mount, pid and user namespaces,
 * this build, the run (SPANPROF_RUN) and the configuration as it is written in
 * the environment. Processes that differ in any of these do not share an
 * exporter. Returns 0 or a negative errno (no /proc).
 */
int rendezvous_name(char name[RENDEZVOUS_NAME_BYTES], char *const *environment);

/* A listening socket under that name; -EADDRINUSE when there is one. */
int rendezvous_listen(const char *name);

/* The ring's descriptor from the exporter that listens under that name. Waits
 * 0.3 s at most, and not at all when its queue is full (-EAGAIN). -ECONNREFUSED
 * when nobody listens. The peer must run as this user or as root. */
int rendezvous_join(const char *name);

/* A new ring: a memfd, sized, sealed against resizing and filled with a header.
 * Returns its descriptor (close-on-exec) or a negative errno. */
int rendezvous_create_ring(void);

/* Maps a ring that came over the socket, after checking size, seals and header.
 * NULL when it is none of ours. */
struct ring *rendezvous_map(int fd);

#endif
