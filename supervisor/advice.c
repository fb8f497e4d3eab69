/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What, why, and what to do.
 * Runs on: the supervisor.
 */
#include "supervisor/advice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "supervisor/options.h"
#include "supervisor/say.h"
#include "supervisor/target.h"

static bool is_on_noexec(const char *path)
{
	struct statvfs system;

	return statvfs(path, &system) == 0 && system.f_flag & ST_NOEXEC;
}

/* glibc splits LD_PRELOAD at spaces and colons, whatever is quoted, and puts
 * something else in the place of $LIB and its like (ld.so(8)). */
static const char *library_fault(const char *library)
{
	if (strpbrk(library, " :$"))
		return "its path holds a space, a colon or a $, where the "
		       "loader splits it; install it elsewhere";
	if (access(library, R_OK) != 0)
		return errno == ENOENT ? "it is missing; build or install "
					 "spanprof again"
				       : "it cannot be read; check the modes "
					 "of the file and its folders";
	if (is_on_noexec(library))
		return "its file system is mounted noexec; install it "
		       "elsewhere";
	return NULL;
}

/* Why the program's file can't have the library, and what helps. */
static const char *const reasons[][2] = {
	[TARGET_STATIC] = {"is static: no loader loads libspanprof.so into it",
			   "link it dynamically (Go: CGO_ENABLED=1)"},
	[TARGET_SET_ID] = {"is set-user-id or set-group-id, so LD_PRELOAD is "
			   "ignored",
			   "run a copy without that bit as its user"},
	[TARGET_CAPABILITIES] = {"has file capabilities, so LD_PRELOAD is "
				 "ignored",
				 "run a copy without them, or run it as root"},
	[TARGET_MACHINE] = {"is no x86-64 program", "build it for x86-64"},
	[TARGET_LIBC] = {"uses another C library than glibc",
			 "build it for glibc"},
	[TARGET_NO_LIBC] = {"uses no C library, as Go's without cgo do",
			    "link it with one (Go: CGO_ENABLED=1)"},
};

bool advice_before(const struct options *options)
{
	const char *fault = library_fault(options->library);
	struct target target;

	if (fault) {
		say("cannot preload %s: %s;", options->library, fault);
		say("the program runs without being profiled");
		return false;
	}
	target_look(&target, options->command[0]);
	if (target.obstacle == TARGET_FINE)
		return true;
	say("%s %s;", target.file, reasons[target.obstacle][0]);
	say("it runs unprofiled; remedy: %s", reasons[target.obstacle][1]);
	return !target_refuses_preload(&target);
}

static void explain_missing(const char *program)
{
	struct target target;

	target_look(&target, program);
	if (target.missing[0])
		say_failure("cannot run %s: it needs %s, which is missing",
			    program, target.missing);
	else
		say_failure("cannot run %s: not found%s", program,
			    strchr(program, '/') ? "" : " in PATH");
}

static void explain_refused(const char *program)
{
	struct stat file;

	if (!strchr(program, '/') || stat(program, &file) != 0)
		say_failure("cannot run %s: %s", program, strerror(EACCES));
	else if (S_ISDIR(file.st_mode))
		say_failure("cannot run %s: it is a folder", program);
	else if (!(file.st_mode & 0111))
		say_failure(
			"cannot run %s: it is not executable; if it should be: "
			"chmod +x",
			program);
	else if (is_on_noexec(program))
		say_failure("cannot run %s: its file system is mounted noexec; "
			    "copy it "
			    "elsewhere",
			    program);
	else
		say_failure("cannot run %s: %s", program, strerror(EACCES));
}

int advice_not_run(const char *program, int error)
{
	if (error == ENOENT)
		explain_missing(program);
	else if (error == EACCES)
		explain_refused(program);
	else if (error == ENOEXEC)
		say_failure("cannot run %s: no program for this machine",
			    program);
	else
		say_failure("cannot run %s: %s", program, strerror(error));
	return error == ENOENT ? 127 : 126;
}
