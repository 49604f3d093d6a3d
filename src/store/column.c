/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/column.h"

#include <errno.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/reserve.h"

#define FIRST_LEAD_BIT  4  /* of larger values */
#define BITS_IN_TOKEN   2  /* after the leading bit */
#define BYTES_TO_BOTHER 16 /* fewer bytes are smaller without a zstd frame */

struct packer {
	ZSTD_CCtx *zstd;
};

struct packer *packer_new(void)
{
	struct packer *p = xcalloc(1, sizeof(*p));

	p->zstd = mem_or_abort(mem_or_spend(ZSTD_createCCtx()));
	/* The packed size is stored before the frame. Level 3 took more time and more bytes. */
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, 1);
	return p;
}

/*
 * Tokens have few repeats that pay: a search for all of them is worse than their entropy alone. So
 * the best choice of matches counts (btopt), and not the depth of the search. With these small
 * tables, a block of 330,000 nodes takes 70 ms. Level 16 took 260 ms, more memory and more bytes.
 */
static const struct {
	ZSTD_cParameter parameter;
	int value;
} tight[] = {
	{ ZSTD_c_compressionLevel, 16 }, { ZSTD_c_strategy, ZSTD_btopt }, { ZSTD_c_minMatch, 3 },
	{ ZSTD_c_searchLog, 1 },         { ZSTD_c_windowLog, 17 },        { ZSTD_c_hashLog, 8 },
	{ ZSTD_c_chainLog, 8 },
};

void packer_set_tight(struct packer *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(tight); i++)
		ZSTD_CCtx_setParameter(p->zstd, tight[i].parameter, tight[i].value);
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

uint64_t packer_memory(const struct packer *p)
{
	return ZSTD_sizeof_CCtx(p->zstd);
}

static bool all_equal(const uint8_t *bytes, size_t n)
{
	return n > 1 && !memcmp(bytes, bytes + 1, n - 1);
}

static void put_stored(struct buf *out, size_t n, const void *bytes, size_t n_stored)
{
	buf_uleb(out, n);
	buf_uleb(out, n_stored);
	buf_bytes(out, bytes, n_stored);
}

void pack_bytes(struct packer *p, struct buf *out, const void *bytes, size_t n)
{
	struct buf packed = { 0 };
	size_t n_packed;

	if (all_equal(bytes, n)) {
		put_stored(out, n, bytes, 1);
		return;
	}
	if (n < BYTES_TO_BOTHER) {
		put_stored(out, n, bytes, n);
		return;
	}
	buf_reserve(&packed, ZSTD_compressBound(n));
	n_packed = ZSTD_compress2(p->zstd, packed.data, packed.cap, bytes, n);
	if (ZSTD_isError(n_packed) || n_packed >= n)
		put_stored(out, n, bytes, n);
	else
		put_stored(out, n, packed.data, n_packed);
	buf_fini(&packed);
}

void column_fini(struct column *c)
{
	buf_fini(&c->tokens);
	buf_fini(&c->bits.bytes);
	*c = (struct column){ 0 };
}

void column_put_large(struct column *c, uint64_t v)
{
	unsigned int lead = 63 - (unsigned int)__builtin_clzll(v);
	unsigned int n_raw = lead - BITS_IN_TOKEN;

	buf_u8(&c->tokens,
	       (uint8_t)(COLUMN_DIRECT_TOKENS + ((lead - FIRST_LEAD_BIT) << BITS_IN_TOKEN) +
			 ((v >> n_raw) & ((1 << BITS_IN_TOKEN) - 1))));
	bits_put(&c->bits, v, n_raw);
}

void column_clear(struct column *c)
{
	c->tokens.len = 0;
	c->bits.bytes.len = 0;
	c->bits.pending = 0;
	c->bits.n = 0;
}

void column_write(struct column *c, struct packer *p, struct buf *out)
{
	pack_bytes(p, out, c->tokens.data, c->tokens.len);
	bits_flush(&c->bits);
	buf_uleb(out, c->bits.bytes.len);
	buf_bytes(out, c->bits.bytes.data, c->bits.bytes.len);
	column_clear(c);
}

