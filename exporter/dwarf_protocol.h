/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the exporter (dwarf_client.c) and the process that reads DWARF for it
 * (dwarf_reader.c) say to each other, over a SOCK_SEQPACKET pair: a message
 * each way, in order. A request brings the file's descriptors, an answer a
 * memfd.
 */
#ifndef EXPORTER_DWARF_PROTOCOL_H
#define EXPORTER_DWARF_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

/* The reader's end of the socket, and the argument that makes an exporter a
 * reader. */
#define DWARF_READER_FD 3
#define DWARF_READER_ARGUMENT "--read-dwarf"

/* Parts of code that units have, of one file. */
#define DWARF_RANGES_MAX (1u << 20)

enum dwarf_question {
	DWARF_UNITS, /* answer: struct dwarf_unit_range of all units */
	DWARF_INDEX, /* answer: the line_index of one */
};

struct dwarf_request {
	uint32_t question;
	uint32_t file; /* a number that stands for the descriptors' files */
	uint64_t unit; /* from dwarf_unit_range */
};

struct dwarf_answer {
	int32_t error; /* 0 or a negative errno */
	uint32_t reserved;
	uint64_t len_bytes; /* of the memfd, which is there if error is 0 */
};

/* Code of a compile unit. */
struct dwarf_unit_range {
	uint64_t start; /* ELF vaddr */
	uint64_t end;
	uint64_t unit; /* offset of its DIE in .debug_info */
};

/* A message that may bring up to two descriptors: -1 where there is none. */
struct dwarf_message {
	void *bytes;
	size_t len_bytes;
	int fds[2];
};

/* Sends without waiting. 0, -EAGAIN, or a negative errno. The descriptors stay
 * the caller's. */
int dwarf_message_send(int socket, const struct dwarf_message *message);

/* Takes one of len_bytes without waiting; its descriptors are the caller's.
 * 0, -EAGAIN, -EPIPE at the end, or a negative errno. */
int dwarf_message_receive(int socket, struct dwarf_message *message);

#endif
