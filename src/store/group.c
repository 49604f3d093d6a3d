/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/group.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/recent.h"
#include "store/row_sort.h"

/* The columns of seconds, of losses and of rows. */
enum { FIRST, SPAN, SAMPLES, ROWS, LOSSES, N_SECOND_COLUMNS };
enum { REASON, COUNTER, NUMBER, N_LOSS_COLUMNS };
enum { NODE, PLACE, CLASS, OF_COUNTER, COUNT, REST, LEFT, N_ROW_COLUMNS };
_Static_assert(N_ROW_COLUMNS <= BLOCK_COLUMNS, "the encoder's columns serve for all");

void group_add(struct group *g, const struct group_second *second, const struct count_row *rows,
	       const struct loss_row *losses)
{
	vec_push(&g->seconds, *second);
	vec_reserve(&g->rows, g->rows.n + second->n_rows);
	if (second->n_rows)
		memcpy(g->rows.data + g->rows.n, rows, second->n_rows * sizeof(*rows));
	g->rows.n += second->n_rows;
	for (uint32_t i = 0; i < second->n_losses; i++)
		vec_push(&g->losses, losses[i]);
}

void group_add_time(struct group *g, const struct timed_sample *time)
{
	vec_push(&g->times, *time);
	g->seconds.data[g->seconds.n - 1].n_times++;
}

void group_clear(struct group *g)
{
	g->seconds.n = g->rows.n = g->losses.n = g->times.n = 0;
}

void group_fini(struct group *g)
{
	vec_fini(&g->seconds);
	vec_fini(&g->rows);
	vec_fini(&g->losses);
	vec_fini(&g->times);
}

uint64_t group_memory(const struct group *g)
{
	return g->seconds.cap * sizeof(*g->seconds.data) + g->rows.cap * sizeof(*g->rows.data) +
	       g->losses.cap * sizeof(*g->losses.data) + g->times.cap * sizeof(*g->times.data);
}

/* ---- writing ---- */

static void write_columns(struct block_encoder *e, struct buf *out, int n)
{
	for (int i = 0; i < n; i++)
		column_write(&e->columns[i], e->packer, out);
}

static void put_seconds(struct block_encoder *e, struct buf *out, const struct group_frame *f,
			const struct group *g)
{
	struct column *c = e->columns;
	uint64_t last_ns = f->first_ns;

	buf_uleb(out, g->level_ns / NS_PER_SECOND);
	buf_uleb(out, g->next_class);
	buf_uleb(out, g->seconds.n);
	vec_foreach (&g->seconds, s) {
		column_put_signed(&c[FIRST], (int64_t)(s->first_ns - last_ns));
		column_put(&c[SPAN], s->last_ns - s->first_ns);
		column_put(&c[SAMPLES], s->samples);
		column_put(&c[ROWS], s->n_rows);
		column_put(&c[LOSSES], s->n_losses);
		last_ns = s->last_ns;
	}
	write_columns(e, out, N_SECOND_COLUMNS);
	vec_foreach (&g->losses, loss) {
		column_put(&c[REASON], loss->reason);
		column_put(&c[COUNTER], loss->counter + 1); /* "all", UINT32_MAX, becomes 0 */
		column_put(&c[NUMBER], loss->n);
	}
	write_columns(e, out, N_LOSS_COLUMNS);
}

/*
 * Sorts by node, then by class, as near nodes of the tree have near numbers. Rows of an overview
 * are sorted by class first. A node has many classes there, and most of the time would go into
 * finding each of them in the list of recent ones.
 */
static void sort_second(struct block_encoder *e, struct count_row *rows, uint32_t n,
			const uint32_t *disk_ids, bool by_class)
{
	cleanup(free_at_exit) struct count_row *old = NULL;

	if (e->is_modest) {
		rows_sort(rows, n, disk_ids, by_class);
		return;
	}
	old = xmalloc((n + 1) * sizeof(*old));
	block_encoder_reserve(e, n);
	if (n)
		memcpy(old, rows, n * sizeof(*old));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t node = disk_ids[old[i].node], class = old[i].class;

		e->items[i] =
			(struct sort_item){ by_class ? class << 32 | node : node << 32 | class, i };
	}
	sort_items(e->items, e->scratch, n);
	for (uint32_t i = 0; i < n; i++)
		rows[i] = old[e->items[i].value];
}

