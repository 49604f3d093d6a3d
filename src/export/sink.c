/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/sink.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "base/reserve.h"

/* Level 1: profiles are mostly numbers that repeat; higher levels take thrice the time for a tenth.
 */
#define ZIP_LEVEL       1
#define ZIP_WINDOW_GZIP (15 + 16) /* zlib.h, deflateInit2(): 16 more requests a gzip header */
#define ZIP_MEMORY      8

struct sink_zip {
	z_stream stream;
	uint8_t out[64 << 10];
};

void sink_init(struct sink *s, int fd)
{
	*s = (struct sink){ .fd = fd };
}

void sink_gzip(struct sink *s)
{
	assert(!s->zip && !s->buf.len && !s->n_written);
	s->zip = xcalloc(1, sizeof(*s->zip));
	if (deflateInit2(&s->zip->stream, ZIP_LEVEL, Z_DEFLATED, ZIP_WINDOW_GZIP, ZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		s->code = -ENOMEM; /* there is no other reason */
		reserve_count_failure();
	}
}

static void sink_write_all(struct sink *s, const void *bytes, size_t size)
{
	if (s->code)
		return;
	s->code = file_write_all(s->fd, bytes, size);
	if (!s->code)
		s->n_written += size;
}

static void put_zipped(struct sink *s, int flush)
{
	z_stream *z = &s->zip->stream;

	z->next_in = s->buf.data;
	z->avail_in = (unsigned int)s->buf.len;
	do {
		z->next_out = s->zip->out;
		z->avail_out = sizeof(s->zip->out);
		deflate(z, flush); /* fails only for bad arguments */
		sink_write_all(s, s->zip->out, sizeof(s->zip->out) - z->avail_out);
	} while (!z->avail_out);
}

static void sink_drain(struct sink *s, int flush)
{
	if (s->zip && !s->code)
		put_zipped(s, flush);
	else if (!s->zip)
		sink_write_all(s, s->buf.data, s->buf.len);
	s->buf.len = 0;
}

void sink_flush(struct sink *s)
{
	sink_drain(s, Z_NO_FLUSH);
}

int sink_finish(struct sink *s)
{
	sink_drain(s, Z_FINISH);
	if (s->zip)
		deflateEnd(&s->zip->stream);
	free(s->zip);
	buf_fini(&s->buf);
	return s->code;
}
