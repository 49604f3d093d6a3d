/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside report/: the numbers of a picture, once its tree stands. */
#pragma once

#include "picture/picture.h"

/*
 * Adds the entries of a profile, whose nodes are node_of[entry]: the picture's own profile by
 * time, with what was lost; a baseline's as `base`, lane by lane of the same event.
 */
void picture_add_weights(struct picture *pic, const struct profile *p, const uint32_t *node_of);
