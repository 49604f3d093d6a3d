/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/body_pack.h"

#include <errno.h>
#include <zstd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "fleet/body_unpack.h"

#define PACK_LEVEL 3

static void zstd_free(ZSTD_CCtx *zstd)
{
	ZSTD_freeCCtx(zstd);
}
DEFINE_AT_EXIT(zstd_free, ZSTD_CCtx)

/* A result of zstd's functions. Stops behind BODY_PACKED_MAX. */
static size_t pack_piece(ZSTD_CCtx *zstd, ZSTD_inBuffer *piece, bool is_last, struct buf *out)
{
	size_t left;

	do {
		ZSTD_outBuffer to = { 0 };

		buf_reserve(out, ZSTD_CStreamOutSize());
		to.dst = out->data + out->len;
		to.size = out->cap - out->len;
		left = ZSTD_compressStream2(zstd, &to, piece,
					    is_last ? ZSTD_e_end : ZSTD_e_continue);
		out->len += to.pos;
	} while (!ZSTD_isError(left) && out->len <= BODY_PACKED_MAX &&
		 (piece->pos < piece->size || (is_last && left)));
	return left;
}

static size_t pack_pieces(ZSTD_CCtx *zstd, const struct file_mapping *file, struct buf *out)
{
	size_t at = 0, result;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, PACK_LEVEL);
	ZSTD_CCtx_setPledgedSrcSize(zstd, file->size);
	do {
		size_t n = piece_size(file->base + at, file->size - at);
		ZSTD_inBuffer piece = { file->base + at, n, 0 };

		result = pack_piece(zstd, &piece, at + n == file->size, out);
		if (file->guard) /* else the bytes are in no file */
			piece_rest(piece.src, n);
		at += n;
	} while (!ZSTD_isError(result) && at < file->size && out->len <= BODY_PACKED_MAX);
	return result;
}

int body_pack(const char *path, struct buf *out, struct error *err)
{
	cleanup(zstd_free_at_exit) ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct file_mapping file;
	size_t result;
	int r = zstd ? file_map(path, &file, err) : error_set(err, -ENOMEM, "no memory for zstd");

	if (r < 0)
		return r;
	result = pack_pieces(zstd, &file, out);
	if (ZSTD_isError(result)) {
		r = error_set(err, -ENOMEM, "cannot pack %s: %s", path, ZSTD_getErrorName(result));
	} else if (file_is_cut(&file)) {
		r = error_set(err, -ESTALE, "%s was cut short while it was packed", path);
	} else if (out->len > BODY_PACKED_MAX || file.size > BODY_UNPACKED_MAX) {
		error_set(err, -EFBIG, "it is larger than a gateway takes");
		r = 1;
	}
	file_unmap(&file);
	return r;
}
