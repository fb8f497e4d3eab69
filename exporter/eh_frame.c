/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies, indexes and vets the unwind information of an ELF file.
 * Runs on: the exporter's main thread.
 */
#include "exporter/eh_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/byte_reader.h"
#include "exporter/cfi.h"

/* Pointer encodings, LSB 10.5.1. */
#define PE_OMIT 0xffu
#define PE_SIGNED 0x08u
#define PE_FORMAT 0x0fu
#define PE_PCREL 0x10u
#define PE_DATAREL 0x30u
#define PE_APPLICATION 0x70u
#define PE_UDATA4 0x03u
#define PE_SDATA4 0x0bu

#define INDEX_HEADER_BYTES 12u
/* Of one CIE or FDE. The longest of some three million that were looked at, in
 * librustc_driver, has 33 KiB. */
#define ENTRY_MAX_BYTES (128u << 10)

struct cie {
	uint8_t pointer_encoding;
	uint8_t lsda_encoding;
	bool sized; /* augmentation data follow, with their length */
	struct cfi_state state;
};

/* Fixed-size formats alone; 0 for others. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & PE_FORMAT & ~PE_SIGNED) {
	case 0x00:
	case 0x04:
		return 8;
	case 0x02:
		return 2;
	case 0x03:
		return 4;
	default:
		return 0;
	}
}

static uint64_t read_pointer(struct byte_reader *r, uint8_t encoding)
{
	size_t bytes = pointer_bytes(encoding);
	uint64_t value = reader_number(r, bytes);

	if (encoding & PE_SIGNED) {
		unsigned int spare = 64 - 8 * (unsigned int)bytes;

		value = (uint64_t)((int64_t)(value << spare) >> spare);
	}
	return value;
}

/* Skips a pointer that only exception handling needs. Those that libunwind
 * takes for another number of bytes than we do, or refuses, fail. */
static bool skip_pointer(struct byte_reader *r, uint8_t encoding)
{
	uint8_t application = encoding & PE_APPLICATION;

	if (encoding == PE_OMIT)
		return true;
	if (pointer_bytes(encoding) == 0 ||
	    (application != 0 && application != PE_PCREL &&
	     application != PE_DATAREL))
		return false;
	reader_skip(r, pointer_bytes(encoding));
	return true;
}

/* The entry (CIE or FDE) at an address, without its length: LSB 10.6.1. The
 * 64-bit form is used by nobody. */
static bool entry_at(const struct eh_frame *frames, uint64_t vaddr,
		     struct byte_reader *entry)
{
	struct byte_reader r = reader_of(frames->bytes, frames->len_bytes);
	uint32_t len;

	if (vaddr < frames->vaddr)
		return false;
	reader_skip(&r, vaddr - frames->vaddr);
	len = reader_u32(&r);
	if (r.failed || len < 4 || len > ENTRY_MAX_BYTES ||
	    len > reader_left(&r))
		return false;
	*entry = reader_of(r.at, len);
	return true;
}

static bool read_augmentation(struct byte_reader *r, const char *letters,
			      struct cie *cie)
{
	const uint8_t *start;
	uint64_t len;

	if (letters[0] != 'z')
		return letters[0] == '\0';
	cie->sized = true;
	len = reader_leb(r);
	start = r->at;
	for (const char *letter = letters + 1; *letter; letter++) {
		if (*letter == 'R')
			cie->pointer_encoding = reader_u8(r);
		else if (*letter == 'L')
			cie->lsda_encoding = reader_u8(r);
		else if (*letter == 'P' && !skip_pointer(r, reader_u8(r)))
			return false;
		else if (*letter != 'P' && *letter != 'S')
			return false;
	}
	return !r->failed && (uint64_t)(r->at - start) == len;
}

static bool read_cie(struct byte_reader r, struct cie *cie)
{
	char letters[5] = "";
	uint8_t version;
	size_t len;

	*cie = (struct cie){.lsda_encoding = PE_OMIT};
	if (reader_u32(&r) != 0)
		return false;
	version = reader_u8(&r);
	len = strnlen((const char *)r.at, reader_left(&r));
	if ((version != 1 && version != 3) || len >= sizeof(letters))
		return false;
	memcpy(letters, r.at, len);
	reader_skip(&r, len + 1);
	reader_leb(&r); /* code and data alignment: any will do */
	reader_leb(&r);
	if ((version == 1 ? reader_u8(&r) : reader_leb(&r)) !=
		    CFI_RETURN_ADDRESS ||
	    r.failed)
		return false;
	return read_augmentation(&r, letters, cie) &&
	       cfi_vet_initial(r, &cie->state);
}

/* An FDE points back to its CIE, from the place of the pointer. libunwind adds
 * the load bias to nothing but pc-relative pointers. */
static bool read_fde(const struct eh_frame *frames, struct eh_frame_fde *fde)
{
	struct byte_reader r, cie_bytes;
	struct cie cie;
	uint64_t at = fde->fde + 4, back, len;

	if (!entry_at(frames, fde->fde, &r))
		return false;
	back = reader_u32(&r);
	if (back == 0 || back > at || !entry_at(frames, at - back, &cie_bytes))
		return false;
	fde->vetted_bytes =
		(uint32_t)(reader_left(&r) + reader_left(&cie_bytes));
	if (!read_cie(cie_bytes, &cie) ||
	    (cie.pointer_encoding & ~PE_FORMAT) != PE_PCREL ||
	    pointer_bytes(cie.pointer_encoding) == 0)
		return false;
	fde->start = at + 4 + read_pointer(&r, cie.pointer_encoding);
	fde->end = fde->start + read_pointer(&r, cie.pointer_encoding);
	if (cie.sized) {
		struct byte_reader lsda;

		len = reader_leb(&r);
		lsda = r;
		reader_skip(&r, len);
		lsda.end = r.at;
		if (!skip_pointer(&lsda, cie.lsda_encoding) || lsda.failed)
			return false;
	}
	if (r.failed || fde->start >= fde->end || !cfi_vet(r, &cie.state))
		return false;
	fde->ends_stack = cie.state.ends_stack;
	return true;
}

