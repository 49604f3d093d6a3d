/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images in the names of sample files, each once: no two images write to one file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "machine/image.h"
#include "oprofile/store/open_files.h"
#include "oprofile/store/sample_name.h"

/* Anonymous code is cut into regions of 4 GiB, so that an arc's half of a key reaches it. */
#define REGION_MASK 0xffffffffULL

/* An image in the names of files, and the first image of that name. */
struct image_name {
	char *text;
	uint32_t first;
};

struct image_names {
	const struct image_table *images;
	VEC(struct image_name) names; /* by image; without a text: not asked for yet */
	struct strings texts;
	VEC(uint32_t) first_of_text; /* by id: an image */
};

void image_names_init(struct image_names *n, const struct image_table *images);
void image_names_fini(struct image_names *n);

bool image_is_of_kernel(const struct image *image);
bool image_is_anonymous(const struct image *image);

/* Part of a file's key for code of a process. *key: the code's offset in that image. */
struct file_image image_names_part(struct image_names *n, const struct code_addr *code, int32_t pid,
				   uint64_t *key);

/* Part of a file's name, the caller's to free. is_main: of the application. */
struct sample_image_name image_names_of(struct image_names *n, const struct file_image *part,
					bool is_main);

/* The path or name without brackets that names of files have; of two alike, the second's is apart.
 */
const char *image_names_text(struct image_names *n, uint32_t image);
