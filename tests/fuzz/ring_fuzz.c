/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile producer: the input says what is written into the ring, and when
 * the exporter looks at it. Nothing may crash, hang or grow beyond its bounds,
 * and what comes out must be profiles and spans that others can read.
 *
 * The input is a row of commands, each a letter and its operands (numbers are
 * little-endian):
 *
 *	r kind[1] block[1] length[2] bytes	a record with an honest head
 *	w block[1] length[2] bytes		bytes as they are
 *	u block[1] used[4]			the level of a block
 *	o block[1] owner[8]			its owner
 *	c slot[2] claim[8]			a process's claim
 *	b slot[2] time[8]			and its time
 *	t time[8]				the time of further records
 *	n counter[1] value[8]			a counter
 *	m block[1] bytes[4]			what is said to be delivered
 *	k					an exporter takes over
 *	s which[1]				the configuration, before a pass
 *	p					a pass of the exporter
 *
 * Slot 0 is this process, generation 1.
 * Runs on: the fuzzer's or the replay program's main thread.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "exporter/recorder.h"
#include "preload/rendezvous.h"
#include "tests/lib/profile_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}
#define DEMAND(condition) demand(condition, #condition)

/* ---- the input ---- */

static const uint8_t *next;
static size_t left;

static uint64_t take_number(size_t bytes)
{
	uint64_t number = 0;

	if (bytes > left) {
		left = 0;
		return 0;
	}
	memcpy(&number, next, bytes);
	next += bytes;
	left -= bytes;
	return number;
}

static const uint8_t *take_bytes(size_t *length)
{
	const uint8_t *bytes = next;

	if (*length > left)
		*length = left;
	next += *length;
	left -= *length;
	return bytes;
}

/* ---- the ring ---- */

static struct ring *ring;
static bool touched[RING_BLOCKS];
static uint64_t record_time;

static struct ring_block *touch(uint64_t index)
{
	touched[index % RING_BLOCKS] = true;
	return &ring->blocks[index % RING_BLOCKS];
}

static void append(struct ring_block *block, const void *bytes, size_t length)
{
	uint32_t used = atomic_load(&block->used);

	if (used > sizeof(block->data) || length > sizeof(block->data) - used)
		return;
	memcpy(block->data + used, bytes, length);
	atomic_store(&block->used, used + (uint32_t)length);
}

static void put_record(void)
{
	uint16_t kind = (uint16_t)take_number(1);
	struct ring_block *block = touch(take_number(1));
	size_t length = take_number(2);
	const uint8_t *body = take_bytes(&length);
	uint8_t *record = calloc(1, sizeof(struct record) + length + 8);
	struct record *head = (struct record *)(void *)record;

	DEMAND(record);
	head->bytes = (uint32_t)(sizeof(*head) + length + 7) & ~7u;
	head->kind = kind;
	head->generation = 1;
	head->tid = (uint32_t)getpid();
	head->time_ns = record_time++;
	memcpy(record + sizeof(*head), body, length);
	append(block, record, head->bytes);
	free(record);
}

static void put_raw(void)
{
	struct ring_block *block = touch(take_number(1));
	size_t length = take_number(2);
	const uint8_t *bytes = take_bytes(&length);

	append(block, bytes, length);
}

static void set_process(bool is_claim)
{
	struct ring_process *process =
		&ring->processes[take_number(2) % RING_PROCESSES];
	uint64_t value = take_number(8);

	if (is_claim)
		atomic_store(&process->claim, value);
	else
		atomic_store(&process->claimed_boot_ns, value);
}

static void set_mark(void)
{
	uint64_t index = take_number(1) % RING_BLOCKS;
	uint32_t bytes = (uint32_t)take_number(4);

	for (unsigned i = 0; i < 2; i++)
		atomic_store(&ring->header.marks[i].delivered[index], bytes);
}

static void set_block(bool is_owner)
{
	struct ring_block *block = touch(take_number(1));

	if (is_owner)
		atomic_store(&block->owner, take_number(8));
	else
		atomic_store(&block->used, (uint32_t)take_number(4));
}

