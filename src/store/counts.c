/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of a block: the samples of each (class, node). */
#include <errno.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "store/block.h"

/* Boyer and Moore's majority vote. */
void period_bases_find(struct period_bases *b, const struct count_row *rows, uint32_t n,
		       const struct profile_class *classes)
{
	*b = (struct period_bases){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		const struct count_row *row = &rows[i];
		uint32_t counter = classes[row->class].counter;
		uint64_t period = row->samples > 1 ? row->period / row->samples
				  : row->samples   ? row->period
						   : 0;

		b->n = MAX(b->n, counter + 1);
		if (!b->votes[counter])
			b->base[counter] = period;
		if (b->base[counter] == period)
			b->votes[counter]++;
		else
			b->votes[counter]--;
	}
}

void period_bases_write(const struct period_bases *b, struct buf *out)
{
	buf_uleb(out, b->n);
	for (uint32_t i = 0; i < b->n; i++)
		buf_uleb(out, b->base[i]);
}

bool period_bases_read(struct period_bases *b, struct reader *r)
{
	uint64_t n = reader_uleb(r);

	*b = (struct period_bases){ 0 };
	if (n > SESSION_COUNTERS_MAX)
		return false;
	b->n = (uint32_t)n;
	for (uint32_t i = 0; i < b->n; i++)
		b->base[i] = reader_uleb(r);
	return !r->bad;
}

/* Sorts rows by node, then by class: the classes of a hot node are adjacent. */
static void sort_rows(struct block_encoder *e, const struct tally *tally, const uint32_t *disk_ids)
{
	block_encoder_reserve(e, tally->n);
	for (uint32_t i = 0; i < tally->n; i++) {
		const struct count_row *row = &tally->rows[i];

		e->items[i].key = (uint64_t)disk_ids[row->node] << 32 | row->class;
		e->items[i].value = i;
	}
	sort_items(e->items, e->scratch, tally->n);
}

static uint32_t key_node(const struct sort_item *item)
{
	return (uint32_t)(item->key >> 32);
}

struct counts_writer {
	struct block_encoder *e;
	const struct counts_frame *f;
	const struct tally *tally;
	const struct profile_class *classes;
	struct period_bases bases;
	uint32_t *places; /* by row of the tally, or NULL */
	uint32_t n_placed;
};

static void place_row(struct counts_writer *w, uint32_t i)
{
	if (w->places)
		w->places[w->e->items[i].value] = w->n_placed++;
}

/*
 * A plain row: a new node with one sample of the usual period in one class. Most leaves are plain.
 */
static bool is_plain(const struct counts_writer *w, uint32_t i)
{
	const struct sort_item *item = &w->e->items[i];
	const struct count_row *row = &w->tally->rows[item->value];

	return key_node(item) >= w->f->first_node && row->samples == 1 &&
	       row->period == w->bases.base[w->classes[row->class].counter] &&
	       (i == 0 || key_node(item - 1) != key_node(item)) &&
	       (i + 1 == w->tally->n || key_node(item + 1) != key_node(item));
}

/* Writes the plain rows: a flag for each new node, and the class of each plain one. */
static void put_plain_rows(struct counts_writer *w, struct buf *out)
{
	struct column *flags = &w->e->columns[0], *class = &w->e->columns[1];
	struct column *counter = &w->e->columns[2];
	uint32_t node = w->f->first_node, end = node + w->f->n_nodes;

	for (uint32_t i = 0; i < w->tally->n; i++) {
		const struct count_row *row = &w->tally->rows[w->e->items[i].value];

		if (!is_plain(w, i))
			continue;
		place_row(w, i);
		for (; node < key_node(&w->e->items[i]); node++)
			column_put(flags, 0);
		column_put(flags, 1);
		node++;
		column_put(class, w->f->n_classes - 1 - row->class);
		column_put(counter, w->classes[row->class].counter);
	}
	for (; node < end; node++)
		column_put(flags, 0);
	column_write(flags, w->e->packer, out);
	column_write(class, w->e->packer, out);
	column_write(counter, w->e->packer, out);
}