/* After sort_second(): the times refer to the rows in their new order. */
static void follow_rows(const struct block_encoder *e, uint32_t n, struct timed_sample *times,
			uint32_t n_times)
{
	cleanup(free_at_exit) uint32_t *places = xmalloc((n + 1) * sizeof(*places));

	for (uint32_t i = 0; i < n; i++)
		places[e->items[i].value] = i;
	for (uint32_t i = 0; i < n_times; i++)
		times[i].row = places[times[i].row];
}

/*
 * Packs a class as its place among the recently used ones, or as its difference to the newest one.
 */
struct class_model {
	struct recent recent;
	uint32_t next; /* one more than the highest class so far */
};

static void put_class(struct block_encoder *e, struct class_model *m, uint32_t class)
{
	uint32_t place = recent_place(&m->recent, class);

	column_put(&e->columns[PLACE], place + 1); /* RECENT_NONE becomes 0 */
	if (place == RECENT_NONE)
		column_put_signed(&e->columns[CLASS], (int64_t) class - m->next);
	m->next = MAX(m->next, class + 1);
}

/* Packs events in units. The rest of the division is added to the counter's next row. */
struct event_units {
	struct period_bases bases;
	uint64_t unit[SESSION_COUNTERS_MAX], left[SESSION_COUNTERS_MAX];
	bool has_rows[SESSION_COUNTERS_MAX]; /* in this second */
};

static void units_find(struct event_units *u, const struct group *g,
		       const struct profile_class *classes)
{
	*u = (struct event_units){ 0 };
	period_bases_find(&u->bases, g->rows.data, (uint32_t)g->rows.n, classes);
	for (uint32_t c = 0; c < u->bases.n; c++) {
		u->unit[c] = 1;
		if (!g->has_rate || !g->has_rate[c] || u->bases.base[c] < EVENTS_UNITS)
			continue;
		u->unit[c] = u->bases.base[c] / EVENTS_UNITS;
		u->bases.base[c] = u->unit[c] * EVENTS_UNITS;
	}
}

static void units_write(const struct event_units *u, struct buf *out)
{
	period_bases_write(&u->bases, out);
	for (uint32_t c = 0; c < u->bases.n; c++)
		buf_uleb(out, u->unit[c]);
}

/* Returns the row's events beyond its base period, in units, with the rest of the rows before. */
static int64_t units_rest(struct event_units *u, uint32_t counter, const struct count_row *row)
{
	uint64_t unit = u->unit[counter], base = row->samples * u->bases.base[counter];
	uint64_t events = row->period + u->left[counter];

	if (unit == 1)
		return (int64_t)(row->period - base);
	u->left[counter] = events % unit;
	u->has_rows[counter] = true;
	return (int64_t)(events / unit) - (int64_t)(base / unit);
}

/* Writes the rest at the end of a second; it belongs to the last row of each counter. */
static void put_left(struct block_encoder *e, struct event_units *u)
{
	for (uint32_t c = 0; c < u->bases.n; c++) {
		if (u->has_rows[c])
			column_put(&e->columns[LEFT], u->left[c]);
		u->left[c] = 0;
		u->has_rows[c] = false;
	}
}

static void put_row(struct block_encoder *e, struct event_units *u, const struct count_row *row,
		    uint32_t counter)
{
	column_put(&e->columns[OF_COUNTER], counter);
	column_put(&e->columns[COUNT], row->samples - 1);
	column_put_signed(&e->columns[REST], units_rest(u, counter, row));
}

