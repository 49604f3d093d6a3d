/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: labels of samples (IMAGE_LABEL_PREFIX in machine/image.h). Their frames are cut
 * off like marks of waits (profile/wakers.h), and become values of keys.
 */
#pragma once

#include "profile/load_part.h"

/*
 * Sets the facts of a sample's labels, texts of p->waker_texts. Frames of labels are those from
 * `node`, the innermost, to `mark`. out->is_label_taken: a filter label: takes one of them.
 */
void labels_describe(struct profile *p, const struct load_part *part, uint32_t node, uint32_t mark,
		     struct profile_waker *out);
