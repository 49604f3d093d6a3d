/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the in-kernel sampler knows the names of labels (labels.h). Freestanding. */
#pragma once

#include <linux/types.h>

#define LABEL_NAME_MAX 32 /* bytes; a label of a longer name is not found */

/* Of a name that zeros fill up. Never 0. */
static inline __attribute__((always_inline)) __u64 label_name_hash(const __u64 *name)
{
	__u64 h = 0;

	for (__u32 i = 0; i < LABEL_NAME_MAX / 8; i++) {
		h ^= name[i];
		h *= 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h | 1;
}
