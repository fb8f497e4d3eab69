/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spanprof-exporter: started by the preloaded library or by the supervisor,
 * never by hand.
 *
 *	spanprof-exporter --detached|--supervised PROGRAM
 *
 * The ring and the listening socket are descriptors 3 and 4. PROGRAM names the
 * service, unless one is configured or the program's process tells.
 * Runs on: a process of its own.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/confine.h"
#include "exporter/dwarf_protocol.h"
#include "exporter/dwarf_reader.h"
#include "exporter/join.h"
#include "exporter/keeper.h"
#include "exporter/log.h"
#include "exporter/own_command.h"
#include "exporter/recorder.h"
#include "preload/config.h"
#include "preload/rendezvous.h"
#include "preload/version.h"

/* The ring is looked at ten times a second while something comes, less often
 * while nothing does. */
#define BUSY_MS 100
#define IDLE_MS 1000

/* How long to stay when the last process has gone: the next one of a script
 * may come; and how long to wait for the first one. */
#define LINGER_NS UINT64_C(3000000000)
#define FIRST_NS UINT64_C(10000000000)

/* Behind the program's name. */
#define OWN_ARGUMENTS 2u

struct exporter {
	struct config config;
	struct recorder recorder;
	struct join join;
	struct newcomers newcomers;
	struct pusher *pusher;
	bool supervised;
	pid_t parent;
	int epoll_fd;
	int signal_fd;
	bool told_to_end; /* SIGTERM: no newcomers are expected */
	uint64_t empty_since_ns;
	char folder[PATH_MAX];
};

static void refused(void *context, const struct config_warning *warning)
{
	(void)context;
	log_message(CONFIG_LOG_WARN, "%s=\"%.200s\": %s; using %s",
		    warning->name, warning->value, warning->reason,
		    warning->taken);
}

/* The log must be open before the other values are judged, and it is one of
 * them. */
static void read_configuration(struct exporter *exporter)
{
	config_read(&exporter->config, environ, NULL, NULL);
	log_open(exporter->config.log, exporter->config.log_level);
	config_read(&exporter->config, environ, refused, NULL);
}

/* A server that is set and can't be used must not leave us without any
 * destination. */
static void find_destinations(struct exporter *exporter)
{
	char *output = exporter->config.output;

	exporter->pusher = pusher_create(&exporter->config, environ);
	if (!exporter->pusher && !output[0])
		strcpy(output, "spanprof.out");
}

/* Relative to where the program was started; then the folder is left, so that
 * it can be unmounted. */
static int resolve_folder(struct exporter *exporter)
{
	const char *output = exporter->config.output;
	char here[PATH_MAX];
	int length;

	if (!output[0])
		return chdir("/") == 0 ? 0 : -errno;
	if (output[0] == '/')
		here[0] = '\0';
	else if (!getcwd(here, sizeof(here)))
		return -errno;
	length = snprintf(exporter->folder, sizeof(exporter->folder), "%s%s%s",
			  here, here[0] ? "/" : "", output);
	if (length >= (int)sizeof(exporter->folder))
		return -ENAMETOOLONG;
	return chdir("/") == 0 ? 0 : -errno;
}

static int watch_signals(struct exporter *exporter)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t term;

	/* What a terminal sends to the whole group is the program's affair. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_SETMASK, &term, NULL);
	exporter->signal_fd = signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK);
	exporter->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (exporter->signal_fd < 0 || exporter->epoll_fd < 0)
		return -errno;
	event.data.fd = exporter->signal_fd;
	return epoll_ctl(exporter->epoll_fd, EPOLL_CTL_ADD, exporter->signal_fd,
			 &event) == 0
		       ? 0
		       : -errno;
}

static void wait_for_work(struct exporter *exporter, int timeout_ms)
{
	struct signalfd_siginfo info;
	struct epoll_event events[16];

	if (epoll_wait(exporter->epoll_fd, events, 16, timeout_ms) <= 0)
		return;
	if (read(exporter->signal_fd, &info, sizeof(info)) == sizeof(info))
		exporter->told_to_end = true;
}

static bool has_processes(const struct exporter *exporter)
{
	for (unsigned i = 0; i < RING_PROCESSES; i++) {
		if (exporter->recorder.processes.by_slot[i])
			return true;
	}
	return false;
}

/* Whether there is nobody left to wait for. */
static bool is_over(struct exporter *exporter)
{
	const struct ring_header *header = &exporter->recorder.ring->header;
	uint64_t seen = exporter->recorder.processes.seen;
	uint64_t patience = seen ? LINGER_NS : FIRST_NS;

	if (exporter->told_to_end && atomic_load(&header->leave))
		return true;
	if (has_processes(exporter)) {
		exporter->empty_since_ns = 0;
		return false;
	}
	if (exporter->told_to_end)
		return true;
	/* The supervisor says when the program has ended, unless it died. */
	if (exporter->supervised && getppid() == exporter->parent)
		return false;
	if (!exporter->empty_since_ns)
		exporter->empty_since_ns = now_ns(CLOCK_MONOTONIC);
	return now_ns(CLOCK_MONOTONIC) > exporter->empty_since_ns + patience;
}

