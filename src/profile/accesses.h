/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: memory accesses (IMAGE_ACCESS_PATH in machine/image.h). Their marks are cut off
 * like those of waits (profile/wakers.h), and become values of keys.
 */
#pragma once

#include "profile/load_part.h"

/* The variable of an address without one, in a file. */
#define ACCESS_NO_SYMBOL "(no symbols)"

/* Sets the facts of an access, texts of p->waker_texts: `mark` is its mark, `node` the innermost.
 */
void access_describe(struct profile *p, const struct load_part *part, uint32_t node, uint32_t mark,
		     struct profile_waker *out);
