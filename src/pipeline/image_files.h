/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be read of an image only while its process lives.
 *
 * The path that a mapping has is the process's own: in a container it names
 * another file here, or none, and after an upgrade the file is deleted. So at
 * the first sample of an image its build id, or without one its content, is read as the process
 * sees it (through /proc/PID/root, /proc/PID/map_files or /proc/PID/exe). Its symbols are indexed
 * at once if the path does not lead to the same file from here, or the file has no build id: the
 * index is cached by build id or content, and that is how a report finds it.
 */
#pragma once

#include <stdint.h>

#include "base/files/file.h"
#include "machine/image.h"

/*
 * Where the file of a FILE image can be opened now: by its path as the process
 * sees it, as the process's executable, or by its path from here (proc NULL: only that). The
 * file must be the image's (machine/image_file.h): one that was replaced while it ran is found
 * through /proc/PID or not at all. NULL, or a path that is the caller's to free().
 * *id (of image_files_find(), may be NULL): the build id of what was found.
 */
char *image_files_find(const char *proc, int32_t pid, const struct image *image,
		       struct build_id *id);

/* The same, and *file is that file, whatever the path leads to later: unmap it. */
char *image_files_open(const char *proc, int32_t pid, const struct image *image,
		       struct file_mapping *file, struct build_id *id);

struct image_files;

struct image_files *image_files_new(const char *proc);
void image_files_free(struct image_files *f); /* NULL is fine */

/*
 * Looks at the file of a FILE image. The image gets the file's build id, or without one its
 * content; it stays as it is when the file can't be reached.
 */
void image_files_look(struct image_files *f, int32_t pid, struct image *image);
