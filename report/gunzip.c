/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files whole and unpacks gzip within bounds.
 * Runs on: any thread of the spanprof command.
 */
#define ZLIB_CONST
#include "report/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "report/mem.h"

#define GZIP_ONLY (MAX_WBITS + 16)
#define FIRST_ROOM_MAX ((size_t)32 << 20)

/* One unpacking: what it reads from, what it has, what it may use. */
struct unpacking {
	z_stream stream;
	struct bytes out;
	size_t room, limit;
};

/*
 * The last word of a gzip file says how long its last member is unpacked. It is
 * a hint that saves copying, not a promise.
 */
static size_t likely_length(const struct bytes *packed, size_t limit)
{
	uint32_t length = 0;

	if (packed->length >= 4)
		memcpy(&length, packed->data + packed->length - 4, 4);
	if (length > FIRST_ROOM_MAX)
		length = FIRST_ROOM_MAX;
	return length < limit ? length : limit;
}

/* Unpacks one more piece; what zlib said. */
static int unpack_piece(struct unpacking *u)
{
	int result;

	if (u->out.length == u->room) {
		u->out.data =
			mem_room(u->out.data, &u->room, u->room + 65536, 1);
		/* One byte beyond the limit shows that it is exceeded. */
		if (u->room > u->limit + 1)
			u->room = u->limit + 1;
	}
	u->stream.next_out = u->out.data + u->out.length;
	u->stream.avail_out = (uInt)(u->room - u->out.length);
	result = inflate(&u->stream, Z_NO_FLUSH);
	u->out.length = u->room - u->stream.avail_out;
	return result;
}

static int unpack_all(struct unpacking *u, struct fault *fault)
{
	int result;

	do {
		result = unpack_piece(u);
		if (u->out.length > u->limit)
			return FAULT(fault, -EFBIG,
				     "more than %zu MiB when unpacked",
				     u->limit >> 20);
		if (result == Z_STREAM_END && u->stream.avail_in)
			result = inflateReset(&u->stream);
	} while (result == Z_OK);
	if (result == Z_STREAM_END)
		return 0;
	if (result == Z_BUF_ERROR && !u->stream.avail_in)
		return FAULT(fault, -EBADMSG, "the gzip data are cut short");
	return FAULT(fault, -EBADMSG, "damaged gzip data: %s",
		     u->stream.msg ? u->stream.msg : "not gzip");
}

bool gunzip_is_packed(const uint8_t *data, size_t length)
{
	return length >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

int gunzip_bytes(struct bytes *out, const struct bytes *packed, size_t limit,
		 struct fault *fault)
{
	struct unpacking u = {.limit = limit};
	int error;

	*out = (struct bytes){0};
	if (packed->length > GUNZIP_MAX_BYTES)
		return FAULT(fault, -EFBIG, "too long");
	if (inflateInit2(&u.stream, GZIP_ONLY) != Z_OK)
		return FAULT(fault, -ENOMEM, "zlib can't start");
	u.stream.next_in = packed->data;
	u.stream.avail_in = (uInt)packed->length;
	u.room = likely_length(packed, limit) + 1;
	u.out.data = mem_zeroed(u.room, 1);
	error = unpack_all(&u, fault);
	inflateEnd(&u.stream);
	if (error)
		free(u.out.data);
	else
		*out = u.out;
	return error;
}

/* The errno of a system call, with its text. */
static int system_fault(struct fault *fault)
{
	int error = errno;

	return FAULT(fault, -error, "%s", strerror(error));
}

/* Opens a regular file; a FIFO must not make the command wait. */
static int open_regular(const char *path, size_t *length, struct fault *fault)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (file < 0)
		return errno == ENOENT ? -ENOENT : system_fault(fault);
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(file);
		return FAULT(fault, -EINVAL, "not a regular file");
	}
	*length = (size_t)status.st_size;
	return file;
}

static int read_all(int file, struct bytes *out, size_t length,
		    struct fault *fault)
{
	*out = (struct bytes){mem_zeroed(length + 1, 1), 0};
	while (out->length < length) {
		ssize_t got = read(file, out->data + out->length,
				   length - out->length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return system_fault(fault);
		if (got == 0)
			break;
		out->length += (size_t)got;
	}
	return 0;
}

static int read_file(struct bytes *out, const char *path, struct fault *fault)
{
	size_t length = 0;
	int file = open_regular(path, &length, fault), error;

	if (file < 0)
		return file;
	if (length > GUNZIP_MAX_BYTES)
		error = FAULT(fault, -EFBIG, "longer than %zu MiB",
			      GUNZIP_MAX_BYTES >> 20);
	else
		error = read_all(file, out, length, fault);
	close(file);
	return error;
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), end = strlen(suffix);

	return length >= end && strcmp(text + length - end, suffix) == 0;
}

int gunzip_file(struct bytes *out, const char *path, struct fault *fault)
{
	struct bytes packed = {0};
	int error = read_file(&packed, path, fault);

	*out = (struct bytes){0};
	if (!error && packed.length == 0)
		error = FAULT(fault, -EBADMSG, "the file is empty");
	else if (!error && gunzip_is_packed(packed.data, packed.length))
		error = gunzip_bytes(out, &packed, GUNZIP_MAX_BYTES, fault);
	else if (!error && has_suffix(path, ".gz"))
		error = FAULT(fault, -EBADMSG, "not gzip data");
	else if (!error)
		*out = packed;
	if (out->data != packed.data)
		free(packed.data);
	return error;
}
