/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the place of an image's file. It is at its path below the symbolizer's root; else
 * it is found by its name in the user's folders.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct build_id;
struct file_mapping;
struct image;
struct symbolizer;

struct listed_file {
	char *path;
	const char *name; /* in path */
};

/* All files below some folders, by name. */
struct image_places {
	VEC(struct listed_file) files;
	VEC(char *) missing; /* given folders that do not exist */
};

/*
 * Lists the files below the folders. A folder is one below `root` if that exists, else the one at
 * its plain path. Links to files count; links to folders are not followed.
 */
void image_places_init(struct image_places *p, const char *root, const char *const *dirs, size_t n);
void image_places_fini(struct image_places *p); /* { 0 } is fine */

/* A file in the form of the search for debug files: below a root, or outside of it (root ""). */
struct image_place {
	char *path;        /* the caller's to free() */
	const char *root;  /* the start of path; "" */
	const char *below; /* the rest of path */
};

/*
 * The file of a FILE image: the one at its path, unless that is of another build and a listed one
 * is of the right build. Among listed files, the one of its build id; without a build id, the only
 * one of the name, or the only one below the root. If there is none, the path where it should be.
 */
struct image_place image_place_find(const struct symbolizer *s, const struct image *image);

/*
 * Whether a file is the image's (machine/image_file.h). Device and inode do not count below a root
 * that the user gave: those files are copies.
 */
bool image_place_is_right(const struct symbolizer *s, const struct image *image,
			  const struct file_mapping *file, const struct build_id *found);
