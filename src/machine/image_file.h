/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a file is the one that an image stands for.
 *
 * A path does not tell this: another container, or an upgrade, has another file of that path. An
 * image with a build id is any file of that build id. Of an image without one, three things may be
 * known: its content (IMAGE_DEV_CONTENT), as somebody could read it while it ran; only its device
 * and inode; or nothing, and then any file of the path is taken for it.
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
 * Whether the file has the device and inode of the image as the kernel names mappings. stat(2) has
 * others on overlayfs and btrfs, so this asks for the names of our own mapping.
 */
bool image_has_inode_of(const struct image *image, const struct file_mapping *file);

/* Makes the content of a file without a build id the identity of its image. */
void image_set_content(struct image *image, const struct file_mapping *file);

static inline bool image_is_by_content(const struct image *image)
{
	return !image->build_id.len && image->dev == IMAGE_DEV_CONTENT;
}

/*
 * What files that are kept for an image are named by: its build id, or (16 bytes) its content;
 * len 0 for neither.
 */
struct build_id image_cache_key(const struct image *image);

/*
 * The executable mapping of an image in a process: "/proc/PID/map_files/START-END", which is the
 * file itself, however its path has changed. It is the mapping of the image's device and inode,
 * else of its inode and path. NULL, or the caller's to free(). It is for root.
 */
char *image_map_file(const char *proc, int32_t pid, const struct image *image);
