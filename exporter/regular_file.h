/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files whose names come from others. Nothing but a regular file is ever
 * opened: opening some devices does something (a tape rewinds, a watchdog
 * starts), and a FIFO would keep us waiting.
 */
#ifndef EXPORTER_REGULAR_FILE_H
#define EXPORTER_REGULAR_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the descriptor is one of a regular file. */
bool regular_file_is(int fd);

/* A descriptor to read an absolute path, links followed, or a negative errno:
 * -EINVAL for what is no regular file. */
int regular_file_open(const char *path);

/*
 * The same as process `pid` sees it: below its root, in its mount namespace.
 * Links lead nowhere outside. With is_strict a link as the last part is
 * refused, too.
 */
int regular_file_open_in(uint32_t pid, const char *path, bool is_strict);

#endif
