/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading and unpacking files.
 * Runs on: the test program's main thread.
 */
#include "report/gunzip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/lib/unit.h"

#define LIMIT ((size_t)1 << 20)

/* Packs `length` bytes as one gzip member. Free data with free(). */
static struct bytes pack(const void *data, size_t length)
{
	size_t room = compressBound(length) + 64;
	struct bytes packed = {malloc(room), 0};
	z_stream stream = {.avail_in = (uInt)length, .avail_out = (uInt)room};
	union {
		const void *from;
		Bytef *to;
	} cast = {.from = data};

	stream.next_in = cast.to;
	stream.next_out = packed.data;
	deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8,
		     Z_DEFAULT_STRATEGY);
	deflate(&stream, Z_FINISH);
	packed.length = room - stream.avail_out;
	deflateEnd(&stream);
	return packed;
}

static int unpack(const struct bytes *packed, size_t limit,
		  struct bytes *unpacked, struct fault *fault)
{
	return gunzip_bytes(unpacked, packed, limit, fault);
}

TEST(gunzip_unpacks_what_was_packed)
{
	struct bytes packed = pack("hello", 5), unpacked;
	struct fault fault;

	CHECK(gunzip_is_packed(packed.data, packed.length));
	CHECK_EQ(unpack(&packed, LIMIT, &unpacked, &fault), 0);
	CHECK_EQ(unpacked.length, 5);
	CHECK(memcmp(unpacked.data, "hello", 5) == 0);
	free(unpacked.data);
	free(packed.data);
}

TEST(gunzip_unpacks_several_members)
{
	struct bytes one = pack("hello ", 6), two = pack("world", 5), unpacked;
	struct bytes both = {malloc(one.length + two.length),
			     one.length + two.length};
	struct fault fault;

	memcpy(both.data, one.data, one.length);
	memcpy(both.data + one.length, two.data, two.length);
	CHECK_EQ(unpack(&both, LIMIT, &unpacked, &fault), 0);
	CHECK_EQ(unpacked.length, 11);
	CHECK(memcmp(unpacked.data, "hello world", 11) == 0);
	free(unpacked.data);
	free(one.data);
	free(two.data);
	free(both.data);
}

TEST(gunzip_unpacks_an_empty_member)
{
	struct bytes packed = pack("", 0), unpacked;
	struct fault fault;

	CHECK_EQ(unpack(&packed, LIMIT, &unpacked, &fault), 0);
	CHECK_EQ(unpacked.length, 0);
	free(unpacked.data);
	free(packed.data);
}

TEST(gunzip_takes_up_to_its_limit_and_no_more)
{
	char *zeros = calloc(1, LIMIT + 1);
	struct bytes exact = pack(zeros, LIMIT), more = pack(zeros, LIMIT + 1);
	struct bytes unpacked;
	struct fault fault;

	CHECK_EQ(unpack(&exact, LIMIT, &unpacked, &fault), 0);
	CHECK_EQ(unpacked.length, LIMIT);
	free(unpacked.data);
	CHECK_EQ(unpack(&more, LIMIT, &unpacked, &fault), -EFBIG);
	CHECK_STR(fault.text, "more than 1 MiB when unpacked");
	CHECK(!unpacked.data);
	free(exact.data);
	free(more.data);
	free(zeros);
}

TEST(gunzip_refuses_data_that_are_cut_short)
{
	struct bytes packed = pack("hello hello hello", 17);

	for (size_t cut = 0; cut < packed.length; cut++) {
		struct bytes part = {malloc(cut ? cut : 1), cut}, unpacked;
		struct fault fault;

		memcpy(part.data, packed.data, cut);
		CHECK_EQ(unpack(&part, LIMIT, &unpacked, &fault), -EBADMSG);
		CHECK_STR(fault.text, "the gzip data are cut short");
		free(part.data);
	}
	free(packed.data);
}

TEST(gunzip_refuses_damage_and_what_follows_the_end)
{
	struct bytes packed = pack("hello hello hello", 17), unpacked;
	struct fault fault;

	packed.data[packed.length - 6] ^= 1; /* the checksum */
	CHECK_EQ(unpack(&packed, LIMIT, &unpacked, &fault), -EBADMSG);
	CHECK_STR(fault.text, "damaged gzip data: incorrect data check");
	packed.data[packed.length - 6] ^= 1;
	packed.data = realloc(packed.data, packed.length + 4);
	memcpy(packed.data + packed.length, "more", 4);
	packed.length += 4;
	CHECK_EQ(unpack(&packed, LIMIT, &unpacked, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "damaged gzip data"));
	free(packed.data);
}

/* Writes a file in a folder of its own; the name is written to `path`. */
static void write_file(char path[64], const char *name, const void *data,
		       size_t length)
{
	char folder[] = "/tmp/gunzip_test.XXXXXX";
	FILE *file;

	CHECK(mkdtemp(folder));
	snprintf(path, 64, "%s/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file);
	fwrite(data, 1, length, file);
	fclose(file);
}

static void remove_file(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

TEST(gunzip_reads_plain_files_unless_they_are_named_gz)
{
	struct bytes bytes;
	struct fault fault;
	char path[64];

	write_file(path, "a.pb", "plain", 5);
	CHECK_EQ(gunzip_file(&bytes, path, &fault), 0);
	CHECK_EQ(bytes.length, 5);
	free(bytes.data);
	remove_file(path);
	write_file(path, "a.pb.gz", "plain", 5);
	CHECK_EQ(gunzip_file(&bytes, path, &fault), -EBADMSG);
	CHECK_STR(fault.text, "not gzip data");
	remove_file(path);
}

TEST(gunzip_tells_files_that_are_empty_missing_or_none)
{
	struct bytes bytes;
	struct fault fault;
	char path[64];

	write_file(path, "a.pb.gz", "", 0);
	CHECK_EQ(gunzip_file(&bytes, path, &fault), -EBADMSG);
	CHECK_STR(fault.text, "the file is empty");
	unlink(path);
	CHECK_EQ(gunzip_file(&bytes, path, &fault), -ENOENT);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(gunzip_file(&bytes, path, &fault), -EINVAL);
	CHECK_STR(fault.text, "not a regular file");
	remove_file(path);
}