static int next_timeout(const struct exporter *exporter, int timeout_ms,
			long records)
{
	if (records != 0 || recorder_hurries(&exporter->recorder))
		return BUSY_MS;
	return timeout_ms * 2 < IDLE_MS ? timeout_ms * 2 : IDLE_MS;
}

static void serve(struct exporter *exporter)
{
	struct ring_header *header = &exporter->recorder.ring->header;
	int timeout_ms = 0;

	do {
		wait_for_work(exporter, timeout_ms);
		timeout_ms = next_timeout(exporter, timeout_ms,
					  recorder_pass(&exporter->recorder));
		/* The dead are let go of after two further passes. */
		if (exporter->recorder.processes.live == 0 &&
		    has_processes(exporter))
			timeout_ms = BUSY_MS / 10;
		atomic_store(&header->exporter_beat_ns,
			     now_ns(CLOCK_MONOTONIC));
	} while (!is_over(exporter));
}

/* Someone may have joined since the last look: he is served to his end. Later
 * ones find nobody and start an exporter of their own. */
static void run(struct exporter *exporter)
{
	serve(exporter);
	join_end(&exporter->join);
	recorder_pass(&exporter->recorder);
	if (has_processes(exporter))
		serve(exporter);
	recorder_flush(&exporter->recorder);
}

/* For the supervisor, which shows it; a detached exporter has nobody to tell
 * but the log. */
static void tell_summary(struct exporter *exporter)
{
	const char *report = getenv(RENDEZVOUS_REPORT);
	char text[SUMMARY_BYTES];

	summary_write(exporter->recorder.summary, &exporter->recorder,
		      report ? report : "spanprof", text);
	log_message(CONFIG_LOG_INFO, "end: %.*s", (int)strcspn(text, "\n"),
		    text);
	if (exporter->supervised &&
	    pwrite(RENDEZVOUS_SUMMARY_FD, text, strlen(text), 0) < 0)
		log_message(CONFIG_LOG_WARN, "the summary is lost: %s",
			    strerror(errno));
}

static int start(struct exporter *exporter)
{
	struct ring *ring = rendezvous_map(RENDEZVOUS_RING_FD);
	int error = ring ? 0 : -EBADF;

	if (!error)
		error = watch_signals(exporter);
	/* The pushing thread inherits the mask of signals. */
	if (!error) {
		find_destinations(exporter);
		error = resolve_folder(exporter);
	}
	if (!error)
		error = recorder_init(&exporter->recorder, &exporter->config,
				      ring, exporter->folder);
	if (error)
		return error;
	if (!exporter->supervised)
		atomic_store(&ring->header.keeper_pid,
			     (uint32_t)exporter->parent);
	exporter->recorder.pusher = exporter->pusher;
	exporter->recorder.processes.epoll_fd = exporter->epoll_fd;
	exporter->recorder.processes.newcomers = &exporter->newcomers;
	exporter->join.newcomers = &exporter->newcomers;
	exporter->join.ring_fd = RENDEZVOUS_RING_FD;
	exporter->join.listen_fd = RENDEZVOUS_LISTEN_FD;
	return join_serve(&exporter->join);
}

static int usage(void)
{
	fprintf(stderr,
		"spanprof-exporter %s is started by libspanprof.so or by "
		"spanprof-run.\nTo profile a program: spanprof-run PROGRAM "
		"[ARGUMENT]...\n",
		SPANPROF_VERSION);
	return 125;
}

int main(int argc, char **argv)
{
	static struct exporter exporter = {.newcomers = NEWCOMERS_INIT};
	int error;

	if (argc == 2 && strcmp(argv[1], DWARF_READER_ARGUMENT) == 0)
		return dwarf_reader_run();
	if (argc != 3 || (strcmp(argv[1], "--detached") != 0 &&
			  strcmp(argv[1], "--supervised") != 0))
		return usage();
	exporter.supervised = strcmp(argv[1], "--supervised") == 0;
	confine();
	if (!exporter.supervised)
		keeper_begin();
	exporter.parent = getppid();
	read_configuration(&exporter);
	exporter.recorder.program = argv[2];
	exporter.recorder.own_command = own_command(OWN_ARGUMENTS);
	error = start(&exporter);
	if (error) {
		log_message(CONFIG_LOG_ERROR, "the exporter can't start: %s",
			    strerror(-error));
		return 125;
	}
	run(&exporter);
	if (exporter.pusher)
		pusher_finish(exporter.pusher, &exporter.recorder.pushed);
	tell_summary(&exporter);
	/* The pushing thread is perhaps in a call: what libraries do at exit
	 * would pull the ground from under it. */
	_exit(0);
}
