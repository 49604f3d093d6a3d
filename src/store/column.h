/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed columns of numbers.
 *
 * A number becomes a one-byte token and some raw bits. A value below 16 is its own token. For a
 * larger value, the token holds the position of the leading bit and the next two bits; the
 * remaining bits go to the bit stream. Tokens are distributed unevenly, so zstd packs them well.
 * The low bits of addresses are almost random, so compressing them gains nothing. Layout:
 * docs/formats.md.
 *
 * Not safe for threads: each thread needs its own packer or unpacker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"
#include "store/bits.h"

#define COLUMN_DIRECT_TOKENS 16 /* smaller values are their own token */

/* Compression state. It lives for many blocks, because making it costs more than using it. */
struct packer;

struct packer *packer_new(void);
void packer_free(struct packer *p);
uint64_t packer_memory(const struct packer *p);

/*
 * From now on, it packs tokens to an eighth less, and takes twenty times as long: for data that go
 * over a network.
 */
void packer_set_tight(struct packer *p);

/* Appends n packed bytes to *out: their number, the number of stored bytes, the stored bytes. */
void pack_bytes(struct packer *p, struct buf *out, const void *bytes, size_t n);

struct column {
	struct buf tokens;
	struct bits_out bits;
};

void column_fini(struct column *c);
void column_put_large(struct column *c, uint64_t v); /* a value that is no direct token */

static inline void column_put(struct column *c, uint64_t v)
{
	if (v < COLUMN_DIRECT_TOKENS)
		buf_u8(&c->tokens, (uint8_t)v);
	else
		column_put_large(c, v);
}

/* zigzag */
static inline void column_put_signed(struct column *c, int64_t v)
{
	column_put(c, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void column_clear(struct column *c);

/* Appends the packed column to *out and empties it for the next use. */
void column_write(struct column *c, struct packer *p, struct buf *out);

/* Decompression state of one reader. */
struct unpacker;

struct unpacker *unpacker_new(void);
void unpacker_free(struct unpacker *u);

/*
 * Unpacks the next bytes into *out, which the caller frees. -EBADMSG: they do not unpack, or they
 * are more than `limit` bytes. Never allocates more than `limit`.
 */
int unpack_bytes(struct unpacker *u, struct reader *r, size_t limit, uint8_t **out, size_t *n);

struct column_reader {
	uint8_t *tokens;
	size_t n, at;
	struct reader bits;
	uint64_t pending;
	unsigned int n_pending;
	bool bad; /* damaged or read past the end: all reads return 0 */
};

/* Starts the next column, which must hold exactly n numbers, or at most `most` numbers. */
void column_open(struct column_reader *c, struct unpacker *u, struct reader *r, size_t n);
void column_open_some(struct column_reader *c, struct unpacker *u, struct reader *r, size_t most);
void column_close(struct column_reader *c);
uint64_t column_get_large(struct column_reader *c); /* column_get() for values that are no direct
						     * token */

static inline uint64_t column_get(struct column_reader *c)
{
	if (!c->bad && c->at < c->n && c->tokens[c->at] < COLUMN_DIRECT_TOKENS)
		return c->tokens[c->at++];
	return column_get_large(c);
}

static inline int64_t column_get_signed(struct column_reader *c)
{
	uint64_t v = column_get(c);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
