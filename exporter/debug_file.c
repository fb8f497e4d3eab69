/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for debug information in the places where it usually is.
 * Runs on: the exporter's main thread.
 */
#include "exporter/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "exporter/ids.h"
#include "exporter/regular_file.h"

#define LINK_MAX_BYTES 8192u
/* A checksum is only of use for a file that is read as a whole. */
#define CHECKSUM_MAX_BYTES (UINT64_C(256) << 20)

/* What must be true of a file that is found. */
struct proof {
	uint64_t not_inode; /* a link may lead to the file itself */
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	bool has_checksum;
	uint32_t checksum;
};

static bool has_checksum(const struct elf_image *image, uint32_t wanted)
{
	uint8_t bytes[16384];
	uLong sum = crc32(0, NULL, 0);

	if (image->len_bytes > CHECKSUM_MAX_BYTES)
		return false;
	for (uint64_t at = 0; at < image->len_bytes;) {
		uint64_t left = image->len_bytes - at;
		size_t len = left < sizeof(bytes) ? left : sizeof(bytes);

		if (elf_image_read(image, at, bytes, len))
			return false;
		sum = crc32(sum, bytes, (uInt)len);
		at += len;
	}
	return sum == wanted;
}

static void find_build_id(struct elf_image *image)
{
	struct elf_sections sections;
	const Elf64_Shdr *notes;

	if (elf_sections_read(&sections, image))
		return;
	notes = elf_sections_find(&sections, ".note.gnu.build-id");
	if (notes)
		elf_image_take_notes(image,
				     &(struct elf_notes){notes->sh_offset,
							 notes->sh_size,
							 notes->sh_addralign});
	elf_sections_free(&sections);
}

static bool is_proven(const struct elf_image *image, const struct proof *proof)
{
	if (image->inode == proof->not_inode)
		return false;
	if (proof->build_id_bytes && image->build_id_bytes)
		return image->build_id_bytes == proof->build_id_bytes &&
		       memcmp(image->build_id, proof->build_id,
			      proof->build_id_bytes) == 0;
	return proof->has_checksum && has_checksum(image, proof->checksum);
}

/* Opens a candidate if it is the one. */
static bool try_path(const char *path, uint32_t pid, const struct proof *proof,
		     struct elf_image *image)
{
	int fd = pid ? regular_file_open_in(pid, path, false)
		     : regular_file_open(path);

	if (elf_image_open_debug(image, fd))
		return false;
	find_build_id(image);
	if (is_proven(image, proof))
		return true;
	elf_image_close(image);
	return false;
}

/* In the process's root, and in ours, where its image's may be installed. */
static bool try_roots(const char *path, uint32_t pid, const struct proof *proof,
		      struct elf_image *image)
{
	return (pid && try_path(path, pid, proof, image)) ||
	       try_path(path, 0, proof, image);
}

/* Writes the next folder of a list, and moves on behind it. */
static bool next_folder(const char **list, struct debug_path *folder)
{
	while (**list) {
		size_t len = strcspn(*list, ":");
		const char *begin = *list;

		*list += len + (begin[len] == ':');
		if (begin[0] != '/' || len >= sizeof(folder->text))
			continue;
		memcpy(folder->text, begin, len);
		folder->text[len] = '\0';
		return true;
	}
	return false;
}

static const char *folders(void)
{
	const char *list = getenv(DEBUG_FILE_FOLDERS);

	return list && *list ? list : DEBUG_FILE_FOLDERS_DEFAULT;
}

/* Whether a text of snprintf's fitted in. */
static bool fits(int len)
{
	return len >= 0 && (size_t)len < sizeof(((struct debug_path *)0)->text);
}

static bool find_by_build_id(uint32_t pid, const struct proof *proof,
			     struct elf_image *image, struct debug_path *path)
{
	char hex[2 * ELF_IMAGE_BUILD_ID_BYTES + 1];
	const char *list = folders();
	struct debug_path folder;

	if (proof->build_id_bytes < 2)
		return false;
	id_to_hex(hex, proof->build_id, proof->build_id_bytes);
	while (next_folder(&list, &folder)) {
		if (fits(snprintf(path->text, sizeof(path->text),
				  "%s/.build-id/%.2s/%s.debug", folder.text,
				  hex, hex + 2)) &&
		    try_roots(path->text, pid, proof, image))
			return true;
	}
	return false;
}

