/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins or starts the exporter.
 * Runs on: the program's main thread, in the constructor.
 */
#include "preload/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "preload/launch.h"
#include "preload/log.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/rendezvous.h"
#include "preload/text.h"
#include "sampler/arch.h"

/* Where `make install` puts what only we start; the Makefile sets it. */
#ifndef SPANPROF_LIBEXEC
#define SPANPROF_LIBEXEC "/usr/local/libexec/spanprof"
#endif

#define EXPORTER "spanprof-exporter"

/* How often to try when another process is just becoming, or ceasing to be,
 * the one that listens. */
#define ATTEMPTS 10

#define PATH_BYTES 4096

static bool exists(const char *path)
{
	return SYS3(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* A build tree has the exporter beside the library; an installation has it in a
 * folder of its own, seen from the library's or where it was configured. */
static const char *find_exporter(char path[PATH_BYTES])
{
	static const char *const from_library[] = {
		EXPORTER, "../libexec/spanprof/" EXPORTER};
	const char *own = real_own_path();
	size_t folder = own ? text_length_sig(own) : 0;

	while (folder && own[folder - 1] != '/')
		folder--;
	for (int i = 0; i < 2 && folder && folder + 64 < PATH_BYTES; i++) {
		copy_bytes_sig(path, own, folder);
		text_append_sig(path + folder, from_library[i]);
		if (exists(path))
			return path;
	}
	return SPANPROF_LIBEXEC "/" EXPORTER;
}

/* The executable's base name; argv[0] may say anything. */
static const char *find_program(char path[PATH_BYTES])
{
	long length =
		SYS3(SYS_readlink, "/proc/self/exe", path, PATH_BYTES - 1);

	if (length <= 0)
		return "";
	path[length] = '\0';
	while (length && path[length - 1] != '/')
		length--;
	return path + length;
}

static void say(const char *what, int error)
{
	char number[24];

	*text_decimal_sig(number, (uint64_t)-error) = '\0';
	log_line(what, " (errno ", number,
		 "); the program runs without being profiled", (char *)0);
}

/* The ring goes to the exporter that is started and to us, so nobody waits for
 * anybody. */
static int start(const char *name, char *const *environment)
{
	char path[PATH_BYTES];
	char program[PATH_BYTES];
	struct launch launch = {.environment = environment};
	int error;

	launch.listen_fd = rendezvous_listen(name);
	if (launch.listen_fd < 0)
		return launch.listen_fd;
	launch.ring_fd = rendezvous_create_ring();
	if (launch.ring_fd < 0) {
		SYS1(SYS_close, launch.listen_fd);
		say("cannot create the shared memory", launch.ring_fd);
		return launch.ring_fd;
	}
	launch.exporter = find_exporter(path);
	launch.program = find_program(program);
	error = launch_exporter(&launch);
	SYS1(SYS_close, launch.listen_fd);
	if (!error)
		return launch.ring_fd;
	SYS1(SYS_close, launch.ring_fd);
	log_line("cannot start ", launch.exporter, (char *)0);
	say("the exporter is missing or not executable", error);
	return error;
}

struct ring *attach(char *const *environment, bool *first)
{
	char name[RENDEZVOUS_NAME_BYTES];
	static const struct timespec moment = {0, 20000000};
	struct ring *ring;
	int fd = rendezvous_name(name, environment);

	if (fd < 0) {
		say("cannot read /proc/self/ns", fd);
		return 0;
	}
	fd = -ECONNREFUSED;
	for (int i = 0; i < ATTEMPTS && fd < 0; i++) {
		fd = rendezvous_join(name);
		*first = fd == -ECONNREFUSED;
		if (!*first)
			break;
		fd = start(name, environment);
		if (fd != -EADDRINUSE)
			break;
		/* One that ends still has the name for a moment. */
		SYS2(SYS_nanosleep, &moment, 0);
	}
	if (fd < 0) {
		if (!*first)
			say("cannot join the running exporter", fd);
		return 0;
	}
	ring = rendezvous_map(fd);
	SYS1(SYS_close, fd);
	if (!ring)
		say("cannot map the shared memory", -ENOMEM);
	return ring;
}