struct unpacker {
	ZSTD_DCtx *zstd;
};

struct unpacker *unpacker_new(void)
{
	struct unpacker *u = xcalloc(1, sizeof(*u));

	u->zstd = mem_or_abort(mem_or_spend(ZSTD_createDCtx()));
	return u;
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u);
}

int unpack_bytes(struct unpacker *u, struct reader *r, size_t limit, uint8_t **out, size_t *n)
{
	uint64_t n_raw = reader_uleb(r), n_stored = reader_uleb(r);
	const uint8_t *stored;
	uint8_t *raw;

	if (r->bad || n_raw > limit || n_stored > n_raw || n_stored > reader_left(r) ||
	    (n_raw && !n_stored))
		return -EBADMSG;
	stored = reader_bytes(r, n_stored);
	raw = mem_try(n_raw + 1, 1);
	if (!raw)
		return -ENOMEM;
	if (n_stored == n_raw) {
		memcpy(raw, stored, n_raw);
	} else if (n_stored == 1) {
		memset(raw, stored[0], n_raw);
	} else if (ZSTD_decompressDCtx(u->zstd, raw, n_raw, stored, n_stored) != n_raw) {
		free(raw);
		return -EBADMSG;
	}
	*out = raw;
	*n = n_raw;
	return 0;
}

void column_open_some(struct column_reader *c, struct unpacker *u, struct reader *r, size_t most)
{
	size_t n_bits;
	const void *bits;

	*c = (struct column_reader){ 0 };
	if (unpack_bytes(u, r, most, &c->tokens, &c->n) < 0) {
		c->bad = true;
		return;
	}
	n_bits = reader_uleb(r);
	bits = reader_bytes(r, n_bits);
	c->bad = r->bad;
	if (!c->bad)
		c->bits = reader_over(bits, n_bits);
}

void column_open(struct column_reader *c, struct unpacker *u, struct reader *r, size_t n)
{
	column_open_some(c, u, r, n);
	c->bad |= c->n != n;
}

void column_close(struct column_reader *c)
{
	free(c->tokens);
	c->tokens = NULL;
	c->n = 0;
}

static uint64_t get_bits(struct column_reader *c, unsigned int n)
{
	uint64_t v = 0;
	unsigned int got = 0;

	if (n < c->n_pending) {
		v = c->pending & ((1ULL << n) - 1);
		c->pending >>= n;
		c->n_pending -= n;
		return v;
	}
	while (got < n) {
		unsigned int take;

		if (!c->n_pending) {
			bool is_word = reader_left(&c->bits) >= 8;

			c->pending = is_word ? reader_u64(&c->bits) : reader_u8(&c->bits);
			c->n_pending = is_word ? 64 : 8;
			if (c->bits.bad) {
				c->bad = true;
				return 0;
			}
		}
		take = MIN(n - got, c->n_pending);
		v |= (take < 64 ? c->pending & ((1ULL << take) - 1) : c->pending) << got;
		c->pending = take < 64 ? c->pending >> take : 0;
		c->n_pending -= take;
		got += take;
	}
	return v;
}

uint64_t column_get_large(struct column_reader *c)
{
	unsigned int token, lead, n_raw;
	uint64_t v;

	if (c->bad || c->at == c->n) {
		c->bad = true;
		return 0;
	}
	token = c->tokens[c->at++];
	if (token < COLUMN_DIRECT_TOKENS)
		return token;
	token -= COLUMN_DIRECT_TOKENS;
	lead = FIRST_LEAD_BIT + (token >> BITS_IN_TOKEN);
	n_raw = lead - BITS_IN_TOKEN;
	v = (1ULL << BITS_IN_TOKEN) | (token & ((1 << BITS_IN_TOKEN) - 1));
	v = (v << n_raw) | get_bits(c, n_raw);
	return c->bad ? 0 : v;
}
