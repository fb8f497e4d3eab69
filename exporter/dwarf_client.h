/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the process that reads DWARF, which it starts when there is something
 * to ask and starts again when it has ended. Nothing here waits for it unless
 * told to. A file whose question made the process die is to blame, and never
 * asked about again; after some deaths nothing is.
 */
#ifndef EXPORTER_DWARF_CLIENT_H
#define EXPORTER_DWARF_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/dwarf_protocol.h"

#define DWARF_CLIENT_QUESTIONS 64u
#define DWARF_CLIENT_DEATHS_MAX 16u

/*
 * Gets an answer: 0 with the bytes, which are its to free; or a negative errno
 * with none: -EAGAIN when it should be asked again, -EFAULT when the file is
 * to blame for a death, else what the reader says.
 */
typedef void dwarf_answered(void *asker, const struct dwarf_request *request,
			    int error, void *bytes, size_t len_bytes);

/* A question on its way. */
struct dwarf_asked {
	struct dwarf_request request;
	void *asker; /* NULL: nobody wants to know any more */
	dwarf_answered *answered;
};

struct dwarf_client {
	/* What is to be started, and the arguments, from its name on, before
	 * DWARF_READER_ARGUMENT; NULL: nothing is ever asked, no others. */
	const char *program;
	char *const *arguments;
	pid_t pid; /* 0: it isn't there */
	int socket;
	uint32_t deaths;
	uint32_t next_file;
	/* A ring, in order. */
	uint32_t first;
	uint32_t count;
	struct dwarf_asked asked[DWARF_CLIENT_QUESTIONS];
};

/* Of zeros but for these, a client is ready. Ends the process; what was
 * asked is answered with -EAGAIN. */
void dwarf_client_fini(struct dwarf_client *client);

/* A number for dwarf_request.file, and for the same files always. */
uint32_t dwarf_client_number(struct dwarf_client *client);

/* Asks, with the descriptors of the file and of its alternate one (-1: none),
 * which stay the caller's. 0; -EAGAIN when enough is being asked; another
 * negative errno when there is no asking. */
int dwarf_client_ask(struct dwarf_client *client,
		     const struct dwarf_asked *question, const int fds[2]);

/* Nothing is told to this asker any more. */
void dwarf_client_forget(struct dwarf_client *client, const void *asker);

/* Takes the answers that are there, after waiting for one if timeout_ms isn't
 * 0. Whether something was told. */
bool dwarf_client_take(struct dwarf_client *client, int timeout_ms);

#endif