static void put_rows(struct block_encoder *e, struct buf *out, struct group *g,
		     const struct profile_class *classes, const uint32_t *disk_ids)
{
	struct event_units *units = xmalloc(sizeof(*units));
	struct class_model model = { .next = g->next_class };
	struct count_row *row = g->rows.data;
	struct timed_sample *times = g->times.data;

	units_find(units, g, classes);
	units_write(units, out);
	vec_foreach (&g->seconds, s) {
		struct count_row *first = row, *end = row + s->n_rows;
		uint32_t last = 0;

		sort_second(e, row, s->n_rows, disk_ids, g->level_ns > 0);
		if (s->n_times)
			follow_rows(e, s->n_rows, times, s->n_times);
		times += s->n_times;
		for (; row < end; row++) {
			if (g->level_ns && row > first && row->class != row[-1].class)
				last = 0;
			column_put(&e->columns[NODE], disk_ids[row->node] - last);
			last = disk_ids[row->node];
			put_class(e, &model, row->class);
			put_row(e, units, row, classes[row->class].counter);
		}
		put_left(e, units);
	}
	write_columns(e, out, N_ROW_COLUMNS);
	g->next_class = model.next;
	recent_fini(&model.recent);
	free(units);
}

void group_encode(struct block_encoder *e, struct buf *out, const struct group_frame *f,
		  struct group *g, const struct profile_class *classes, const uint32_t *disk_ids)
{
	put_seconds(e, out, f, g);
	put_rows(e, out, g, classes, disk_ids);
}

enum { SIZE, EARLY, N_TIMES_COLUMNS };

void group_encode_times(struct block_encoder *e, struct buf *out, const struct group *g,
			const struct profile_class *classes)
{
	struct second_times *places = xcalloc(g->seconds.n + 1, sizeof(*places));
	const struct count_row *rows = g->rows.data;
	struct timed_sample *times = g->times.data;
	struct buf all = { 0 };

	for (size_t i = 0; i < g->seconds.n; i++) {
		const struct group_second *s = &g->seconds.data[i];
		const struct sample_times own = { .data = times, .n = s->n_times };
		const struct times_rows of = {
			.rows = rows, .n = s->n_rows, .classes = classes, .has_rate = g->has_rate
		};
		size_t start = all.len;

		times_encode(e, &all, &own, &of, s->first_ns, &places[i].early_us);
		places[i].size = (uint32_t)(all.len - start);
		times += s->n_times;
		rows += s->n_rows;
	}
	for (size_t i = 0; i < g->seconds.n; i++) {
		column_put(&e->columns[SIZE], places[i].size);
		column_put(&e->columns[EARLY], places[i].early_us);
	}
	write_columns(e, out, N_TIMES_COLUMNS);
	buf_bytes(out, all.data, all.len);
	buf_fini(&all);
	free(places);
}

/* ---- reading ---- */

struct columns_in {
	struct column_reader c[N_ROW_COLUMNS];
	bool bad;
};

static void group_open_columns(struct columns_in *in, struct unpacker *u, struct reader *r, int n,
			       size_t each)
{
	*in = (struct columns_in){ 0 };
	for (int i = 0; i < n; i++) {
		column_open(&in->c[i], u, r, each);
		in->bad |= in->c[i].bad;
	}
}

/* False: a column did not decode, or was read past its end. */
static bool group_close_columns(struct columns_in *in, const struct reader *r)
{
	for (int i = 0; i < N_ROW_COLUMNS; i++) {
		in->bad |= in->c[i].bad;
		column_close(&in->c[i]);
	}
	return !in->bad && !r->bad;
}

/* False: the values are impossible. */
static bool get_level(struct reader *r, const struct block_header *h, struct group *g)
{
	uint64_t level_s = 0, next = h->first_id[TABLE_CLASSES];

	if (h->kind != BLOCK_GROUP) {
		level_s = reader_uleb(r);
		next = reader_uleb(r);
	}
	g->level_ns = level_s * NS_PER_SECOND;
	g->next_class = (uint32_t)next;
	return !r->bad && level_s <= UINT32_MAX && next <= SEGMENT_IDS_MAX &&
	       (h->kind == BLOCK_OVERVIEW) == (level_s > 0);
}

