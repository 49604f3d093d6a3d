/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_draft.h"

struct sequence {
	const struct code_segment *code;
	uint32_t first; /* row */
	uint32_t file_number, file;
	uint32_t limit; /* the end of the unit's code around the last row */
	bool is_open;
};

uint16_t line_discriminator(uint64_t d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return (uint16_t)(d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f);
}

static bool is_same_place(const struct line_place *a, const struct line_place *b)
{
	return a->line == b->line && a->file == b->file && a->column == b->column &&
	       a->discriminator == b->discriminator;
}

uint32_t line_scan_add_place(struct line_places *p, const struct line_place *place)
{
	uint64_t hash = hash_u64((uint64_t)place->file << 32 ^ (uint64_t)place->column << 44 ^
				 (uint64_t)place->discriminator << 52 ^ place->line);
	uint32_t *at = &p->recent[hash % MAX_RECENT_PLACES];

	/* an empty slot has place 0, which is the wanted place or differs from it */
	if (!is_same_place(&p->list.data[*at], place)) {
		*at = (uint32_t)p->list.n;
		vec_push(&p->list, *place);
	}
	return *at;
}

/*
 * The end of the piece of the unit's code around an offset; no limit for an offset outside of all.
 */
static uint32_t limit_of(const struct line_scan *s, uint32_t offset)
{
	size_t low = 0, high = s->covered.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->covered.data[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->covered.n && s->covered.data[low].start <= offset ? s->covered.data[low].end
									  : UINT32_MAX;
}

static void end_run(struct line_scan *s, struct sequence *q, uint32_t end)
{
	uint32_t n = (uint32_t)s->rows.list.n - q->first;
	uint32_t start = n ? s->rows.list.data[q->first].start : 0;

	if (n && end > start)
		vec_push(&s->rows.runs, (struct line_run){ start, end, q->first, n, s->unit });
	q->first = (uint32_t)s->rows.list.n;
}

static void begin_sequence(struct line_scan *s, struct sequence *q, uint64_t addr)
{
	q->is_open = true;
	q->code = line_scan_code_of(s, addr);
	q->first = (uint32_t)s->rows.list.n;
	q->limit = UINT32_MAX;
}

/*
 * A compiler's own functions without lines (gnat's) are in no piece of the unit: the row of the
 * function before them ends there.
 *
 * Of rows with one address, the last one counts; rows that go back do not.
 */
static void add_line_row(struct line_scan *s, struct sequence *q, const struct dwarf_row *row)
{
	struct line_place place = { .line = row->line,
				    .column = row->column,
				    .discriminator = line_discriminator(row->discriminator) };
	struct line_row new, *last;
	uint64_t offset;

	if (!q->code || row->addr - q->code->link_addr >= q->code->size)
		return;
	offset = q->code->offset + (row->addr - q->code->link_addr) - s->base;
	if (offset >= UINT32_MAX)
		return;
	if (offset > q->limit)
		end_run(s, q, q->limit);
	if (s->rows.list.n == q->first || offset >= q->limit)
		q->limit = limit_of(s, (uint32_t)offset);
	if (row->file != q->file_number) {
		q->file_number = row->file;
		q->file = line_scan_file(s, row->file);
	}
	place.file = q->file;
	if (s->rows.list.n > q->first) {
		last = &s->rows.list.data[s->rows.list.n - 1];
		if (offset < last->start ||
		    is_same_place(&place, &s->places.list.data[last->place]))
			return;
		new = (struct line_row){ (uint32_t)offset,
					 line_scan_add_place(&s->places, &place) };
		if (new.start == last->start) {
			*last = new;
			return;
		}
	} else {
		new = (struct line_row){ (uint32_t)offset,
					 line_scan_add_place(&s->places, &place) };
	}
	vec_push(&s->rows.list, new);
}

static void end_sequence(struct line_scan *s, struct sequence *q, uint64_t addr)
{
	uint64_t offset;

	q->is_open = false;
	if (s->rows.list.n == q->first)
		return;
	/* the end is the first address behind the sequence */
	if (addr - q->code->link_addr > q->code->size)
		addr = q->code->link_addr + q->code->size;
	offset = q->code->offset + (addr - q->code->link_addr) - s->base;
	end_run(s, q, (uint32_t)MIN(offset, (uint64_t)q->limit));
}

void line_scan_rows(struct line_scan *s)
{
	struct sequence q = { .file_number = UINT32_MAX };
	struct dwarf_row row;
	uint64_t size = reader_left(&s->lines.program);

	if (size > s->line_budget) {
		s->losses.is_cut = true;
		return;
	}
	s->line_budget -= size;
	while (dwarf_lines_next(&s->lines, &row)) {
		if (row.ends_sequence) {
			if (q.is_open)
				end_sequence(s, &q, row.addr);
			continue;
		}
		if (!q.is_open)
			begin_sequence(s, &q, row.addr);
		add_line_row(s, &q, &row);
	}
	/* without an end: up to its last row */
	if (q.is_open && q.code)
		end_sequence(s, &q, row.addr);
}
