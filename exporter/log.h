/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of the agent and its exporter: a file (SPANPROF_LOG), or nothing.
 */
#ifndef EXPORTER_LOG_H
#define EXPORTER_LOG_H

#include "preload/config.h"

/* Opens the log for appending; without a path, messages are dropped. A path
 * that can't be opened, or is a symbolic link, is no error: there is nobody to
 * tell. */
void log_open(const char *path, enum config_log_level level);

/* One line: time, level, message. */
void log_message(enum config_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
