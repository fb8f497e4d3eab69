/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of an ELF file, and its bytes while it is being read.
 *
 * Nothing in such a file is believed: a program may hand us any path, and any
 * file may be malformed, change or shrink while we read it. For that reason it
 * is never mapped (a file that shrinks under a mapping is SIGBUS, and whatever
 * was checked could change afterwards): what is needed is copied once, checked
 * in the copy and used from there.
 *
 * Formats: System V gABI 4.1 with the x86-64 psABI; build ids are the notes of
 * type NT_GNU_BUILD_ID that ld --build-id writes.
 */
#ifndef EXPORTER_ELF_IMAGE_H
#define EXPORTER_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_IMAGE_SEGMENTS 16u
#define ELF_IMAGE_BUILD_ID_BYTES 32u

/* The path under which /proc/PID/maps shows the vDSO. */
#define ELF_IMAGE_VDSO "[vdso]"

/* A part of the file that is mapped: a PT_LOAD, or PT_GNU_EH_FRAME. */
struct elf_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t bytes; /* in the file; what lies behind them is zeros */
	bool executable;
};

struct elf_image {
	int fd;               /* -1 when it is in memory, or closed */
	const uint8_t *bytes; /* when it is in memory */
	uint64_t len_bytes;
	uint64_t inode; /* 0 when it is in memory */
	bool has_sections;
	uint64_t entry; /* ELF vaddr where a program begins; 0 for none */
	uint32_t segment_count;
	struct elf_segment segments[ELF_IMAGE_SEGMENTS];
	struct elf_segment frame_header; /* bytes is 0 when there is none */
	uint32_t build_id_bytes;
	uint8_t build_id[ELF_IMAGE_BUILD_ID_BYTES];
};

/*
 * Opens the file at an absolute path, or our own vDSO for ELF_IMAGE_VDSO (one
 * kernel gives the same to every process), and reads its headers. Refuses with
 * -EINVAL what is no regular file, -ENOEXEC what is no x86-64 program or
 * library, and with open's errors. Close what was opened.
 */
int elf_image_open(struct elf_image *image, const char *path);

/* The same for an open file, whose descriptor it takes whatever comes of it; a
 * negative errno instead of one is handed back. */
int elf_image_open_fd(struct elf_image *image, int fd);

/* The same for a file with debug information: nothing in it need be code. Only
 * has_sections is told, and the build id not before elf_image_take_notes. */
int elf_image_open_debug(struct elf_image *image, int fd);

/* The same for bytes in memory, which must outlive the image. */
int elf_image_open_memory(struct elf_image *image, const void *bytes,
			  size_t len_bytes);

/* Headers stay readable afterwards, bytes don't. */
void elf_image_close(struct elf_image *image);

struct elf_notes {
	uint64_t offset;
	uint64_t len_bytes;
	uint64_t align;
};

/* Takes the build id from a section or segment of notes, if it isn't known
 * and they hold one. */
void elf_image_take_notes(struct elf_image *image,
			  const struct elf_notes *notes);

/* Copies bytes of the file. -EIO when they aren't all there. */
int elf_image_read(const struct elf_image *image, uint64_t offset, void *to,
		   size_t len_bytes);

/* The PT_LOAD whose part in the file holds this address, or NULL. */
const struct elf_segment *elf_image_segment(const struct elf_image *image,
					    uint64_t vaddr);

#endif
