/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds or offers the ring.
 * Runs on: the program's main thread, in the constructor; the supervisor.
 */
#include "preload/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "preload/text.h"
#include "preload/version.h"
#include "sampler/arch.h"

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8u
#endif

/* The program waits for so long for an exporter that is stopped. */
#define JOIN_TIMEOUT_NS 300000000L
#define BACKLOG 128

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t hash_text(uint64_t hash, const char *text)
{
	while (*text)
		hash = (hash ^ (uint8_t)*text++) * FNV_PRIME;
	return (hash ^ 0xff) * FNV_PRIME;
}

static bool is_configuration(const char *entry)
{
	return text_after_sig(entry, "SPANPROF_") ||
	       text_after_sig(entry, "PYROSCOPE_") ||
	       text_after_sig(entry, "OTEL_");
}

/* A sum, since shells hand the environment on in any order. */
static uint64_t hash_configuration(char *const *environment)
{
	uint64_t sum = 0;

	for (; *environment; environment++) {
		if (is_configuration(*environment))
			sum += hash_text(FNV_START, *environment);
	}
	return sum;
}

static int hash_namespace(uint64_t *hash, const char *path)
{
	char link[64];
	long length = SYS3(SYS_readlink, path, link, sizeof(link) - 1);

	if (length < 0)
		return (int)length;
	link[length] = '\0';
	*hash = hash_text(*hash, link);
	return 0;
}

int rendezvous_name(char name[RENDEZVOUS_NAME_BYTES], char *const *environment)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t hash = hash_text(FNV_START, SPANPROF_BUILD);
	char *end = text_append_sig(name, "spanprof-");
	int error = hash_namespace(&hash, "/proc/self/ns/user");

	if (!error)
		error = hash_namespace(&hash, "/proc/self/ns/mnt");
	if (!error)
		error = hash_namespace(&hash, "/proc/self/ns/pid");
	if (error)
		return error;
	hash = (hash ^ (uint64_t)SYS0(SYS_geteuid)) * FNV_PRIME;
	hash ^= hash_configuration(environment);
	for (int shift = 60; shift >= 0; shift -= 4)
		*end++ = digits[hash >> shift & 15];
	*end = '\0';
	return 0;
}

/* An abstract address: a NUL, then the name. Returns its length. */
static long fill_address(struct sockaddr_un *address, const char *name)
{
	size_t length = text_length_sig(name);

	zero_bytes_sig(address, sizeof(*address));
	address->sun_family = AF_UNIX;
	copy_bytes_sig(address->sun_path + 1, name, length);
	return (long)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static long open_socket(int flags)
{
	return SYS3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags,
		    0);
}

int rendezvous_listen(const char *name)
{
	struct sockaddr_un address;
	long length = fill_address(&address, name);
	long fd = open_socket(0);
	long error;

	if (fd < 0)
		return (int)fd;
	error = SYS3(SYS_bind, fd, &address, length);
	if (!error)
		error = SYS2(SYS_listen, fd, BACKLOG);
	if (!error)
		return (int)fd;
	SYS1(SYS_close, fd);
	return (int)error;
}

