/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address ranges of images, for formats that use one process's addresses.
 *
 * A session has (image, offset) and does not know the address of an image's mapping. Images get
 * ranges one after the other, each as long as the span of its samples' offsets, so that an address
 * has one meaning. Code that is known by its run-time address (JIT, code without an image) keeps
 * it. Code that is known by its name alone (functions of languages) has the numbers of its places.
 */
#pragma once

#include "profile/profile.h"

struct mapping {
	uint32_t image;
	uint64_t start, end; /* addresses */
	uint64_t file_off;   /* offset of `start` in the image */
};

struct mappings {
	VEC(struct mapping) list; /* of images that have places; the main program first */
	uint32_t *of_image;       /* index in list, or NO_INDEX */
	uint32_t *numbers;        /* by place of the profile: its number in its image */
};

/* For a profile with places. */
void mappings_init(struct mappings *m, const struct profile *p);
void mappings_fini(struct mappings *m);

/* NULL for code without an image. */
const struct mapping *mapping_of(const struct mappings *m, uint32_t image);

/* The address of a place, which is one of p->places. */
uint64_t mapping_address(const struct mappings *m, const struct profile *p,
			 const struct profile_place *place);
