/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions about DWARF.
 * Runs on: a process of its own, started by dwarf_client.c.
 */
#include "exporter/dwarf_reader.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "exporter/confine.h"
#include "exporter/dwarf_file.h"
#include "exporter/dwarf_index.h"

#define FILES_OPEN 16u
/* libdw keeps what it has read of a file; above this all of it goes. */
#define MEMORY_KEPT_BYTES (256u << 20)

struct open_file {
	uint32_t number; /* 0: none */
	uint64_t last_use;
	int error; /* of opening it */
	struct dwarf_file file;
};

struct reader {
	struct open_file files[FILES_OPEN];
	uint64_t clock;
};

static void close_fds(const int fds[2])
{
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static struct open_file *find_file(struct reader *reader, uint32_t number)
{
	struct open_file *oldest = &reader->files[0];

	for (unsigned int i = 0; i < FILES_OPEN; i++) {
		struct open_file *file = &reader->files[i];

		if (file->number == number)
			return file;
		if (file->last_use < oldest->last_use)
			oldest = file;
	}
	return oldest;
}

/* Takes the descriptors. */
static struct open_file *get_file(struct reader *reader, uint32_t number,
				  const int fds[2])
{
	struct open_file *file = find_file(reader, number);

	file->last_use = ++reader->clock;
	if (file->number == number) {
		close_fds(fds);
		return file;
	}
	if (file->number && !file->error)
		dwarf_file_close(&file->file);
	file->number = number;
	file->error = dwarf_file_open(&file->file, fds[0], fds[1]);
	return file;
}

static int make_answer(struct dwarf_file *file,
		       const struct dwarf_request *request, void **bytes,
		       size_t *len_bytes)
{
	struct dwarf_unit_range *ranges;
	size_t count;
	int error;

	if (request->question == DWARF_INDEX)
		return dwarf_index_make(file, request->unit, bytes, len_bytes);
	error = dwarf_file_units(file, &ranges, &count);
	if (error)
		return error;
	*bytes = ranges;
	*len_bytes = count * sizeof(*ranges);
	return 0;
}

/* A memfd with these bytes, or a negative errno. */
static int pack(const char *bytes, size_t len_bytes)
{
	int fd = memfd_create("spanprof-dwarf", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (len_bytes) {
		ssize_t put = write(fd, bytes, len_bytes);

		if (put < 0) {
			int error = -errno;

			close(fd);
			return error;
		}
		bytes += put;
		len_bytes -= (size_t)put;
	}
	return fd;
}

static int send_answer(struct dwarf_answer *answer, int fd)
{
	struct dwarf_message message = {answer, sizeof(*answer), {fd, -1}};
	struct pollfd room = {DWARF_READER_FD, POLLOUT, 0};
	int error;

	while ((error = dwarf_message_send(DWARF_READER_FD, &message)) ==
	       -EAGAIN)
		poll(&room, 1, -1);
	return error;
}

static void limit_time(int seconds)
{
	struct itimerval timer = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void save_memory(struct reader *reader)
{
	if (mallinfo2().uordblks < MEMORY_KEPT_BYTES)
		return;
	for (unsigned int i = 0; i < FILES_OPEN; i++) {
		struct open_file *file = &reader->files[i];

		if (file->number && !file->error)
			dwarf_file_close(&file->file);
		file->number = 0;
	}
	malloc_trim(0);
}

static int answer(struct reader *reader, const struct dwarf_request *request,
		  const int fds[2])
{
	struct open_file *file;
	struct dwarf_answer told = {.error = 0};
	void *bytes = NULL;
	size_t len_bytes = 0;
	int fd = -1, error;

	limit_time(DWARF_READER_ANSWER_S);
	file = get_file(reader, request->file, fds);
	told.error = file->error;
	if (!told.error)
		told.error =
			make_answer(&file->file, request, &bytes, &len_bytes);
	if (!told.error)
		fd = pack(bytes, len_bytes);
	limit_time(0);
	if (!told.error && fd < 0)
		told.error = fd;
	told.len_bytes = len_bytes;
	free(bytes);
	error = send_answer(&told, fd);
	if (fd >= 0)
		close(fd);
	return error;
}

static void reset_signals(void)
{
	sigset_t none;

	signal(SIGPROF, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int dwarf_reader_run(void)
{
	static struct reader reader;
	struct dwarf_request request;
	struct dwarf_message message = {&request, sizeof(request), {-1, -1}};
	struct pollfd question = {DWARF_READER_FD, POLLIN, 0};

	reset_signals();
	confine_reader();
	while (poll(&question, 1, DWARF_READER_IDLE_MS) > 0) {
		int error = dwarf_message_receive(DWARF_READER_FD, &message);

		if (error == -EAGAIN)
			continue;
		if (error)
			return error != -EPIPE;
		if (answer(&reader, &request, message.fds) != 0)
			return 1;
		save_memory(&reader);
	}
	return 0;
}
