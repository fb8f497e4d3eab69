/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spanprof-supervisor: the parent of a profiled program and of its exporter.
 * Runs on: a process of its own, single-threaded; libc only. It parses nothing
 * that the program writes.
 *
 *	spanprof-supervisor [OPTION]... EXPORTER LIBRARY PROGRAM [ARGUMENT]...
 *
 * spanprof-run executes it; supervisor/options.h has the options. Status: the
 *program's own, or death by the same signal; 125 when the supervisor itself
 *fails, 126 and 127 as env(1).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/config.h"
#include "preload/rendezvous.h"
#include "supervisor/advice.h"
#include "supervisor/child.h"
#include "supervisor/options.h"
#include "supervisor/progress.h"
#include "supervisor/restart.h"
#include "supervisor/say.h"
#include "supervisor/settings.h"
#include "supervisor/summary.h"
#include "supervisor/witness.h"

#define STATUS_FAILED 125

/* How long the exporter may take for its last delivery once no process of the
 * tree lives. */
#define DELIVERY_NS UINT64_C(5000000000)

/* An exporter that has not looked at the ring for so long is stuck. */
#define BEAT_NS UINT64_C(5000000000)

struct supervisor {
	pid_t program;
	pid_t exporter; /* 0: none, or gone */
	struct child_exporter
		what; /* descriptors are -1 when it won't return */
	struct restart restart;
	uint64_t restart_ns; /* when it is to be started again; 0: not */
	struct witness witness;
	int status; /* of the program, as wait tells it */
	bool ended;
	bool leave;        /* told to end while the tree lives on */
	struct ring *ring; /* NULL: nothing to be read from */
	int signal_fd;
	int summary_fd;
	struct progress progress;
	struct child_signals before;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A run of its own: its processes share an exporter with nobody else. */
static void name_run(void)
{
	unsigned long long number = 0;
	char text[32];

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = (unsigned long long)getpid() << 32 ^ now_ns();
	snprintf(text, sizeof(text), "%016llx", number);
	setenv("SPANPROF_RUN", text, 1);
}

/* Ours in front of what is there. */
static void add_preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *value = NULL;

	if (others && *others) {
		if (asprintf(&value, "%s:%s", library, others) >= 0)
			setenv("LD_PRELOAD", value, 1);
		free(value);
		return;
	}
	setenv("LD_PRELOAD", library, 1);
}

static void complain(const char *what, int error)
{
	say("%s: %s; the program runs without being profiled", what,
	    strerror(error));
}

/* Nobody is to wait at a socket that nobody will ever answer. */
static void forget_exporter(struct supervisor *supervisor)
{
	close(supervisor->what.ring_fd);
	close(supervisor->what.listen_fd);
	supervisor->what.ring_fd = supervisor->what.listen_fd = -1;
}

static void start_exporter(struct supervisor *supervisor)
{
	int error =
		child_start_exporter(&supervisor->what, &supervisor->exporter);

	supervisor->restart_ns = 0;
	if (error) {
		complain(supervisor->what.path, -error);
		forget_exporter(supervisor);
	} else if (supervisor->ended) {
		kill(supervisor->exporter, SIGTERM);
	}
}

/* The ring and the socket are ours, each exporter inherits them. */
static void prepare_exporter(struct supervisor *supervisor,
			     const struct options *options)
{
	struct child_exporter *what = &supervisor->what;
	char name[RENDEZVOUS_NAME_BYTES];
	int error = rendezvous_name(name, environ);

	what->path = options->exporter;
	what->program = options->command[0];
	what->report = options->report;
	what->listen_fd = error ? error : rendezvous_listen(name);
	what->ring_fd = what->listen_fd < 0 ? what->listen_fd
					    : rendezvous_create_ring();
	if (what->ring_fd < 0) {
		complain("cannot prepare the shared memory", -what->ring_fd);
		return;
	}
	supervisor->ring = rendezvous_map(what->ring_fd);
	supervisor->summary_fd = what->summary_fd = summary_open();
	start_exporter(supervisor);
}

