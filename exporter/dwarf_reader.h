/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reads DWARF: an exporter that was started with
 * DWARF_READER_ARGUMENT. It holds no secret and may do nothing but read the
 * files whose descriptors it is given: hostile ones may crash it or make it
 * stop for its use of time, and no more.
 */
#ifndef EXPORTER_DWARF_READER_H
#define EXPORTER_DWARF_READER_H

/* CPU time for one answer; the kernel ends the process beyond it. */
#define DWARF_READER_ANSWER_S 10
/* A reader that nobody asks ends, and its memory goes back. */
#define DWARF_READER_IDLE_MS 20000

/* Answers what comes from DWARF_READER_FD until it is closed or nothing comes
 * any more. Returns the process's status. */
int dwarf_reader_run(void);

#endif
