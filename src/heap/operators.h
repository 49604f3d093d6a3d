/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of operator new in C++ libraries. It asks for memory in the name of its caller, so its
 * frame says nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "machine/image.h"

struct operator_range {
	uint64_t start, size;
	image_id image;
};

struct file_jobs;

/* { 0 } is valid and empty. */
struct operators {
	VEC(image_id) images; /* that were looked at */
	VEC(struct operator_range) ranges;
	struct file_jobs *jobs; /* NULL: none yet */
};
void operators_fini(struct operators *o);

/*
 * Whether the code is an operator new of a C++ library, or of a program that has one
 * and a malloc in itself (`has_malloc`). If the image can have one, the first question has its
 * symbols read: from the file that process `pid` has, on a thread of its own. The answer waits
 * OPERATORS_WAIT_NS for it at most.
 */
#define OPERATORS_WAIT_NS UINT64_C(1000000000)
bool operators_has(struct operators *o, const struct image_table *images, int32_t pid,
		   struct code_addr code, bool has_malloc);
