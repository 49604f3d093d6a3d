/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A word in the memory of a process, as it was when something else was read there. As long as all
 * such words are the same, the other memory counts as unchanged. The in-kernel sampler compares
 * them (collect/bpf/java.h). Freestanding.
 */
#pragma once

#include <linux/types.h>

/* Of the 8 bytes at an address, those of `bytes` are as in `value`. Bit 0: the first one. */
struct known_word {
	__u64 at : 56; /* it need not be aligned */
	__u64 bytes : 8;
	__u64 value; /* 0 in its other bytes */
};

#define KNOWN_ALL 0xff

/* Each bit is a byte of the result. */
static inline __u64 known_word_mask(__u64 bytes)
{
	__u64 spread = bytes * 0x0101010101010101ULL & 0x8040201008040201ULL;

	return (((spread + 0x7f7f7f7f7f7f7f7fULL) & 0x8080808080808080ULL) >> 7) * 255;
}

static inline struct known_word known_word(__u64 at, __u64 bytes, __u64 value)
{
	return (struct known_word){ at, bytes, value & known_word_mask(bytes) };
}
