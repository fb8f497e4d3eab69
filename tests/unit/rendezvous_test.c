/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who shares an exporter's name, and how a ring is made, mapped and refused.
 * The socket is tests/unit/join_test.c's.
 * Runs on: the test program's main thread, and children.
 */
#include "preload/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/crowd.h"
#include "tests/lib/unit.h"

struct name {
	char text[RENDEZVOUS_NAME_BYTES];
};

/* The name under an environment of up to four entries. */
static struct name name_of(const char *a, const char *b, const char *c,
			   const char *d)
{
	const char *entries[] = {a, b, c, d, NULL};
	char *environment[5];
	struct name name;

	for (int i = 0; i < 5; i++)
		environment[i] = (char *)(uintptr_t)entries[i];
	memset(&name, 0, sizeof(name));
	CHECK_EQ(rendezvous_name(name.text, environment), 0);
	return name;
}

static void check_differs(const char *a, const char *b)
{
	struct name first = name_of(a, NULL, NULL, NULL);
	struct name second = name_of(b, NULL, NULL, NULL);

	CHECK(strcmp(first.text, second.text) != 0);
}

TEST(a_name_is_a_prefix_and_16_hex_digits)
{
	struct name name = name_of(NULL, NULL, NULL, NULL);

	CHECK_EQ(strlen(name.text), 25);
	CHECK(strncmp(name.text, "spanprof-", 9) == 0);
	CHECK_EQ(strspn(name.text + 9, "0123456789abcdef"), 16);
}

TEST(the_same_configuration_gives_the_same_name_in_any_order)
{
	struct name one = name_of("SPANPROF_RATE=1", "OTEL_SERVICE_NAME=x",
				  "PYROSCOPE_TENANT_ID=7", "SPANPROF_RUN=r");
	struct name two = name_of("SPANPROF_RUN=r", "PYROSCOPE_TENANT_ID=7",
				  "OTEL_SERVICE_NAME=x", "SPANPROF_RATE=1");

	CHECK_STR(one.text, two.text);
}

TEST(variables_of_others_do_not_count)
{
	struct name one = name_of("SPANPROF_RATE=1", NULL, NULL, NULL);
	struct name two = name_of("PATH=/bin", "SPANPROF_RATE=1", "TERM=dumb",
				  "XSPANPROF_RATE=5");

	CHECK_STR(one.text, two.text);
}

TEST(each_part_of_the_configuration_makes_another_name)
{
	check_differs(NULL, "SPANPROF_RATE=1");
	check_differs("SPANPROF_RATE=1", "SPANPROF_RATE=2");
	check_differs("SPANPROF_RATE=1", "SPANPROF_RATF=1");
	check_differs("SPANPROF_RUN=a", "SPANPROF_RUN=b");
	check_differs("SPANPROF_RUN=", NULL);
	check_differs(NULL, "PYROSCOPE_X=1");
	check_differs(NULL, "OTEL_X=1");
	check_differs("SPANPROF_A=b", "SPANPROF_A=bc");
}

/* A sum alone would not tell these apart: 1 and 1 against 2 and 0. */
TEST(values_that_change_places_make_another_name)
{
	struct name one = name_of("SPANPROF_A=1", "SPANPROF_B=2", NULL, NULL);
	struct name two = name_of("SPANPROF_A=2", "SPANPROF_B=1", NULL, NULL);
	struct name twice = name_of("SPANPROF_A=1", "SPANPROF_A=1", NULL, NULL);
	struct name none = name_of(NULL, NULL, NULL, NULL);

	CHECK(strcmp(one.text, two.text) != 0);
	CHECK(strcmp(twice.text, none.text) != 0);
}

/* In a child: becomes someone else and compares. */
struct change {
	int (*make)(void);
	struct name before;
};

static int compare_in_child(void *context)
{
	const struct change *change = context;
	char *nothing[] = {NULL};
	char now[RENDEZVOUS_NAME_BYTES];

	if (change->make() != 0)
		return 2;
	if (rendezvous_name(now, nothing) != 0)
		return 3;
	return strcmp(now, change->before.text) == 0;
}

static void check_change(int (*make)(void), const char *what)
{
	struct change change = {make, name_of(NULL, NULL, NULL, NULL)};
	int result = crowd_wait(crowd_fork(compare_in_child, &change));

	if (result == 2)
		unit_skip(what);
	CHECK_EQ(result, 0);
}

static int nothing_changes(void)
{
	return 0;
}

TEST(a_child_has_its_parents_name)
{
	struct change same = {nothing_changes, name_of(NULL, NULL, NULL, NULL)};

	CHECK_EQ(crowd_wait(crowd_fork(compare_in_child, &same)), 1);
}

static int change_user(void)
{
	return (int)syscall(SYS_setresuid, -1, 65534, -1);
}

TEST(another_user_has_another_name)
{
	check_change(change_user, "changing the user needs root");
}

static int change_mounts(void)
{
	return unshare(CLONE_NEWNS);
}

/* The user stays the same number in there. */
static int change_users(void)
{
	char map[32];
	int length =
		snprintf(map, sizeof(map), "%u %u 1\n", geteuid(), geteuid());
	int fd;

	if (unshare(CLONE_NEWUSER) != 0)
		return -1;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	return write(fd, map, (size_t)length) == length ? 0 : -1;
}

