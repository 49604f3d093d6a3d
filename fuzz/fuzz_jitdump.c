/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A jitdump, which any process may write as it likes: whole, in two pieces, and by the parser's
 * questions; its index and lines.
 */
#include <string.h>

#include "foreign/jitdump.h"
#include "machine/jit_index.h"
#include "machine/jit_piece.h"
#include "symbol/lines/line_dump.h"

static size_t feed_all(struct jitdump *d, const uint8_t *data, size_t size, size_t piece)
{
	size_t at = 0;

	for (size_t end = piece; at < size && !d->is_broken; end = size) {
		size_t n = jitdump_feed(d, data + at, end - at, at);

		at += n;
		if (end == size && !n)
			break;
	}
	return at;
}

/* At the time and place of each code, there is this code or a newer one of that time. */
static void check_index(const struct jitdump *d)
{
	struct jit_index x = { 0 };

	jit_index_add(&x, d);
	vec_foreach (&d->codes, c) {
		const struct jitdump_code *found;

		if (!c->size)
			continue;
		found = jit_index_find(&x, d, c->addr + c->size / 2, c->from_ns);
		if (!found || found < c || found->from_ns != c->from_ns ||
		    c->addr + c->size / 2 - found->addr >= found->size)
			abort();
	}
	jit_index_fini(&x);
}

/* As jit_reader.h asks. Codes are the same and in the same order. */
static void compare_with_answers(const struct jitdump *whole, const uint8_t *data, size_t size)
{
	const struct file_mapping file = { .base = data, .size = size };
	struct parser_answer answer;
	struct jit_piece piece = { 0 };
	struct jitdump d;
	uint64_t at;

	jitdump_init(&d);
	do {
		at = piece.head.end;
		if (jit_piece_ask(&file, at, piece.head.flags, &answer, &piece) < 0)
			abort();
		jit_piece_add(&piece, &d);
		parser_answer_fini(&answer);
	} while (piece.head.end > at);
	if (d.codes.n != whole->codes.n)
		abort();
	vec_foreach (&d.codes, c) {
		const struct jitdump_code *o = &whole->codes.data[c - d.codes.data];

		if (c->addr != o->addr || c->size != o->size || c->from_ns != o->from_ns ||
		    c->file_off != o->file_off || c->index != o->index ||
		    strcmp(strings_get(&d.strings, c->name), strings_get(&whole->strings, o->name)))
			abort();
	}
	jitdump_fini(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump whole, pieces;
	size_t block_size;

	jitdump_init(&whole);
	jitdump_init(&pieces);
	feed_all(&whole, data, size, size);
	feed_all(&pieces, data, size, size / 2);
	/* Pieces say the same, and no code lies outside of the file. */
	if (whole.codes.n != pieces.codes.n || whole.lines.n != pieces.lines.n)
		abort();
	vec_foreach (&whole.codes, c)
		if (c->file_off + c->size > size || c->first_line + c->n_lines > whole.lines.n)
			abort();
	check_index(&whole);
	compare_with_answers(&whole, data, size);
	free(line_dump_make(data, size, &block_size));
	jitdump_fini(&whole);
	jitdump_fini(&pieces);
	return 0;
}
