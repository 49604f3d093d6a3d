/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/bits.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/mem.h"

static unsigned int bit_length(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

void bits_flush(struct bits_out *b)
{
	for (unsigned int at = 0; at < b->n; at += 8)
		buf_u8(&b->bytes, (uint8_t)(b->pending >> at));
	b->pending = 0;
	b->n = 0;
}

/* The bits from `at` on, of which at least 56 are in the stream. */
static uint64_t bits_ahead(const struct bits_in *b)
{
	uint64_t word;

	memcpy(&word, b->bytes + b->at / 8, sizeof(word));
	return le64toh(word) >> (b->at % 8);
}

static bool has_bits_ahead(const struct bits_in *b)
{
	return b->end - b->at >= 64;
}

uint64_t bits_get(struct bits_in *b, unsigned int n)
{
	uint64_t v = 0;

	if (n > b->end - b->at)
		b->bad = true;
	if (b->bad)
		return 0;
	if (n <= 56 && has_bits_ahead(b)) {
		v = bits_ahead(b) & ((1ULL << n) - 1);
		b->at += n;
		return v;
	}
	for (unsigned int got = 0; got < n; got++, b->at++)
		v |= (uint64_t)(b->bytes[b->at / 8] >> (b->at % 8) & 1) << got;
	return v;
}

unsigned int bits_golomb_size(uint64_t v, unsigned int k)
{
	return 2 * bit_length((v >> k) + 1) - 1 + k;
}

void bits_put_golomb(struct bits_out *b, uint64_t v, unsigned int k)
{
	uint64_t high = (v >> k) + 1, tail;
	unsigned int n = bit_length(high) - 1;

	assert(v < 1ULL << 62 && k <= GOLOMB_ORDER_MAX);
	/* n zeros and a one, the n low bits of `high`, the k low bits of v */
	tail = (v & ((1ULL << k) - 1)) << n | (high & ((1ULL << n) - 1));
	if (2 * n + 1 + k <= 64) {
		bits_put(b, (tail << 1 | 1) << n, 2 * n + 1 + k);
		return;
	}
	bits_put(b, 1ULL << n, n + 1);
	bits_put(b, tail, n + k);
}

uint64_t bits_get_golomb(struct bits_in *b, unsigned int k)
{
	unsigned int n = 0;
	uint64_t high;

	if (has_bits_ahead(b) && bits_ahead(b) << 8) {
		n = (unsigned int)__builtin_ctzll(bits_ahead(b));
		b->at += n + 1;
	} else {
		while (!bits_get(b, 1) && !b->bad)
			n++;
	}
	b->bad |= n + k > 62;
	if (b->bad)
		return 0;
	high = (1ULL << n | bits_get(b, n)) - 1;
	return high << k | bits_get(b, k);
}

void bits_put_below(struct bits_out *b, uint32_t v, uint32_t n)
{
	unsigned int width = bit_length(n - 1);
	uint32_t n_short = (uint32_t)((1ULL << width) - n);

	if (!width)
		return;
	if (v < n_short) {
		bits_put(b, v, width - 1);
		return;
	}
	v += n_short;
	bits_put(b, (uint64_t)(v & 1) << (width - 1) | v >> 1, width);
}

uint32_t bits_get_below(struct bits_in *b, uint32_t n)
{
	unsigned int width = bit_length(n - 1);
	uint32_t n_short = (uint32_t)((1ULL << width) - n), v;

	if (!width)
		return 0;
	v = (uint32_t)bits_get(b, width - 1);
	return v < n_short ? v : (v << 1 | (uint32_t)bits_get(b, 1)) - n_short;
}
