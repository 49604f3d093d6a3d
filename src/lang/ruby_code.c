/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby's line tables. An index finds the entry of a position (iseq.c, "succinct"): 7 bits for each
 * of the first positions; then blocks with a bit for each position that begins an entry, and with
 * the number of entries before.
 */
#include <string.h>

#include "base/mem.h"
#include "lang/code.h"
#include "lang/ruby.h"

#define BITS_FIRST     7
#define FIRST_IN_WORD  9
#define RANK_BITS      9 /* in a block, before each 64 positions but the first ones */
#define BLOCK_RANKS_AT 8
#define BLOCK_BITS_AT  16

static uint64_t word_of(const uint8_t *index, uint32_t size, uint32_t at)
{
	uint64_t word = 0;

	if (at + sizeof(word) <= size)
		memcpy(&word, index + at, sizeof(word));
	return word;
}

/* The number of the entry, from 1; 0: the index does not have it. */
static uint64_t entry_of(const uint8_t *index, uint32_t size, uint32_t position)
{
	uint32_t block, in_block, part;
	uint64_t ranks, bits, rank;

	if (position < RUBY_INDEX_FIRST)
		return word_of(index, size, position / FIRST_IN_WORD * 8) >>
			       BITS_FIRST * (position % FIRST_IN_WORD) &
		       ((1u << BITS_FIRST) - 1);
	position -= RUBY_INDEX_FIRST;
	block = RUBY_INDEX_BLOCKS + position / RUBY_BLOCK_COVERS * RUBY_INDEX_BLOCK;
	if (block + RUBY_INDEX_BLOCK > size)
		return 0;
	in_block = position % RUBY_BLOCK_COVERS;
	part = in_block / 64;
	rank = word_of(index, size, block) & UINT32_MAX;
	ranks = word_of(index, size, block + BLOCK_RANKS_AT);
	bits = word_of(index, size, block + BLOCK_BITS_AT + 8 * part);
	if (part)
		rank += ranks >> RANK_BITS * (part - 1) & ((1u << RANK_BITS) - 1);
	return rank + (uint64_t)__builtin_popcountll(bits << (63 - in_block % 64));
}

uint32_t ruby_line(const struct lang_code *code, uint32_t position)
{
	uint32_t size = MIN(code->n_lines, (uint32_t)LANG_LINES_MAX), line = 0;
	const uint8_t *index = code->lines + sizeof(struct ruby_index);
	struct ruby_index head;
	uint64_t entry = 1, at;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, code->lines, sizeof(head));
	size -= sizeof(head);
	if (head.index_size > size || position >= head.n_positions)
		return 0;
	if (head.n_entries != 1)
		entry = entry_of(index, head.index_size, position);
	if (!entry || entry > head.n_entries)
		return 0;
	at = head.index_size + (entry - 1) * head.entry_size;
	if (at + sizeof(line) > size)
		return 0;
	memcpy(&line, index + at, sizeof(line));
	return line;
}