static bool index_is_sorted(const struct eh_frame *frames)
{
	for (uint32_t i = 1; i < frames->entry_count; i++)
		if (frames->entries[i].start < frames->entries[i - 1].start)
			return false;
	return true;
}

static uint64_t entry_vaddr(const struct eh_frame *frames, int32_t offset)
{
	return frames->index_vaddr + (uint64_t)(int64_t)offset;
}

/* Reads .eh_frame_hdr and leaves the address of .eh_frame in `vaddr`. */
static int load_index(struct eh_frame *frames, const struct elf_image *image)
{
	const struct elf_segment *header = &image->frame_header;
	/* The version; how the pointer to .eh_frame, the number of entries
	 * and the entries are encoded. */
	static const uint8_t usual[] = {1, PE_PCREL | PE_SDATA4, PE_UDATA4,
					PE_DATAREL | PE_SDATA4};
	uint8_t head[INDEX_HEADER_BYTES];
	struct byte_reader r = reader_of(head, sizeof(head));
	size_t bytes;

	if (header->bytes < sizeof(head) ||
	    header->bytes > EH_FRAME_INDEX_MAX_BYTES ||
	    elf_image_read(image, header->offset, head, sizeof(head)))
		return -ENOENT;
	if (memcmp(head, usual, sizeof(usual)) != 0)
		return -ENOENT;
	reader_skip(&r, sizeof(usual));
	frames->index_vaddr = header->vaddr;
	frames->vaddr = entry_vaddr(frames, (int32_t)reader_u32(&r)) + 4;
	frames->entry_count = reader_u32(&r);
	bytes = (size_t)frames->entry_count * sizeof(*frames->entries);
	if (frames->entry_count == 0 || bytes > header->bytes - sizeof(head))
		return -ENOENT;
	frames->entries = malloc(bytes);
	if (!frames->entries)
		return -ENOMEM;
	if (elf_image_read(image, header->offset + sizeof(head),
			   frames->entries, bytes) ||
	    !index_is_sorted(frames))
		return -ENOENT;
	return 0;
}

/* .eh_frame reaches at least to the end of its last FDE that the index knows,
 * and what comes behind is never asked for. */
static uint64_t end_of_entries(const struct eh_frame *frames,
			       const struct elf_image *image,
			       const struct elf_segment *segment)
{
	uint64_t limit = segment->vaddr + segment->bytes, last = 0;
	uint8_t len[4];
	struct byte_reader r = reader_of(len, sizeof(len));

	for (uint32_t i = 0; i < frames->entry_count; i++) {
		uint64_t fde = entry_vaddr(frames, frames->entries[i].fde);

		if (fde > last && fde >= frames->vaddr && fde < limit)
			last = fde;
	}
	if (last == 0 ||
	    elf_image_read(image, segment->offset + last - segment->vaddr, len,
			   sizeof(len)))
		return 0;
	last += sizeof(len) + reader_u32(&r);
	return last < limit ? last : limit;
}

static int load_entries(struct eh_frame *frames, const struct elf_image *image)
{
	const struct elf_segment *segment =
		elf_image_segment(image, frames->vaddr);
	uint64_t end;

	if (!segment)
		return -ENOENT;
	end = end_of_entries(frames, image, segment);
	if (end <= frames->vaddr || end - frames->vaddr > EH_FRAME_MAX_BYTES)
		return -ENOENT;
	frames->len_bytes = (size_t)(end - frames->vaddr);
	frames->bytes = malloc(frames->len_bytes);
	if (!frames->bytes)
		return -ENOMEM;
	return elf_image_read(image,
			      segment->offset + frames->vaddr - segment->vaddr,
			      frames->bytes, frames->len_bytes)
		       ? -ENOENT
		       : 0;
}

int eh_frame_load(struct eh_frame *frames, const struct elf_image *image)
{
	int error;

	*frames = (struct eh_frame){.entry_count = 0};
	error = load_index(frames, image);
	if (!error)
		error = load_entries(frames, image);
	if (error)
		eh_frame_free(frames);
	return error;
}

void eh_frame_free(struct eh_frame *frames)
{
	free(frames->entries);
	free(frames->bytes);
	*frames = (struct eh_frame){.entry_count = 0};
}

int eh_frame_find(const struct eh_frame *frames, uint64_t vaddr,
		  struct eh_frame_fde *fde)
{
	uint32_t low = 0, high = frames->entry_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (vaddr < entry_vaddr(frames, frames->entries[middle].start))
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0)
		return -ENOENT;
	*fde = (struct eh_frame_fde){
		.fde = entry_vaddr(frames, frames->entries[low - 1].fde)};
	if (!read_fde(frames, fde))
		return -EBADMSG;
	return vaddr >= fde->start && vaddr < fde->end ? 0 : -ENOENT;
}

bool eh_frame_read(const struct eh_frame *frames, uint64_t vaddr, void *to,
		   size_t len_bytes)
{
	uint64_t end = frames->vaddr + frames->len_bytes;
	uint64_t from = vaddr, until = vaddr + len_bytes;

	memset(to, 0, len_bytes);
	if (from < frames->vaddr)
		from = frames->vaddr;
	if (until > end)
		until = end;
	if (until < vaddr || from >= until)
		return false;
	memcpy((uint8_t *)to + (from - vaddr),
	       frames->bytes + (from - frames->vaddr), until - from);
	return true;
}
