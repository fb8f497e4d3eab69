/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens mapped files.
 * Runs on: the exporter's main thread.
 */
#include "exporter/elf_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exporter/regular_file.h"

bool elf_identity_matches(const struct elf_identity *identity,
			  const struct elf_image *image)
{
	if (!identity->build_id_bytes)
		return image->inode == identity->inode;
	return image->build_id_bytes == identity->build_id_bytes &&
	       memcmp(image->build_id, identity->build_id,
		      image->build_id_bytes) == 0;
}

static int take_if_right(struct elf_image *image,
			 const struct elf_identity *identity, int error)
{
	if (error)
		return error;
	if (elf_identity_matches(identity, image))
		return 0;
	elf_image_close(image);
	return -ESTALE;
}

static int open_in_root(struct elf_image *image,
			const struct elf_identity *identity)
{
	return take_if_right(
		image, identity,
		elf_image_open_fd(image,
				  regular_file_open_in(identity->pid,
						       identity->path, false)));
}

static int open_exe(struct elf_image *image,
		    const struct elf_identity *identity)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/exe", identity->pid);
	return take_if_right(image, identity, elf_image_open(image, path));
}

static int open_mapping(struct elf_image *image,
			const struct elf_identity *identity)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
		 identity->pid, identity->start, identity->end);
	return take_if_right(image, identity, elf_image_open(image, path));
}

/* Where only the inode tells which file it is, the name of a deleted one may
 * stand for another that got its inode. */
static int open_by_name(struct elf_image *image,
			const struct elf_identity *identity)
{
	if (identity->is_deleted && !identity->build_id_bytes)
		return -ENOENT;
	return take_if_right(image, identity,
			     elf_image_open(image, identity->path));
}

int elf_source_open(struct elf_image *image,
		    const struct elf_identity *identity, bool *is_in_root)
{
	int error = open_by_name(image, identity);
	int other;

	*is_in_root = false;
	if (!error || !identity->pid || identity->path[0] != '/')
		return error;
	other = open_in_root(image, identity);
	*is_in_root = !other;
	if (other)
		other = open_exe(image, identity);
	if (other)
		other = open_mapping(image, identity);
	return other ? error : 0;
}
