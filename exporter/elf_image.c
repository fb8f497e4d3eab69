/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens an ELF file and reads its program headers and build id.
 * Runs on: the exporter's main thread.
 */
#include "exporter/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/byte_reader.h"
#include "exporter/regular_file.h"

#define PROGRAM_HEADERS_MAX 128u
#define NOTES_MAX_BYTES 4096u
/* Far above anything that can be mapped, low enough that sums of a few such
 * numbers don't wrap. */
#define ADDRESS_MAX (UINT64_C(1) << 48)

int elf_image_read(const struct elf_image *image, uint64_t offset, void *to,
		   size_t len_bytes)
{
	uint8_t *at = to;

	if (len_bytes > image->len_bytes ||
	    offset > image->len_bytes - len_bytes)
		return -EIO;
	if (image->bytes) {
		memcpy(to, image->bytes + offset, len_bytes);
		return 0;
	}
	while (len_bytes > 0) {
		ssize_t got = pread(image->fd, at, len_bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		at += got;
		offset += (uint64_t)got;
		len_bytes -= (size_t)got;
	}
	return 0;
}

/* Ids that are longer than ours can be are passed over: no record has one. */
static bool note_is_build_id(const Elf64_Nhdr *note, const uint8_t *name)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
	       memcmp(name, "GNU", 4) == 0 && note->n_descsz > 0 &&
	       note->n_descsz <= ELF_IMAGE_BUILD_ID_BYTES;
}

void elf_image_take_notes(struct elf_image *image,
			  const struct elf_notes *notes)
{
	uint8_t bytes[NOTES_MAX_BYTES];
	size_t align = notes->align == 8 ? 8 : 4;
	struct byte_reader r;

	if (image->build_id_bytes || notes->len_bytes > sizeof(bytes) ||
	    elf_image_read(image, notes->offset, bytes, notes->len_bytes))
		return;
	r = reader_of(bytes, notes->len_bytes);
	while (reader_left(&r) >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		const uint8_t *name;

		memcpy(&note, r.at, sizeof(note));
		reader_skip(&r, sizeof(note));
		name = r.at;
		reader_skip(&r, ((uint64_t)note.n_namesz + align - 1) & -align);
		if (r.failed || note.n_descsz > reader_left(&r))
			return;
		if (note_is_build_id(&note, name)) {
			memcpy(image->build_id, r.at, note.n_descsz);
			image->build_id_bytes = note.n_descsz;
			return;
		}
		reader_skip(&r, ((uint64_t)note.n_descsz + align - 1) & -align);
	}
}

static bool segment_is_sane(const struct elf_image *image,
			    const Elf64_Phdr *header)
{
	return header->p_vaddr < ADDRESS_MAX &&
	       header->p_filesz <= image->len_bytes &&
	       header->p_offset <= image->len_bytes - header->p_filesz;
}

/* The vDSO's header says nothing that its one PT_LOAD doesn't hold; files may
 * say anything, and what says nonsense is passed over. */
static void take_program_header(struct elf_image *image,
				const Elf64_Phdr *header)
{
	struct elf_segment segment = {header->p_vaddr, header->p_offset,
				      header->p_filesz,
				      (header->p_flags & PF_X) != 0};

	if (!segment_is_sane(image, header))
		return;
	if (header->p_type == PT_NOTE)
		elf_image_take_notes(image,
				     &(struct elf_notes){header->p_offset,
							 header->p_filesz,
							 header->p_align});
	if (header->p_type == PT_GNU_EH_FRAME)
		image->frame_header = segment;
	if (header->p_type == PT_LOAD &&
	    image->segment_count < ELF_IMAGE_SEGMENTS)
		image->segments[image->segment_count++] = segment;
}

static bool is_our_machine(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64;
}

static bool is_our_kind(const Elf64_Ehdr *header)
{
	return is_our_machine(header) &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_phnum > 0 && header->e_phnum <= PROGRAM_HEADERS_MAX;
}

