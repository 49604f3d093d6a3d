/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of an image that can be read only while its process lives.
 *
 * The path of a mapping is valid in the process. In a container the same path leads to another file
 * here, or to none; after an upgrade the file is deleted. So at the first sample of an image, its
 * build id is read through /proc/PID/root, /proc/PID/map_files or /proc/PID/exe. An image gets an
 * identity beside it, or instead of it, if the build id alone does not do (machine/image_file.h).
 *
 * The symbols are indexed at once if the path leads to another file here, or the file has no build
 * id. Reports find the index in the cache, or in a folder of the history (`names_dir`).
 */
#pragma once

#include <stdint.h>

#include "base/files/file.h"
#include "event/loss.h"
#include "guard/limits.h"
#include "lang/detect.h"
#include "machine/image_file.h"

/*
 * Finds a path by which a FILE image can be opened now: the path in the process's root, the
 * process's executable, or the plain path on this machine (with `proc` NULL: only this one). The
 * file must be the image's file (machine/image_file.h): a file that was replaced while it ran is
 * found only through /proc/PID. Returns NULL, or a path that the caller frees. If `id` is not NULL,
 * *id gets the file's build id.
 */
char *image_files_find(const char *proc, int32_t pid, const struct image *image,
		       struct build_id *id);

/*
 * As image_files_find(), but also maps the file: *file is the right file even if the path changes
 * later. The caller unmaps *file.
 */
char *image_files_open(const char *proc, int32_t pid, const struct image *image,
		       struct file_mapping *file, struct build_id *id);

/* What a look at the file of an image has found. */
struct image_files_seen {
	struct file_mapping file; /* base NULL: it can't be reached. The caller unmaps it */
	enum image_found where;
	struct build_id build_id;
	enum lang_detected detected; /* LANG_NONE: it is no runtime of a language */
	struct lang_runtime runtime;
	enum loss_reason loss; /* as for image_files_look() */
	bool wants_index;      /* reports may not find its symbols: image_files_look() keeps them */
};

/* The look alone: the image stays as it is. NULL, or a path that the caller frees. */
char *image_files_see(const char *proc, int32_t pid, const struct image *image,
		      struct image_files_seen *out);

/* Whether image_files_keep() takes long: the content is read, or the symbols, of a large file. */
bool image_files_is_large(const struct image_files_seen *seen);

struct image_finder;

/*
 * Calls image_identify() for an image whose file was seen at `path`, and has its symbols indexed if
 * reports may not find them. False: the parser could not read them, or not in its memory. Unmaps
 * the file.
 */
bool image_files_keep(const struct image_finder *finder, int32_t pid, const char *path,
		      struct image *image, struct image_files_seen *seen);

/* Whether the path of an image leads to its file in assay's own root, too. */
enum image_found image_files_found(const struct image *image, const struct file_mapping *file);

struct image_finder {
	const char *proc; /* "/proc" */
	const char
		*names_dir; /* for the symbols of files that reports won't find; NULL: the cache */
};

/*
 * Reads the file of a FILE image, and calls image_identify() for the image. Leaves the image
 * unchanged if the file can't be reached; *loss is the reason if openat2(2) is not available, or
 * the parser can't read the file, else N_LOSS_REASONS. If the file is the runtime of a language,
 * *runtime is filled (lang/detect.h); else the result is LANG_NONE. *lacks_names: the parser could
 * not read the symbols that were to be kept, or not in its memory. Any thread may call it. It may
 * take as long as the file system of the file.
 */
enum lang_detected image_files_look(const struct image_finder *finder, int32_t pid,
				    struct image *image, struct lang_runtime *runtime,
				    enum loss_reason *loss, bool *lacks_names);
