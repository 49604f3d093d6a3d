/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers in few bits, for columns (store/column.h) and for the exact times of samples
 * (store/times.h). A second has some hundred samples, too few to learn from them how to pack them.
 * So the codes need no tables.
 *
 * The stream begins at the low bit of its first byte, and ends with zeros.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"

struct bits_out {
	struct buf bytes;
	uint64_t pending; /* bits that do not fill a word yet … */
	unsigned int n;   /* … and their number, below 64 */
};

struct bits_in {
	const uint8_t *bytes;
	uint64_t at, end; /* in bits */
	bool bad;         /* read past the end: all reads return 0 */
};

/* The low n bits of v; n is at most 64. */
static inline void bits_put(struct bits_out *b, uint64_t v, unsigned int n)
{
	unsigned int n_fitting = 64 - b->n;

	if (n < 64)
		v &= (1ULL << n) - 1;
	b->pending |= v << b->n;
	b->n += n;
	if (n < n_fitting)
		return;
	buf_u64(&b->bytes, b->pending);
	b->n = n - n_fitting;
	b->pending = b->n ? v >> n_fitting : 0;
}

/* Appends the pending bits to the bytes, with zeros up to the end of the last byte. */
void bits_flush(struct bits_out *b);

uint64_t bits_get(struct bits_in *b, unsigned int n);

/*
 * Exponential Golomb code of order k: short for numbers of about 2^k, and not too long for others.
 * bits_golomb_size() is the number of bits. v must be below 2^62.
 */
#define GOLOMB_ORDER_MAX 40
void bits_put_golomb(struct bits_out *b, uint64_t v, unsigned int k);
uint64_t bits_get_golomb(struct bits_in *b, unsigned int k);
unsigned int bits_golomb_size(uint64_t v, unsigned int k);

/* Truncated binary code: v is below n, and all v are equally likely. */
void bits_put_below(struct bits_out *b, uint32_t v, uint32_t n);
uint32_t bits_get_below(struct bits_in *b, uint32_t n);
