/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in the place of a program whose libraries lie in a bundle beside it,
 * and starts it by the bundle's own loader: whatever libraries the image has or
 * lacks.
 *
 * Static. The bundle is found from this file: `bundle` in its folder, or
 * `../libexec/spanprof/bundle`.
 * Runs on: the process that becomes the program.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define LOADER "ld-linux-x86-64.so.2"

/* Where this file is; without /proc, as it was called. */
static int find_self(char path[PATH_MAX])
{
	const char *called = (const char *)getauxval(AT_EXECFN);
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length > 0) {
		path[length] = '\0';
		return 0;
	}
	return called && snprintf(path, PATH_MAX, "%s", called) < PATH_MAX ? 0
									   : -1;
}

static int find_bundle(char bundle[PATH_MAX], const char *folder)
{
	static const char *const places[] = {"bundle",
					     "../libexec/spanprof/bundle"};

	for (int i = 0; i < 2; i++) {
		if (snprintf(bundle, PATH_MAX, "%s/%s", folder, places[i]) <
			    PATH_MAX &&
		    access(bundle, X_OK) == 0)
			return 0;
	}
	return -1;
}

/* ld.so --library-path BUNDLE --argv0 NAME BUNDLE/PROGRAM ARGUMENT... */
static void start(char *bundle, const char *name, int argc, char **argv)
{
	static char library_path[] = "--library-path";
	static char argv0[] = "--argv0";
	char loader[PATH_MAX];
	char program[PATH_MAX];
	char *const first[] = {loader, library_path, bundle,
			       argv0,  argv[0],      program};
	const size_t count = sizeof(first) / sizeof(*first);
	char **arguments;

	if (snprintf(loader, PATH_MAX, "%s/" LOADER, bundle) >= PATH_MAX ||
	    snprintf(program, PATH_MAX, "%s/%s", bundle, name) >= PATH_MAX)
		return;
	arguments = calloc(count + (size_t)argc, sizeof(*arguments));
	if (!arguments)
		return;
	memcpy(arguments, first, sizeof(first));
	/* With the NULL behind the last one. */
	memcpy(arguments + count, argv + 1, (size_t)argc * sizeof(*argv));
	execv(loader, arguments);
	free(arguments);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX];
	char bundle[PATH_MAX];
	char *slash;

	if (argc < 1 || find_self(self) != 0 || !(slash = strrchr(self, '/')))
		return 126;
	*slash = '\0';
	if (find_bundle(bundle, self) == 0)
		start(bundle, slash + 1, argc, argv);
	fprintf(stderr, "spanprof: cannot start %s from its bundle\n",
		slash + 1);
	return 126;
}