static bool get_seconds(struct unpacker *u, struct reader *r, const struct block_header *h,
			struct group *g)
{
	uint64_t last_ns = h->first_ns, n_losses = 0, n_rows = 0, samples = 0, n;
	struct columns_in in;

	if (!get_level(r, h, g))
		return false;
	n = reader_uleb(r);
	if (n > GROUP_SECONDS) /* also limits the memory for losses */
		return false;
	group_open_columns(&in, u, r, N_SECOND_COLUMNS, n);
	for (uint64_t i = 0; i < n && !in.bad; i++) {
		struct group_second s = { 0 };
		uint64_t rows, losses;

		s.first_ns = last_ns + (uint64_t)column_get_signed(&in.c[FIRST]);
		s.last_ns = last_ns = s.first_ns + column_get(&in.c[SPAN]);
		s.samples = column_get(&in.c[SAMPLES]);
		rows = column_get(&in.c[ROWS]);
		losses = column_get(&in.c[LOSSES]);
		n_rows += rows;
		n_losses += losses;
		samples += s.samples;
		in.bad |= s.last_ns < s.first_ns || rows > h->n_rows || n_rows > h->n_rows ||
			  losses > BLOCK_LOSSES_MAX;
		s.n_rows = (uint32_t)rows;
		s.n_losses = (uint32_t)losses;
		if (!in.bad)
			vec_push(&g->seconds, s);
	}
	if (!group_close_columns(&in, r) || n_rows != h->n_rows || samples != h->samples)
		return false;
	group_open_columns(&in, u, r, N_LOSS_COLUMNS, n_losses);
	for (uint64_t i = 0; i < n_losses && !in.bad; i++) {
		uint64_t reason = column_get(&in.c[REASON]), counter = column_get(&in.c[COUNTER]);
		uint64_t number = column_get(&in.c[NUMBER]);

		in.bad |= counter > SESSION_COUNTERS_MAX;
		/* This version has no name for a newer reason; the number still counts. */
		vec_push(&g->losses,
			 (struct loss_row){ reason < N_LOSS_REASONS ? (enum loss_reason)reason
								    : LOSS_BAD_RECORD,
					    (uint32_t)counter - 1, number });
	}
	return group_close_columns(&in, r);
}

int group_decode_seconds(struct unpacker *u, const uint8_t *bytes, size_t size,
			 const struct block_header *h, struct group *g, size_t *rows_at)
{
	struct reader r = reader_over(bytes, size);

	if (!get_seconds(u, &r, h, g)) {
		group_clear(g);
		return -EBADMSG;
	}
	*rows_at = (size_t)(r.at - bytes);
	return 0;
}

int group_decode_times(struct unpacker *u, const uint8_t *bytes, size_t size, const struct group *g,
		       struct second_times *out)
{
	struct reader r = reader_over(bytes, size);
	struct columns_in in;
	uint64_t offset;

	group_open_columns(&in, u, &r, N_TIMES_COLUMNS, g->seconds.n);
	offset = (uint64_t)(r.at - bytes);
	for (size_t i = 0; i < g->seconds.n && !in.bad; i++) {
		uint64_t n = column_get(&in.c[SIZE]), early_us = column_get(&in.c[EARLY]);

		in.bad |= n > size - offset || early_us > g->seconds.data[i].first_ns / NS_PER_US;
		if (in.bad)
			break;
		out[i] = (struct second_times){ (uint32_t)offset, (uint32_t)n, early_us };
		offset += n;
	}
	return group_close_columns(&in, &r) ? 0 : -EBADMSG;
}

struct rows_parser {
	const struct group_frame *f;
	struct columns_in in;
	struct class_model model;
	struct period_bases bases;
	uint64_t unit[SESSION_COUNTERS_MAX];
	struct count_rows *rows;
};

