/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own log (SPANPROF_LOG): for the constructor, which is the only
 * part of the preloaded library that has anything to say, and only when there
 * is no exporter to say it. Never the program's streams.
 */
#ifndef PRELOAD_LOG_H
#define PRELOAD_LOG_H

/* Appends one line, made of the texts up to NULL, if a log is configured. The
 * file is opened for each line and never followed through a symbolic link. */
void log_line(const char *text, ...) __attribute__((sentinel));

#endif