/* One that ends by itself has done what there was to do. */
static void exporter_ended(struct supervisor *supervisor, int status)
{
	int64_t delay_ns = -1;

	supervisor->exporter = 0;
	if (WIFSIGNALED(status)) {
		delay_ns = restart_delay_ns(&supervisor->restart, now_ns());
		if (delay_ns < 0)
			say("the exporter died %u times within a minute; the "
			    "program runs without being profiled",
			    RESTARTS_MAX + 1);
	}
	if (delay_ns < 0)
		forget_exporter(supervisor);
	else
		supervisor->restart_ns = now_ns() + (uint64_t)delay_ns;
}

static void watch_signals(struct supervisor *supervisor)
{
	sigset_t all;

	sigfillset(&all);
	/* Stopping and going on is done to us as to any program. */
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGTTIN);
	sigdelset(&all, SIGTTOU);
	sigdelset(&all, SIGCONT);
	/* Faults of our own are not to be waited for. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGTRAP);
	sigprocmask(SIG_SETMASK, &all, &supervisor->before.mask);
	/* Where it is ignored, children vanish and nobody learns how. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL},
		  &supervisor->before.on_child);
	supervisor->signal_fd = signalfd(-1, &all, SFD_CLOEXEC);
}

static void reap(struct supervisor *supervisor)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == supervisor->program) {
			supervisor->status = status;
			supervisor->ended = true;
		} else if (pid == supervisor->exporter) {
			exporter_ended(supervisor, status);
		} else {
			witness_reaped(&supervisor->witness, pid);
		}
	}
}

static bool asks_to_end(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGTERM || info->ssi_signo == SIGINT ||
	       info->ssi_signo == SIGHUP || info->ssi_signo == SIGQUIT;
}

/* The same signal again, from the same sender to us and to all. */
static void take_other_copy(int signal_number)
{
	struct timespec at_once = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal_number);
	sigtimedwait(&one, NULL, &at_once);
}

/* What somebody sent to us was meant for the program. What the kernel sends to
 * a terminal's whole process group has reached it already, and so has what
 * somebody sent to everybody, unless the program has left our group. */
static void pass_to_program(struct supervisor *supervisor,
			    const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;
	bool was_for_all = witness_has_seen(&supervisor->witness, number);

	if (supervisor->ring && asks_to_end(info))
		atomic_store(&supervisor->ring->header.told_to_end_ns,
			     now_ns());
	if (info->ssi_code > 0)
		return;
	if (was_for_all && getpgid(supervisor->program) == getpgrp())
		take_other_copy(number);
	else
		kill(supervisor->program, number);
}