static uint32_t get_class(struct rows_parser *p)
{
	const struct recent *recent = &p->model.recent;
	uint64_t place = column_get(&p->in.c[PLACE]);
	uint32_t class = 0;

	if (place == 1 && recent->list.n)
		return recent->list.data[recent->list.n - 1];
	if (!place) {
		int64_t at = p->model.next + column_get_signed(&p->in.c[CLASS]);

		p->in.bad |= at < 0 || at >= p->f->counts.n_classes;
		class = p->in.bad ? 0 : (uint32_t)at;
		recent_put(&p->model.recent, class);
	} else if (place > RECENT_DEPTH ||
		   !recent_at(&p->model.recent, (uint32_t)place - 1, &class)) {
		p->in.bad = true;
	}
	p->model.next = MAX(p->model.next, class + 1);
	return class;
}

/* Adds the rests of the counters that are packed in units to the last row of each. */
static void get_left(struct rows_parser *p, const size_t *last)
{
	for (uint32_t c = 0; c < p->bases.n && !p->in.bad; c++)
		if (last[c])
			p->rows->data[last[c] - 1].period += column_get(&p->in.c[LEFT]);
}

static void get_second(struct rows_parser *p, const struct group_second *s)
{
	uint64_t node = 0, end = (uint64_t)p->f->counts.first_node + p->f->counts.n_nodes;
	size_t last[SESSION_COUNTERS_MAX]; /* index of the counter's last row, + 1 */
	uint32_t last_class = 0;

	memset(last, 0, p->bases.n * sizeof(*last));
	for (uint32_t i = 0; i < s->n_rows && !p->in.bad; i++) {
		uint32_t class = get_class(p);
		uint64_t counter, samples;

		if (p->f->by_class && class != last_class)
			node = 0;
		last_class = class;
		node += column_get(&p->in.c[NODE]);
		counter = column_get(&p->in.c[OF_COUNTER]);
		samples = column_get(&p->in.c[COUNT]) + 1;
		p->in.bad |= node >= end || counter >= p->bases.n;
		if (p->in.bad)
			return;
		vec_push(p->rows,
			 (struct count_row){ class, (uint32_t)node, samples,
					     samples * p->bases.base[counter] +
						     p->unit[counter] * (uint64_t)column_get_signed(
										&p->in.c[REST]) });
		if (p->unit[counter] > 1)
			last[counter] = p->rows->n;
	}
	get_left(p, last);
}

static void get_units(struct rows_parser *p, struct reader *r)
{
	p->in.bad = !period_bases_read(&p->bases, r);
	for (uint32_t c = 0; c < p->bases.n; c++)
		p->unit[c] = p->f->is_exact ? 1 : reader_uleb(r);
	p->in.bad |= r->bad;
}

/* CLASS has numbers only for classes without a place, LEFT only for a second's counters. */
static void open_rows(struct rows_parser *p, struct unpacker *u, struct reader *r)
{
	for (int i = 0; i < (p->f->is_exact ? LEFT : N_ROW_COLUMNS); i++) {
		if (i == CLASS || i == LEFT)
			column_open_some(&p->in.c[i], u, r, p->f->counts.n_rows);
		else
			column_open(&p->in.c[i], u, r, p->f->counts.n_rows);
		p->in.bad |= p->in.c[i].bad;
	}
}

int group_decode_rows(struct unpacker *u, const uint8_t *bytes, size_t size,
		      const struct group_frame *f, const struct group_second *seconds, uint32_t n,
		      struct count_rows *rows)
{
	struct rows_parser p = { .f = f, .model.next = f->next_class, .rows = rows };
	struct reader r = reader_over(bytes, size);
	size_t n_before = rows->n;

	get_units(&p, &r);
	if (!p.in.bad)
		open_rows(&p, u, &r);
	p.in.bad = p.in.bad || !vec_try_reserve(rows, rows->n + f->counts.n_rows);
	for (uint32_t i = 0; i < n && !p.in.bad; i++)
		get_second(&p, &seconds[i]);
	recent_fini(&p.model.recent);
	if (group_close_columns(&p.in, &r) && rows->n - n_before == f->counts.n_rows)
		return 0;
	rows->n = n_before;
	return -EBADMSG;
}