static void put_other_rows(struct counts_writer *w, struct buf *out)
{
	struct column *node = &w->e->columns[0], *class = &w->e->columns[1];
	struct column *counter = &w->e->columns[2], *samples = &w->e->columns[3];
	struct column *rest = &w->e->columns[4];
	uint32_t last_node = 0, last_class = 0;

	for (uint32_t i = 0; i < w->tally->n; i++) {
		const struct count_row *row = &w->tally->rows[w->e->items[i].value];
		uint32_t of_counter = w->classes[row->class].counter;
		uint32_t at = key_node(&w->e->items[i]);
		bool is_same = at == last_node && node->tokens.len;

		if (is_plain(w, i))
			continue;
		place_row(w, i);
		column_put(node, at - last_node);
		column_put(class, is_same ? row->class - last_class - 1
					  : w->f->n_classes - 1 - row->class);
		column_put(counter, of_counter);
		column_put(samples, row->samples - 1);
		column_put_signed(rest, (int64_t)(row->period -
						  row->samples * w->bases.base[of_counter]));
		last_node = at;
		last_class = row->class;
	}
	for (int i = 0; i < 5; i++)
		column_write(&w->e->columns[i], w->e->packer, out);
}

void counts_encode(struct block_encoder *e, struct buf *out, const struct counts_frame *f,
		   const struct tally *tally, const struct profile_class *classes,
		   const uint32_t *disk_ids, uint32_t *places)
{
	struct counts_writer w = {
		.e = e, .f = f, .tally = tally, .classes = classes, .places = places
	};

	sort_rows(e, tally, disk_ids);
	period_bases_find(&w.bases, tally->rows, tally->n, classes);
	period_bases_write(&w.bases, out);
	put_plain_rows(&w, out);
	put_other_rows(&w, out);
}

struct counts_parser {
	struct unpacker *u;
	struct reader r;
	const struct counts_frame *f;
	struct period_bases bases;
	struct column_reader columns[5];
	struct count_rows *rows;
	bool bad;
};

static void counts_open_columns(struct counts_parser *p, int first, int end, size_t n)
{
	for (int i = first; i < end; i++) {
		column_open(&p->columns[i], p->u, &p->r, n);
		p->bad |= p->columns[i].bad;
	}
}

static void counts_close_columns(struct counts_parser *p)
{
	for (int i = 0; i < 5; i++) {
		p->bad |= p->columns[i].bad;
		column_close(&p->columns[i]);
	}
}

static void counts_push_row(struct counts_parser *p, uint64_t node, uint64_t class,
			    uint64_t counter, uint64_t samples, uint64_t rest)
{
	if (node >= (uint64_t)p->f->first_node + p->f->n_nodes || class >= p->f->n_classes ||
	    counter >= SESSION_COUNTERS_MAX) {
		p->bad = true;
		return;
	}
	vec_push(p->rows, (struct count_row){ (uint32_t) class, (uint32_t)node, samples,
					      samples * p->bases.base[counter] + rest });
}

/* Sets *n to the number of plain rows. */
static void get_plain_rows(struct counts_parser *p, uint32_t *n)
{
	struct column_reader *flags = &p->columns[0];
	uint64_t last = p->f->n_classes - 1;

	*n = 0;
	counts_open_columns(p, 0, 1, p->f->n_nodes);
	for (size_t i = 0; i < flags->n; i++)
		*n += flags->tokens[i] == 1;
	if (*n > p->f->n_rows)
		p->bad = true;
	if (p->bad)
		return;
	counts_open_columns(p, 1, 3, *n);
	for (uint32_t i = 0; i < p->f->n_nodes && !p->bad; i++)
		if (column_get(flags) == 1)
			counts_push_row(p, p->f->first_node + i, last - column_get(&p->columns[1]),
					column_get(&p->columns[2]), 1, 0);
	counts_close_columns(p);
}

static void get_other_rows(struct counts_parser *p, uint32_t n)
{
	struct column_reader *c = p->columns;
	uint64_t node = 0, class = 0;

	counts_open_columns(p, 0, 5, n);
	for (uint32_t i = 0; i < n && !p->bad; i++) {
		uint64_t step = column_get(&c[0]), of_class = column_get(&c[1]);

		class = i && !step ? class + of_class + 1 : p->f->n_classes - 1 - of_class;
		node += step;
		counts_push_row(p, node, class, column_get(&c[2]), column_get(&c[3]) + 1,
				(uint64_t)column_get_signed(&c[4]));
	}
	counts_close_columns(p);
}

int counts_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		  const struct counts_frame *f, struct count_rows *rows)
{
	struct counts_parser p = { .u = u, .r = reader_over(bytes, size), .f = f, .rows = rows };
	size_t n_before = rows->n;
	uint32_t n_plain = 0;

	if (!vec_try_reserve(rows, rows->n + f->n_rows))
		return -ENOMEM;
	p.bad = !period_bases_read(&p.bases, &p.r);
	if (!p.bad)
		get_plain_rows(&p, &n_plain);
	if (!p.bad)
		get_other_rows(&p, f->n_rows - n_plain);
	counts_close_columns(&p);
	if (p.bad || p.r.bad) {
		rows->n = n_before;
		return -EBADMSG;
	}
	return 0;
}
