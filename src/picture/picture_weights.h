/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside picture/: the numbers of a picture. Its tree is complete then. */
#pragma once

#include "picture/picture.h"

/*
 * Adds the entries of a profile, whose nodes are node_of[entry]. Entries of the picture's own
 * profile are added by time, with the losses. Those of a baseline go to `base` of the lane of the
 * same event.
 */
void picture_add_weights(struct picture *pic, const struct profile *p, const uint32_t *node_of);

/* Adds the samples with exact times of the picture's own profile; nodes are node_of[moment]. */
void picture_add_moments(struct picture *pic, const uint32_t *node_of);