static void take_signal(struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	if (read(supervisor->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(supervisor);
	else if (supervisor->ended)
		supervisor->leave |= asks_to_end(&info);
	else
		pass_to_program(supervisor, &info);
}

static int until_restart_ms(const struct supervisor *supervisor, int timeout_ms)
{
	uint64_t now = now_ns();
	int left_ms;

	if (!supervisor->restart_ns)
		return timeout_ms;
	left_ms = supervisor->restart_ns > now
			  ? (int)((supervisor->restart_ns - now) / 1000000) + 1
			  : 0;
	return timeout_ms < 0 || left_ms < timeout_ms ? left_ms : timeout_ms;
}

static void wait_signal(struct supervisor *supervisor, int timeout_ms)
{
	struct pollfd fd = {supervisor->signal_fd, POLLIN, 0};

	timeout_ms = until_restart_ms(supervisor, timeout_ms);
	if (poll(&fd, 1, timeout_ms) > 0)
		take_signal(supervisor);
	if (supervisor->restart_ns && now_ns() >= supervisor->restart_ns)
		start_exporter(supervisor);
}

/* What the exporter says, as long as it says anything. */
static bool tree_lives(const struct supervisor *supervisor)
{
	const struct ring_header *header = &supervisor->ring->header;

	return supervisor->ring && atomic_load(&header->live_processes) > 0 &&
	       now_ns() < atomic_load(&header->exporter_beat_ns) + BEAT_NS;
}

/* There, or about to be there again. */
static bool has_exporter(const struct supervisor *supervisor)
{
	return supervisor->exporter || supervisor->restart_ns;
}

/* Whoever lives on, the exporter delivers what it has. */
static void leave(struct supervisor *supervisor)
{
	atomic_store(&supervisor->ring->header.leave, 1);
	kill(supervisor->exporter, SIGTERM);
}

/* The exporter ends when the last process of the tree has gone; from then on it
 * has a while to deliver. An init's end is the end of all. */
static void await_delivery(struct supervisor *supervisor)
{
	uint64_t limit_ns = now_ns() + DELIVERY_NS;
	bool leaves = false;

	supervisor->leave |= getpid() == 1;
	if (supervisor->exporter)
		kill(supervisor->exporter, SIGTERM);
	while (has_exporter(supervisor) && now_ns() < limit_ns) {
		if (supervisor->leave && !leaves && supervisor->exporter) {
			leaves = true;
			leave(supervisor);
		}
		wait_signal(supervisor, 200);
		if (tree_lives(supervisor) && !supervisor->leave)
			limit_ns = now_ns() + DELIVERY_NS;
	}
	if (!has_exporter(supervisor))
		return;
	say("the exporter did not finish in time; the last samples are lost");
	if (supervisor->exporter)
		kill(supervisor->exporter, SIGKILL);
}

/* Ends as the program did. */
static int pass_on(int status)
{
	struct rlimit none = {0, 0};
	sigset_t one;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	/* The program has left its core; a second one is of no use. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run(struct supervisor *supervisor, char **command)
{
	int error = child_start_program(command, &supervisor->before,
					&supervisor->program);

	if (error) {
		if (supervisor->exporter)
			kill(supervisor->exporter, SIGTERM);
		return advice_not_run(command[0], -error);
	}
	while (!supervisor->ended) {
		wait_signal(supervisor,
			    progress_wait_ms(&supervisor->progress));
		progress_show(&supervisor->progress, supervisor->ring);
	}
	progress_end(&supervisor->progress);
	witness_end(&supervisor->witness);
	await_delivery(supervisor);
	summary_print(supervisor->summary_fd, supervisor->ring);
	return pass_on(supervisor->status);
}

static bool is_switched_off(const struct config *config)
{
	if (config->disabled)
		say("switched off by SPANPROF_DISABLED or SPANPROF_ENABLED; "
		    "unset it to profile");
	return config->disabled;
}

/* --exec: no parent remains; the program's library starts an exporter. */
static int become_program(char **command)
{
	execvp(command[0], command);
	return advice_not_run(command[0], errno);
}

int main(int argc, char **argv)
{
	struct supervisor supervisor = {
		.what = {.ring_fd = -1, .listen_fd = -1, .summary_fd = -1},
		.signal_fd = -1,
		.summary_fd = -1,
	};
	struct options options;
	struct config config;
	bool profiled;

	say_init();
	/* scripts/container-entrypoint asks. */
	if (argc == 2 && strcmp(argv[1], "--works") == 0)
		return puts("yes") < 0;
	if (argc < 1 || !options_read(&options, argv + 1)) {
		say_failure("spanprof-supervisor is started by spanprof-run; "
			    "see: spanprof-run --help");
		return STATUS_FAILED;
	}
	if (!settings_read(&config, &options))
		return STATUS_FAILED;
	name_run();
	profiled = !is_switched_off(&config) && advice_before(&options);
	if (options.in_place) {
		if (profiled)
			add_preload(options.library);
		return become_program(options.command);
	}
	watch_signals(&supervisor);
	if (supervisor.signal_fd < 0) {
		complain("signalfd", errno);
		child_give_back_signals(&supervisor.before);
		return become_program(options.command);
	}
	witness_start(&supervisor.witness, argc, argv);
	if (profiled)
		prepare_exporter(&supervisor, &options);
	if (supervisor.exporter) {
		summary_begin(&config);
		progress_begin(&supervisor.progress, options.progress);
		add_preload(options.library);
	}
	return run(&supervisor, options.command);
}
