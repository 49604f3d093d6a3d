/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/bits.h"

#include <assert.h>

#include "base/mem.h"

static unsigned int bit_length(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

void bits_put(struct bits_out *b, uint64_t v, unsigned int n)
{
	while (n) {
		unsigned int take = MIN(n, 8 - b->n);

		b->pending |= (v & ((1u << take) - 1)) << b->n;
		b->n += take;
		n -= take;
		v >>= take;
		if (b->n == 8)
			bits_flush(b);
	}
}

void bits_flush(struct bits_out *b)
{
	if (b->n)
		buf_u8(b->out, (uint8_t)b->pending);
	b->pending = 0;
	b->n = 0;
}

uint64_t bits_get(struct bits_in *b, unsigned int n)
{
	uint64_t v = 0;

	if (n > b->end - b->at)
		b->bad = true;
	if (b->bad)
		return 0;
	for (unsigned int got = 0; got < n;) {
		unsigned int skip = b->at % 8, take = MIN(n - got, 8 - skip);
		uint64_t part = ((uint64_t)b->bytes[b->at / 8] >> skip) & ((1u << take) - 1);

		v |= part << got;
		got += take;
		b->at += take;
	}
	return v;
}

unsigned int bits_golomb_size(uint64_t v, unsigned int k)
{
	return 2 * bit_length((v >> k) + 1) - 1 + k;
}

void bits_put_golomb(struct bits_out *b, uint64_t v, unsigned int k)
{
	uint64_t high = (v >> k) + 1;
	unsigned int n = bit_length(high) - 1;

	assert(v < 1ULL << 62 && k <= GOLOMB_ORDER_MAX);
	bits_put(b, 1ULL << n, n + 1);
	bits_put(b, high, n);
	bits_put(b, v, k);
}

uint64_t bits_get_golomb(struct bits_in *b, unsigned int k)
{
	unsigned int n = 0;
	uint64_t high;

	while (!bits_get(b, 1) && !b->bad)
		n++;
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
	bits_put(b, (v + n_short) >> 1, width - 1);
	bits_put(b, (v + n_short) & 1, 1);
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
