/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a file is the one that an image stands for, and the key of things kept for it.
 *
 * A path does not answer this: another container, or an upgrade, has another file of that path. An
 * image with a build id is any file of that build id, or of its identity if it has one
 * (machine/image.h). For an image without both, assay knows the device and inode, or nothing. Then
 * any file of the path counts as the image.
 *
 * A build id is a claim of the file. So assay believes it only from a *trusted* file: one that only
 * root or assay's own user could have written, and that is at its path in assay's own root. Things
 * made from trusted files are kept under the build id. Things made from others are kept under a key
 * that no other file can have:
 *
 *   trusted               the build id; else the size, beginning and end of the content (XXH3)
 *   on a disk             SHA-256 of device, inode, size and times, which only root can forge
 *   others                SHA-256 of the content; above GUARD_HASH_BYTES there is no key
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "machine/image.h"

/* `found`: the build id of the file; len 0 for none. Any thread may call these functions. */
bool image_is_file(const struct image *image, const struct file_mapping *file,
		   const struct build_id *found);

/* Where a file was found. */
enum image_found {
	IMAGE_AT_ITS_PATH, /* the image's path leads to it in assay's own root */
	IMAGE_HIDDEN,      /* in a container or a sysroot, or deleted */
};

bool image_file_is_trusted(const struct file_mapping *file, enum image_found found);

/*
 * Whether a thing made from a file and from another one (its debug file) may be kept under the
 * file's key. `found` is of both. `other` may be {0}.
 */
bool image_file_may_use(const struct file_mapping *file, const struct file_mapping *other,
			enum image_found found);

/*
 * Gives the image of a file the build id (len 0: none), and the identity that it needs. Reads the
 * file if it is hidden, or not trusted and without a build id.
 */
void image_identify(struct image *image, const struct file_mapping *file,
		    const struct build_id *build_id, enum image_found found);

/* The key of things kept for an image: its build id, or its identity; len 0: only its file has one.
 */
struct build_id image_cache_key(const struct image *image);

/*
 * The key of things kept for a file, with its build id. May read the file. It is
 * image_cache_key() of an image that image_identify() has seen.
 */
struct build_id image_file_key(const struct file_mapping *file, const struct build_id *build_id,
			       enum image_found found);

/*
 * The executable mapping of an image in a process: "/proc/PID/map_files/START-END". This is the
 * file itself, even if its path has changed. It is the mapping with the image's device and inode,
 * else with its inode and path. NULL: none. The caller frees the path. Only root can use it.
 */
char *image_map_file(const char *proc, int32_t pid, const struct image *image);
