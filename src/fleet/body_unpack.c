/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/body_unpack.h"

#include <errno.h>
#include <stdio.h>
#include <zstd.h>

#include "base/mem.h"

/* Unpacks one step more. 1: all is unpacked. */
static int unpack_step(ZSTD_DCtx *zstd, ZSTD_inBuffer *in, struct buf *out, size_t most, char *why)
{
	uint8_t piece[65536];
	ZSTD_outBuffer o = { piece, sizeof(piece), 0 };
	size_t left = ZSTD_decompressStream(zstd, &o, in);

	if (ZSTD_isError(left)) {
		snprintf(why, BODY_WHY_SIZE, "zstd can't unpack it: %s", ZSTD_getErrorName(left));
		return -EBADMSG;
	}
	if (out->len + o.pos > most) {
		snprintf(why, BODY_WHY_SIZE,
			 "it unpacks to more than 64 MiB, or to more than %d times its size",
			 BODY_RATIO_MAX);
		return -EFBIG;
	}
	buf_bytes(out, piece, o.pos);
	if (left && (in->pos < in->size || o.pos == o.size))
		return 0;
	if (!left && in->pos == in->size)
		return 1;
	snprintf(why, BODY_WHY_SIZE, left ? "its end is missing" : "bytes follow its end");
	return -EBADMSG;
}

static int unpack(const struct file_mapping *file, struct buf *out, char *why)
{
	ZSTD_inBuffer in = { file->base, file->size, 0 };
	size_t most = out->len + MIN(BODY_UNPACKED_MAX, file->size * BODY_RATIO_MAX);
	ZSTD_DCtx *zstd = mem_or_abort(ZSTD_createDCtx());
	int r = 0;

	/* A window is memory that the frame's header chooses. */
	ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 26);
	while (!r)
		r = unpack_step(zstd, &in, out, most, why);
	ZSTD_freeDCtx(zstd);
	return MIN(r, 0);
}

int body_unpack(const struct file_mapping *file, bool is_packed, struct buf *out,
		char why[static BODY_WHY_SIZE])
{
	size_t before = out->len, size;
	int r = is_packed ? unpack(file, out, why) : 0;

	if (r < 0)
		return r;
	size = is_packed ? out->len - before : file->size;
	if (size > BODY_UNPACKED_MAX) {
		snprintf(why, BODY_WHY_SIZE, "it has more than 64 MiB");
		return -EFBIG;
	}
	if (!size) {
		snprintf(why, BODY_WHY_SIZE, "it is empty");
		return -EBADMSG;
	}
	return 0;
}
