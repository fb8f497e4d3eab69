/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests are the same operation. A span's name says it when it has a
 * route; else the path does, once the ids in it are folded.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

/*
 * `path` with each segment that is a number, a UUID, or 8 or more hex digits
 * replaced by {id}, and without its query. Free with free().
 */
char *fold_path(const char *path);

/* The texts of a span, "" where it has none. */
struct fold_names {
	const char *name, *method, *path;
};

/* `METHOD path`, or the name where there is no path. Free with free(). */
char *fold_request(const struct fold_names *names);

/*
 * The operation: the name when it says more than the method (it has a route
 * then), else `METHOD folded-path`. Free with free().
 */
char *fold_operation(const struct fold_names *names);

#endif