TEST(another_namespace_has_another_name)
{
	check_change(change_mounts, "mount namespaces need root");
	check_change(change_users, "user namespaces are forbidden");
}

static int child_in_new_pid_namespace(void *context)
{
	if (unshare(CLONE_NEWPID) != 0)
		return 2;
	return crowd_wait(crowd_fork(compare_in_child, context));
}

TEST(another_pid_namespace_has_another_name)
{
	struct change change = {nothing_changes,
				name_of(NULL, NULL, NULL, NULL)};
	int result =
		crowd_wait(crowd_fork(child_in_new_pid_namespace, &change));

	if (result == 2)
		unit_skip("pid namespaces need root");
	CHECK_EQ(result, 0);
}

/* ---- the ring ---- */

TEST(a_new_ring_is_empty_sized_and_told_by_its_header)
{
	int fd = rendezvous_create_ring();
	struct stat file;
	struct ring *ring;

	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQ(fstat(fd, &file), 0);
	CHECK_EQ(file.st_size, sizeof(struct ring));
	ring = rendezvous_map(fd);
	close(fd);
	CHECK(ring != NULL);
	CHECK_EQ(ring->header.magic, RING_MAGIC);
	CHECK_EQ(ring->header.version, RING_VERSION);
	CHECK_EQ(ring->header.block_bytes, RING_BLOCK_BYTES);
	CHECK_EQ(ring->header.block_count, RING_BLOCKS);
	CHECK_EQ(ring->header.process_count, RING_PROCESSES);
	CHECK_EQ(ring->header.total_bytes, sizeof(struct ring));
	for (unsigned i = 0; i < RING_BLOCKS; i++) {
		CHECK_EQ(ring->blocks[i].owner, 0);
		CHECK_EQ(ring->blocks[i].used, 0);
	}
	munmap(ring, sizeof(*ring));
}

TEST(nobody_can_resize_a_ring)
{
	int fd = rendezvous_create_ring();
	int seals = fcntl(fd, F_GET_SEALS);

	CHECK(seals & F_SEAL_SHRINK);
	CHECK(seals & F_SEAL_GROW);
	CHECK(seals & F_SEAL_SEAL);
	CHECK(ftruncate(fd, 0) != 0);
	CHECK(ftruncate(fd, (off_t)sizeof(struct ring) * 2) != 0);
	close(fd);
}

/* Exceeding the limit would raise SIGXFSZ, which kills. */
static int create_under_limit(void *unused)
{
	struct rlimit limit = {sizeof(struct ring) - 1, RLIM_INFINITY};

	(void)unused;
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 2;
	return rendezvous_create_ring() != -EFBIG;
}

TEST(a_limit_on_file_sizes_is_an_error_and_no_signal)
{
	CHECK_EQ(crowd_wait(crowd_fork(create_under_limit, NULL)), 0);
}

/* A memfd with a header, changed and sealed as asked. */
static int forge(const struct ring_header *header, off_t bytes, int seals)
{
	int fd = memfd_create("forged", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, bytes), 0);
	CHECK_EQ(pwrite(fd, header, sizeof(*header), 0), sizeof(*header));
	if (seals)
		CHECK_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static const struct ring_header good = {
	.magic = RING_MAGIC,
	.version = RING_VERSION,
	.block_bytes = RING_BLOCK_BYTES,
	.block_count = RING_BLOCKS,
	.process_count = RING_PROCESSES,
	.total_bytes = sizeof(struct ring),
};

#define SEALED (F_SEAL_SHRINK | F_SEAL_GROW)
#define WHOLE ((off_t)sizeof(struct ring))

static bool maps(int fd)
{
	struct ring *ring = rendezvous_map(fd);

	if (ring)
		munmap(ring, sizeof(*ring));
	if (fd >= 0)
		close(fd);
	return ring != NULL;
}

TEST(a_ring_is_mapped_only_sealed_and_of_the_right_size)
{
	CHECK(maps(forge(&good, WHOLE, SEALED)));
	CHECK(!maps(forge(&good, WHOLE, 0)));
	CHECK(!maps(forge(&good, WHOLE, F_SEAL_SHRINK)));
	CHECK(!maps(forge(&good, WHOLE, F_SEAL_GROW)));
	CHECK(!maps(forge(&good, WHOLE - 4096, SEALED)));
	CHECK(!maps(forge(&good, WHOLE + 4096, SEALED)));
	CHECK(!maps(forge(&good, 4096, SEALED)));
}

TEST(a_ring_of_another_layout_is_refused)
{
	struct ring_header other[5] = {good, good, good, good, good};

	other[0].magic++;
	other[1].version++;
	other[2].block_bytes *= 2;
	other[3].block_count--;
	other[4].process_count--;
	for (int i = 0; i < 5; i++)
		CHECK(!maps(forge(&other[i], WHOLE, SEALED)));
}

TEST(other_descriptors_are_no_rings)
{
	int pipes[2];
	FILE *file = tmpfile();

	CHECK(file != NULL);
	CHECK_EQ(pipe(pipes), 0);
	CHECK(!maps(dup(fileno(file))));
	CHECK(!maps(pipes[0]));
	CHECK(!maps(pipes[1]));
	CHECK(!maps(open("/dev/zero", O_RDWR | O_CLOEXEC)));
	CHECK(!maps(-1));
	fclose(file);
}
