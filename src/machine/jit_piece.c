/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_piece.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "guard/limits.h"

/* A piece has about so many bytes of the file: its codes take as much memory, for a moment. */
#define PIECE_BYTES ((size_t)1 << 20)

/* ---- in the parser ---- */

/* Takes the whole records of a piece; a record that is larger than a piece is one. */
static size_t feed_piece(struct jitdump *d, const uint8_t *bytes, size_t left, uint64_t at,
			 uint32_t *flags)
{
	size_t size = MIN(left, PIECE_BYTES), used = jitdump_feed(d, bytes, size, at), record;

	if (used || d->is_broken || left <= size)
		return used;
	record = jitdump_record_size(d, bytes, size);
	if (record > JIT_DUMP_RECORD_MAX_BYTES && left > JIT_DUMP_RECORD_MAX_BYTES)
		*flags |= JIT_PIECE_LARGE;
	else if (record <= left)
		used = jitdump_feed(d, bytes, record, at);
	return used;
}

static void put_piece(struct buf *out, struct jit_piece_head *head, const struct jitdump *d)
{
	struct buf text = { 0 };

	head->n = (uint32_t)d->codes.n;
	head->flags |= d->has_header * JIT_PIECE_HEADER | d->is_swapped * JIT_PIECE_SWAPPED |
		       d->is_arch_clock * JIT_PIECE_ARCH_CLOCK | d->is_broken * JIT_PIECE_BROKEN;
	buf_reserve(out, sizeof(*head) + d->codes.n * sizeof(struct jit_piece_code));
	buf_bytes(out, head, sizeof(*head));
	vec_foreach (&d->codes, c) {
		const struct jit_piece_code code = { c->addr,     c->size,  c->from_ns,
						     c->file_off, c->index, (uint32_t)text.len,
						     c->is_move };

		buf_bytes(out, &code, sizeof(code));
		buf_cstr0(&text, strings_get(&d->strings, c->name));
	}
	buf_bytes(out, text.data, text.len);
	buf_fini(&text);
}

static void jit_piece_run(struct parser_job *job)
{
	struct jit_piece_head head = { .end = reader_u64(&job->request) };
	uint64_t seen = reader_u64(&job->request), size = MIN(seen, (uint64_t)job->file->size);
	uint8_t flags = reader_u8(&job->request);
	struct jitdump d;

	jitdump_init(&d);
	d.skips_lines = d.leaves_moves = true;
	d.has_header = flags & JIT_PIECE_HEADER;
	d.is_swapped = flags & JIT_PIECE_SWAPPED;
	d.is_arch_clock = flags & JIT_PIECE_ARCH_CLOCK;
	if (head.end < size) /* nobody has cut the file meanwhile */
		head.end += feed_piece(&d, job->file->base + head.end, size - head.end, head.end,
				       &head.flags);
	put_piece(job->answer, &head, &d);
	jitdump_fini(&d);
}

/* ---- in the process that asks ---- */

static bool is_code_sound(const struct jit_piece_code *c, size_t text_size)
{
	return c->name < text_size && c->addr + c->size >= c->addr &&
	       c->file_off + c->size >= c->file_off && c->is_move <= 1;
}

bool jit_piece_read(struct jit_piece *piece, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const struct jit_piece_head *head = reader_bytes(&r, sizeof(*head));

	if (!head || head->n > reader_left(&r) / sizeof(*piece->codes))
		return false;
	piece->head = *head;
	piece->codes = reader_bytes(&r, head->n * sizeof(*piece->codes));
	piece->text = (const char *)r.at;
	return !head->n || (reader_left(&r) && !piece->text[reader_left(&r) - 1]);
}

static bool jit_piece_check(const void *bytes, size_t size)
{
	struct jit_piece piece;
	size_t text_size;

	if (!jit_piece_read(&piece, bytes, size))
		return false;
	text_size = size - sizeof(piece.head) - piece.head.n * sizeof(*piece.codes);
	for (uint32_t i = 0; i < piece.head.n; i++)
		if (!is_code_sound(&piece.codes[i], text_size))
			return false;
	return true;
}

const struct parser_row jit_piece_row = {
	.name = "piece of a jitdump",
	.run = jit_piece_run,
	.check = jit_piece_check,
	.deadline_ms = 10000,
	.lane = PARSER_LANE_BACK,
};

void jit_piece_add(const struct jit_piece *piece, struct jitdump *d)
{
	for (uint32_t i = 0; i < piece->head.n; i++) {
		const struct jit_piece_code *c = &piece->codes[i];
		const struct jitdump_code code = { .addr = c->addr,
						   .size = c->size,
						   .from_ns = c->from_ns,
						   .file_off = c->file_off,
						   .index = c->index,
						   .is_move = c->is_move };

		jitdump_take(d, &code, piece->text + c->name);
	}
}

int jit_piece_ask(const struct file_mapping *file, uint64_t at, uint32_t flags,
		  struct parser_answer *answer, struct jit_piece *piece)
{
	struct buf request = { 0 };
	const struct parser_question q = { .row = &jit_piece_row,
					   .file = file,
					   .request = &request };
	int r;

	buf_u64(&request, at);
	buf_u64(&request, file->size);
	buf_u8(&request, (uint8_t)flags);
	r = parser_ask(&q, answer, NULL);
	buf_fini(&request);
	if (r < 0)
		return r;
	jit_piece_read(piece, answer->bytes, answer->size); /* it is checked */
	if (piece->head.end >= at && piece->head.end <= file->size)
		return 0;
	parser_answer_fini(answer);
	return -EPROTO;
}