static bool peer_is_trusted(long fd)
{
	struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
	uint32_t bytes = sizeof(peer);

	if (SYS5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return false;
	return peer.uid == 0 || peer.uid == (uid_t)SYS0(SYS_geteuid);
}

static size_t fds_of_message(struct msghdr *message, const int **fds)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);

	if (!control || control->cmsg_level != SOL_SOCKET ||
	    control->cmsg_type != SCM_RIGHTS)
		return 0;
	*fds = (const int *)(void *)CMSG_DATA(control);
	return (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

/* The one descriptor of a message that is as it should be; of any other, none
 * stays open. */
static int accept_message(struct msghdr *message, bool is_right)
{
	const int *fds = 0;
	size_t count = fds_of_message(message, &fds);

	if (is_right && count == 1)
		return fds[0];
	for (size_t i = 0; i < count; i++)
		SYS1(SYS_close, fds[i]);
	return -EPROTO;
}

static int receive_ring(long fd)
{
	struct rendezvous_welcome welcome = {0, 0, 0, 0};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {&welcome, sizeof(welcome)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd wait = {(int)fd, POLLIN, 0};
	struct timespec timeout = {0, JOIN_TIMEOUT_NS};
	long got;

	if (SYS5(SYS_ppoll, &wait, 1, &timeout, 0, 8) <= 0)
		return -ETIMEDOUT;
	got = SYS3(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	if (got < 0)
		return (int)got;
	return accept_message(&message,
			      got == sizeof(welcome) &&
				      welcome.magic == RING_MAGIC &&
				      welcome.version == RING_VERSION);
}

int rendezvous_join(const char *name)
{
	struct sockaddr_un address;
	long length = fill_address(&address, name);
	long fd = open_socket(SOCK_NONBLOCK);
	int result;

	if (fd < 0)
		return (int)fd;
	result = (int)SYS3(SYS_connect, fd, &address, length);
	if (!result && !peer_is_trusted(fd))
		result = -EPERM;
	if (!result)
		result = receive_ring(fd);
	SYS1(SYS_close, fd);
	return result;
}

static int fill_ring(int fd)
{
	struct ring_header header = {
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.block_bytes = RING_BLOCK_BYTES,
		.block_count = RING_BLOCKS,
		.process_count = RING_PROCESSES,
		.total_bytes = sizeof(struct ring),
	};
	long error = SYS2(SYS_ftruncate, fd, sizeof(struct ring));

	if (!error && SYS4(SYS_pwrite64, fd, &header, sizeof(header), 0) !=
			      (long)sizeof(header))
		error = -EIO;
	if (!error)
		error = SYS3(SYS_fcntl, fd, F_ADD_SEALS,
			     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return (int)error;
}

/* ftruncate(2) beyond RLIMIT_FSIZE kills with SIGXFSZ. */
static bool size_is_allowed(void)
{
	struct {
		uint64_t soft, hard;
	} limit = {0, 0};

	if (SYS4(SYS_prlimit64, 0, 1 /* RLIMIT_FSIZE */, 0, &limit))
		return true;
	return limit.soft >= sizeof(struct ring);
}

int rendezvous_create_ring(void)
{
	static const char name[] = "spanprof-ring";
	long fd;
	int error;

	if (!size_is_allowed())
		return -EFBIG;
	fd = SYS2(SYS_memfd_create, name,
		  MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd == -EINVAL)
		fd = SYS2(SYS_memfd_create, name,
			  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return (int)fd;
	error = fill_ring((int)fd);
	if (!error)
		return (int)fd;
	SYS1(SYS_close, fd);
	return error;
}

static bool is_sealed(int fd)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat file;
	long seals = SYS2(SYS_fcntl, fd, F_GET_SEALS);

	if (seals < 0 || (seals & wanted) != wanted)
		return false;
	return SYS2(SYS_fstat, fd, &file) == 0 &&
	       file.st_size == (off_t)sizeof(struct ring);
}

static bool header_fits(const struct ring_header *header)
{
	return header->magic == RING_MAGIC && header->version == RING_VERSION &&
	       header->block_bytes == RING_BLOCK_BYTES &&
	       header->block_count == RING_BLOCKS &&
	       header->process_count == RING_PROCESSES;
}

struct ring *rendezvous_map(int fd)
{
	struct ring *ring;
	long at;

	if (!is_sealed(fd))
		return 0;
	at = SYS6(SYS_mmap, 0, sizeof(struct ring), PROT_READ | PROT_WRITE,
		  MAP_SHARED, fd, 0);
	if (at < 0 && at > -4096)
		return 0;
	ring = (struct ring *)at;
	SYS3(SYS_madvise, ring, sizeof(*ring), MADV_DONTDUMP);
	if (header_fits(&ring->header))
		return ring;
	SYS2(SYS_munmap, ring, sizeof(*ring));
	return 0;
}