static void clean_ring(void)
{
	for (unsigned i = 0; i < RING_BLOCKS; i++) {
		if (touched[i])
			memset(&ring->blocks[i], 0, sizeof(ring->blocks[i]));
		touched[i] = false;
	}
	memset(ring->processes, 0, sizeof(ring->processes));
	memset(ring->header.counters, 0, sizeof(ring->header.counters));
	memset(ring->header.marks, 0, sizeof(ring->header.marks));
	atomic_store(&ring->header.exporter_starts, 0);
	atomic_store(&ring->header.exporter_beat_ns, 0);
	atomic_store(&ring->processes[0].claim,
		     UINT64_C(1) << 32 | (uint32_t)getpid());
	record_time = 1000;
}

/* ---- the exporter ---- */

static struct recorder recorder;
static struct config config;
static char folder[64];
static int epoll_fd;

static void begin_exporter(void)
{
	recorder.program = "fuzzed";
	DEMAND(recorder_init(&recorder, &config, ring, folder) == 0);
	recorder.processes.epoll_fd = epoll_fd;
}

static void pass(void)
{
	recorder_pass(&recorder);
	DEMAND(recorder.intake.kept <= INTAKE_KEPT_MAX);
	DEMAND(recorder.processes.kept <= PROCESSES_KEPT_MAX);
	DEMAND(recorder.late.bytes <= LATE_BYTES_MAX);
	DEMAND(recorder.intake.capacity <= 2 * sizeof(struct ring));
	DEMAND(recorder.window.sample_count < WINDOW_SAMPLES_MAX);
}

/* What the killed one had is freed, for the leak checker's sake, and the ring
 * is left as it was. */
static void restart(void)
{
	struct recorder dead = recorder;
	struct ring_process *slots = malloc(sizeof(ring->processes));

	DEMAND(slots);
	memcpy(slots, ring->processes, sizeof(ring->processes));
	recorder_fini(&dead);
	memcpy(ring->processes, slots, sizeof(ring->processes));
	free(slots);
	begin_exporter();
}

static void obey(uint8_t command)
{
	switch (command) {
	case 'r':
		put_record();
		break;
	case 'w':
		put_raw();
		break;
	case 'u':
	case 'o':
		set_block(command == 'o');
		break;
	case 'c':
	case 'b':
		set_process(command == 'c');
		break;
	case 't':
		record_time = take_number(8);
		break;
	case 'n':
		atomic_store(
			&ring->header.counters[take_number(1) % RING_COUNTERS],
			take_number(8));
		break;
	case 'm':
		set_mark();
		break;
	case 'k':
		restart();
		break;
	case 's':
		config.spans = (enum config_spans)(take_number(1) % 3);
		break;
	case 'p':
		pass();
		break;
	default:
		break;
	}
}

/* ---- what comes out ---- */

static void check_profile(const uint8_t *bytes, size_t length)
{
	Perftools__Profiles__Profile *profile;
	const char *fault = profile_check(bytes, length, &profile);

	demand(!fault, fault);
	perftools__profiles__profile__free_unpacked(profile, NULL);
}

static void check_spans(const uint8_t *bytes, size_t length)
{
	size_t plain;
	char *text = (char *)profile_check_unpack(bytes, length, &plain);

	DEMAND(text && plain > 0 && text[plain - 1] == '\n');
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		DEMAND(json);
		json_decref(json);
	}
	free(text);
}

static void check_file(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	struct stat file;
	uint8_t *bytes;

	DEMAND(fd >= 0 && fstat(fd, &file) == 0 && file.st_size > 0);
	bytes = malloc((size_t)file.st_size);
	DEMAND(bytes && read(fd, bytes, (size_t)file.st_size) == file.st_size);
	if (strstr(name, ".pb.gz"))
		check_profile(bytes, (size_t)file.st_size);
	else
		check_spans(bytes, (size_t)file.st_size);
	free(bytes);
	close(fd);
	unlinkat(at, name, 0);
}

static void check_output(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			check_file(dirfd(dir), entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ---- the fuzzer ---- */

static void remove_folder(void)
{
	rmdir(folder);
}

static void set_up(void)
{
	int fd = rendezvous_create_ring();

	ring = rendezvous_map(fd);
	DEMAND(ring);
	close(fd);
	snprintf(folder, sizeof(folder), "/tmp/ring-fuzz-%d", (int)getpid());
	atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *nothing[] = {NULL};

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!ring)
		set_up();
	clean_ring();
	config_read(&config, nothing, NULL, NULL);
	begin_exporter();
	next = data;
	left = size;
	while (left)
		obey((uint8_t)take_number(1));
	pass();
	pass();
	recorder_flush(&recorder);
	recorder_fini(&recorder);
	close(epoll_fd);
	check_output();
	return 0;
}
