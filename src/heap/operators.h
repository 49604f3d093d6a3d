/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of operator new in C++ libraries. It asks for memory in the name of its caller, so its
 * frame says nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"
#include "machine/image.h"

struct operator_range {
	uint64_t start, size;
	image_id image;
};

/* { 0 } is valid and empty. */
struct operators {
	VEC(image_id) images; /* that were looked at */
	VEC(struct operator_range) ranges;
};
void operators_fini(struct operators *o);

/*
 * Whether the code is an operator new of a C++ library. The first question about an image reads its
 * symbols, if its name is that of such a library.
 */
bool operators_has(struct operators *o, const struct image_table *images, struct code_addr code);
