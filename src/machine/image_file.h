/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a file is the one that an image stands for.
 *
 * A path does not answer this: another container, or an upgrade, has another file of that path. An
 * image with a build id is any file of that build id. For an image without one, assay knows one of
 * three things: the content that was read while the image ran (IMAGE_DEV_CONTENT); the device and
 * inode; or nothing. Then any file of the path counts as the image.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "machine/image.h"

/* `found`: the build id of the file; len 0 for none. Any thread may call these functions. */
bool image_is_file(const struct image *image, const struct file_mapping *file,
		   const struct build_id *found);

/*
 * Whether the file has the image's device and inode in the kernel's names of mappings. On overlayfs
 * and btrfs, stat(2) gives other numbers; therefore the names of our own mapping are used.
 */
bool image_has_inode_of(const struct image *image, const struct file_mapping *file);

/* Makes the content of a file without a build id the identity of its image. */
void image_set_content(struct image *image, const struct file_mapping *file);

static inline bool image_is_by_content(const struct image *image)
{
	return !image->build_id.len && image->dev == IMAGE_DEV_CONTENT;
}

/* The key of files kept for an image: build id, or content (16 bytes); len 0: neither. */
struct build_id image_cache_key(const struct image *image);

/*
 * The executable mapping of an image in a process: "/proc/PID/map_files/START-END". This is the
 * file itself, even if its path has changed. It is the mapping with the image's device and inode,
 * else with its inode and path. NULL: none. The caller frees the path. Only root can use it.
 */
char *image_map_file(const char *proc, int32_t pid, const struct image *image);