/* Extended section numbering (e_shnum 0) occurs in object files alone, and
 * would let a file ask for room for four thousand million sections. */
static bool sections_are_sane(const struct elf_image *image,
			      const Elf64_Ehdr *header)
{
	uint64_t bytes = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);

	return header->e_shentsize == sizeof(Elf64_Shdr) &&
	       header->e_shnum > 0 && header->e_shnum < SHN_LORESERVE &&
	       bytes <= image->len_bytes &&
	       header->e_shoff <= image->len_bytes - bytes;
}

static int read_headers(struct elf_image *image)
{
	Elf64_Ehdr header;
	Elf64_Phdr program[PROGRAM_HEADERS_MAX];

	if (elf_image_read(image, 0, &header, sizeof(header)) ||
	    !is_our_kind(&header) ||
	    elf_image_read(image, header.e_phoff, program,
			   header.e_phnum * sizeof(program[0])))
		return -ENOEXEC;
	image->has_sections = sections_are_sane(image, &header);
	image->entry = header.e_entry;
	for (unsigned int i = 0; i < header.e_phnum; i++)
		take_program_header(image, &program[i]);
	return image->segment_count ? 0 : -ENOEXEC;
}

/* The kernel maps whole pages and no size is told anywhere, so the end is that
 * of the last thing its headers mention. */
static size_t vdso_bytes(const Elf64_Ehdr *header)
{
	const Elf64_Phdr *program =
		(const void *)((const char *)header + header->e_phoff);
	uint64_t end = header->e_shoff +
		       (uint64_t)header->e_shnum * header->e_shentsize;

	for (unsigned int i = 0; i < header->e_phnum; i++)
		if (program[i].p_type == PT_LOAD &&
		    program[i].p_offset + program[i].p_filesz > end)
			end = program[i].p_offset + program[i].p_filesz;
	return (size_t)end;
}

static int open_vdso(struct elf_image *image)
{
	const Elf64_Ehdr *header =
		(const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */

	if (!header)
		return -ENOENT;
	return elf_image_open_memory(image, header, vdso_bytes(header));
}

/* Takes the descriptor if it is 0. Files of no size are those of /proc. */
static int take_file(struct elf_image *image, int fd)
{
	struct stat st;

	*image = (struct elf_image){.fd = -1};
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_size <= 0) {
		close(fd);
		return -EINVAL;
	}
	image->fd = fd;
	image->len_bytes = (uint64_t)st.st_size;
	image->inode = st.st_ino;
	return 0;
}

const struct elf_segment *elf_image_segment(const struct elf_image *image,
					    uint64_t vaddr)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *s = &image->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->bytes)
			return s;
	}
	return NULL;
}

void elf_image_close(struct elf_image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
	image->bytes = NULL;
	image->len_bytes = 0;
}

int elf_image_open_memory(struct elf_image *image, const void *bytes,
			  size_t len_bytes)
{
	*image = (struct elf_image){.fd = -1};
	image->bytes = bytes;
	image->len_bytes = len_bytes;
	return read_headers(image);
}

int elf_image_open_fd(struct elf_image *image, int fd)
{
	int error = take_file(image, fd);

	if (error)
		return error;
	error = read_headers(image);
	if (error)
		elf_image_close(image);
	return error;
}

int elf_image_open_debug(struct elf_image *image, int fd)
{
	Elf64_Ehdr header;
	int error = take_file(image, fd);

	if (error)
		return error;
	if (elf_image_read(image, 0, &header, sizeof(header)) ||
	    !is_our_machine(&header) || !sections_are_sane(image, &header)) {
		elf_image_close(image);
		return -ENOEXEC;
	}
	image->has_sections = true;
	return 0;
}

int elf_image_open(struct elf_image *image, const char *path)
{
	*image = (struct elf_image){.fd = -1};
	if (strcmp(path, ELF_IMAGE_VDSO) == 0)
		return open_vdso(image);
	return elf_image_open_fd(image, regular_file_open(path));
}
