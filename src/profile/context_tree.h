/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts of the nodes of a call tree. Inside profile/. */
#pragma once

#include <stdint.h>

#include "profile/context.h"

struct profile;
struct segment;

/*
 * By node of the segment, the context of a sample that ended there, in a process other than the
 * idle task. `images` are the profile's, by image of the segment. The caller's to free().
 */
uint8_t *segment_contexts(struct profile *p, const struct segment *segment, const uint32_t *images);