/* The name in .gnu_debuglink and the checksum behind it, at the next multiple
 * of four. The name is the caller's to free; NULL when there is none. */
static char *read_link(const struct elf_sections *sections, uint32_t *checksum)
{
	const Elf64_Shdr *section =
		elf_sections_find(sections, ".gnu_debuglink");
	char *name = section ? (char *)elf_sections_copy(sections, section,
							 LINK_MAX_BYTES)
			     : NULL;
	size_t at;

	if (!name)
		return NULL;
	at = (strlen(name) + 4) & ~(size_t)3;
	if (!*name || strchr(name, '/') ||
	    at + sizeof(*checksum) > section->sh_size) {
		free(name);
		return NULL;
	}
	memcpy(checksum, name + at, sizeof(*checksum));
	return name;
}

static bool find_beside(const struct debug_wanted *wanted,
			const struct proof *proof, const char *name,
			struct elf_image *image, struct debug_path *path)
{
	int folder = (int)(strrchr(wanted->path, '/') - wanted->path);
	const char *list = folders();
	struct debug_path debug;

	if (fits(snprintf(path->text, sizeof(path->text), "%.*s/%s", folder,
			  wanted->path, name)) &&
	    try_path(path->text, wanted->pid, proof, image))
		return true;
	if (fits(snprintf(path->text, sizeof(path->text), "%.*s/.debug/%s",
			  folder, wanted->path, name)) &&
	    try_path(path->text, wanted->pid, proof, image))
		return true;
	while (next_folder(&list, &debug)) {
		if (fits(snprintf(path->text, sizeof(path->text), "%s%.*s/%s",
				  debug.text, folder, wanted->path, name)) &&
		    try_roots(path->text, wanted->pid, proof, image))
			return true;
	}
	return false;
}

int debug_file_find(const struct debug_wanted *wanted, struct elf_image *image,
		    struct debug_path *path)
{
	struct proof proof = {.not_inode = wanted->image->inode,
			      .build_id = wanted->image->build_id,
			      .build_id_bytes = wanted->image->build_id_bytes};
	bool is_found = find_by_build_id(wanted->pid, &proof, image, path);
	char *name;

	if (is_found)
		return 0;
	name = read_link(wanted->sections, &proof.checksum);
	proof.has_checksum = true;
	if (name && wanted->path[0] == '/')
		is_found = find_beside(wanted, &proof, name, image, path);
	free(name);
	return is_found ? 0 : -ENOENT;
}

/* Relative paths count from the folder of the debug file. */
static bool find_named(const struct debug_wanted *debug_file, const char *name,
		       const struct proof *proof, struct elf_image *image)
{
	const char *slash = strrchr(debug_file->path, '/');
	struct debug_path path;

	if (name[0] == '/' || !slash)
		return try_roots(name, debug_file->pid, proof, image);
	return fits(snprintf(path.text, sizeof(path.text), "%.*s/%s",
			     (int)(slash - debug_file->path), debug_file->path,
			     name)) &&
	       try_roots(path.text, debug_file->pid, proof, image);
}

int debug_file_alternate(const struct debug_wanted *debug_file)
{
	const Elf64_Shdr *section =
		elf_sections_find(debug_file->sections, ".gnu_debugaltlink");
	uint8_t *link = section ? elf_sections_copy(debug_file->sections,
						    section, LINK_MAX_BYTES)
				: NULL;
	const char *name = (const char *)link;
	struct proof proof = {.has_checksum = false};
	struct elf_image image;
	struct debug_path path;
	bool is_found = false;
	size_t used;

	if (!link)
		return -1;
	used = strlen(name) + 1;
	if (used < section->sh_size) {
		proof.build_id = link + used;
		proof.build_id_bytes = (uint32_t)(section->sh_size - used);
	}
	if (proof.build_id_bytes &&
	    proof.build_id_bytes <= ELF_IMAGE_BUILD_ID_BYTES)
		is_found = find_named(debug_file, name, &proof, &image) ||
			   find_by_build_id(debug_file->pid, &proof, &image,
					    &path);
	free(link);
	return is_found ? image.fd : -1;
}

bool debug_file_has_dwarf(const struct elf_sections *sections)
{
	return elf_sections_find(sections, ".debug_info") ||
	       elf_sections_find(sections, ".zdebug_info");
}
