/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/gunzip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/reserve.h"

/* Texts of stacks are packed to a hundredth at best; deflate can do a thousandth. */
#define GROWTH_MAX 200
#define GROWTH_MIN ((size_t)64 << 20)
#define STEP       ((size_t)256 << 10)

bool gunzip_has_magic(const void *bytes, size_t size)
{
	return size >= 2 && !memcmp(bytes, "\x1f\x8b", 2);
}

static int gunzip_starve(struct error *err)
{
	reserve_count_failure();
	return reserve_error(err);
}

/* One call of inflate() into the room behind out->len. */
static int inflate_step(z_stream *z, struct buf *out)
{
	size_t room;
	int r;

	if (out->cap - out->len < STEP / 2) {
		size_t cap = out->len + MAX(STEP, out->len);
		uint8_t *grown = mem_try_grow_(out->data, cap, 1);

		if (!grown)
			return Z_MEM_ERROR;
		out->data = grown;
		out->cap = cap;
	}
	room = MIN(out->cap - out->len, (size_t)1 << 30);
	z->next_out = out->data + out->len;
	z->avail_out = (uInt)room;
	r = inflate(z, Z_NO_FLUSH);
	out->len += room - z->avail_out;
	return r;
}

static int gunzip_unpack(z_stream *z, const uint8_t *bytes, size_t size, size_t limit,
			 struct buf *out, struct error *err)
{
	size_t before = out->len;
	int r = Z_OK;

	z->next_in = (Bytef *)bytes;
	for (;;) {
		size_t left = (size_t)(bytes + size - z->next_in);

		/* Members follow each other; padding of zeros behind the last is common. */
		if (r == Z_STREAM_END && (!left || !*z->next_in))
			return 0;
		if (r == Z_STREAM_END)
			inflateReset(z);
		z->avail_in = (uInt)MIN(left, (size_t)1 << 30);
		r = inflate_step(z, out);
		if (r == Z_MEM_ERROR)
			return gunzip_starve(err);
		if (r != Z_OK && r != Z_STREAM_END)
			return error_set(err, -EBADMSG, "its gzip stream %s at byte %zu",
					 r == Z_BUF_ERROR ? "is cut short" : "is damaged",
					 (size_t)(z->next_in - bytes));
		if (out->len - before > limit)
			return error_set(err, -EFBIG, "it unpacks to more than %zu bytes", limit);
		if (out->len - before > GROWTH_MIN && (out->len - before) / GROWTH_MAX > size)
			return error_set(err, -EFBIG,
					 "it unpacks to more than %d times its size: a gzip bomb?",
					 GROWTH_MAX);
	}
}

int gunzip(const void *bytes, size_t size, size_t limit, struct buf *out, struct error *err)
{
	z_stream z = { 0 };
	int r;

	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) /* 16: gzip's header */
		return gunzip_starve(err);
	r = gunzip_unpack(&z, bytes, size, limit, out, err);
	inflateEnd(&z);
	return r;
}
