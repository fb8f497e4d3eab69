/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the exporter from inside a program, so that the program does not
 * notice: detached, with nothing of the program's but its namespaces.
 */
#ifndef PRELOAD_LAUNCH_H
#define PRELOAD_LAUNCH_H

struct launch {
	const char *exporter; /* path of the executable */
	const char *program;  /* what is profiled */
	int ring_fd;
	int listen_fd;
	char *const *environment; /* the program's */
};

/*
 * Returns 0 once the exporter runs, or the negative errno of what failed
 * (-ENOENT, -EACCES: no such executable). No SIGCHLD is raised and no child
 * remains. The descriptors stay open here.
 */
int launch_exporter(const struct launch *what);

#endif
