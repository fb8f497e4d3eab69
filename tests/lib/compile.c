/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles libraries for tests.
 * Runs on: the test program's main thread.
 */
#include "tests/lib/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/spanprof_test.XXXXXX";
static pid_t owner;

static void remove_folder(void)
{
	char command[64];

	if (getpid() != owner)
		return;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0) /* NOLINT(cert-env33-c) */
		fprintf(stderr, "%s stays\n", folder);
}

const char *compile_path(const char *name)
{
	static char path[256];

	if (!owner) {
		if (!mkdtemp(folder))
			return NULL;
		owner = getpid();
		atexit(remove_folder);
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

const char *compile_library(const char *name, const char *code,
			    const char *flags)
{
	const char *path = compile_path(name);
	char command[1024];
	FILE *compiler;

	if (!path)
		return NULL;
	snprintf(command, sizeof(command),
		 "${CC:-cc} -xc - -O2 -fPIC -shared %s -o %s", flags, path);
	compiler = popen(command, "w"); /* NOLINT(cert-env33-c) */
	if (!compiler)
		return NULL;
	fputs(code, compiler);
	return pclose(compiler) == 0 ? path : NULL;
}
