/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "store/bits.h"
#include "store/ranks.h"

enum { COUNT, EVENTS, N_TIME_COLUMNS };
_Static_assert(N_TIME_COLUMNS <= BLOCK_COLUMNS, "the encoder's columns serve for all");

/* The samples and events of a row that no time was given to so far. */
struct row_rest {
	uint64_t samples, period;
};

static struct row_rest *rests_of(const struct count_row *rows, size_t n)
{
	struct row_rest *rest = xmalloc((n + 1) * sizeof(*rest));

	for (size_t i = 0; i < n; i++)
		rest[i] = (struct row_rest){ rows[i].samples, rows[i].period };
	return rest;
}

/* The events of n of the row's samples, if all of them have the same. */
static uint64_t even_share(const struct row_rest *rest, uint64_t n)
{
	uint64_t product;

	if (n >= rest->samples)
		return rest->period;
	if (!__builtin_mul_overflow(rest->period, n, &product))
		return product / rest->samples;
	return (uint64_t)((unsigned __int128)rest->period * n / rest->samples);
}

static void take_share(struct row_rest *rest, uint64_t samples, uint64_t period)
{
	rest->samples -= samples;
	rest->period -= period;
}

#define TIMES_FREE 65536

/* The same rule as for ids and rows: a small section must not cost much memory. */
static uint64_t times_most(size_t section)
{
	return TIMES_FREE + (uint64_t)section * SEGMENT_ITEMS_A_BYTE;
}

/* The rows that have samples without a time so far. */
struct open_rows {
	struct row_rest *rests;
	struct ranks ranks;
};

static void open_rows_init(struct open_rows *o, struct row_rest *rests, size_t n)
{
	o->rests = rests;
	ranks_init(&o->ranks, n);
	for (uint32_t i = 0; i < n; i++)
		if (!rests[i].samples)
			ranks_remove(&o->ranks, i);
}

static void open_rows_fini(struct open_rows *o)
{
	free(o->rests);
	ranks_fini(&o->ranks);
}

static void open_rows_take(struct open_rows *o, uint32_t row, uint64_t samples, uint64_t period)
{
	take_share(&o->rests[row], samples, period);
	if (!o->rests[row].samples)
		ranks_remove(&o->ranks, row);
}

/*
 * Samples of one timer, in the order of time. The time between them is nearly the same, so each
 * time is coded by its difference to this interval, or by the step itself if the interval is 0.
 */
struct time_lane {
	uint64_t n;
	uint64_t first_us; /* since the earliest time of the block */
	uint64_t interval_us;
	unsigned int order; /* of the code */
};

static uint64_t time_code(uint64_t step, uint64_t interval)
{
	int64_t rest = (int64_t)(step - interval);

	return interval ? ((uint64_t)rest << 1) ^ (uint64_t)(rest >> 63) : step;
}

static uint64_t time_step(uint64_t code, uint64_t interval)
{
	return interval ? interval + ((code >> 1) ^ -(code & 1)) : code;
}

/* ---- writing ---- */

struct times_writer {
	struct block_encoder *e;
	const struct sample_times *times;
	const struct times_rows *rows;
	struct open_rows open; /* by place */
	uint64_t first_us;
	VEC(struct time_lane) lanes;
	struct bits_out bits;
	uint32_t n_put; /* samples */
	int flags;      /* bits: the columns that are not all 0 */
};

/* Items have the time of a sample as their key, and its number as their value. */
static uint64_t item_us(const struct times_writer *w, uint32_t i)
{
	return w->e->items[i].key;
}

/* Samples come nearly in the order of time, so they are often sorted already. */
static void sort_by_time(struct times_writer *w)
{
	uint32_t n = (uint32_t)w->times->n;
	struct sort_item *items;
	bool is_sorted = true;

	block_encoder_reserve(w->e, n);
	items = w->e->items;
	for (uint32_t i = 0; i < n; i++) {
		items[i] = (struct sort_item){ w->times->data[i].time_ns / NS_PER_US, i };
		is_sorted &= !i || items[i].key >= items[i - 1].key;
	}
	if (!is_sorted)
		sort_items(items, w->e->scratch, n);
}

/* A lane of its own must save more than it costs. */
#define LANE_SAMPLES 16

/* The samples of one counter on one processor. */
struct timer {
	uint64_t id;
	uint32_t n;  /* samples */
	uint32_t at; /* of the next one in the order of lanes */
};

#define TIMERS_RECENT 64

struct timers {
	VEC(struct timer) of; /* in the order of their first rows */
	struct intmap numbers;
	uint32_t recent[TIMERS_RECENT]; /* numbers that were found last */
	uint32_t *of_row;
};

static uint32_t timer_number(struct timers *t, const struct profile_class *class)
{
	uint64_t id = (uint64_t) class->counter << 32 | class->cpu;
	uint32_t *recent = &t->recent[(class->cpu + class->counter) % TIMERS_RECENT], *number;
	bool is_new;

	if (*recent < t->of.n && t->of.data[*recent].id == id)
		return *recent;
	number = intmap_put(&t->numbers, id, &is_new);
	if (is_new) {
		*number = (uint32_t)t->of.n;
		vec_push(&t->of, (struct timer){ .id = id });
	}
	*recent = *number;
	return *recent;
}

static void timers_init(struct timers *t, const struct times_rows *rows,
			const struct sample_times *times)
{
	*t = (struct timers){ .of_row = xmalloc((rows->n + 1) * sizeof(*t->of_row)) };
	for (uint32_t i = 0; i < rows->n; i++)
		t->of_row[i] = timer_number(t, &rows->classes[rows->rows[i].class]);
	vec_foreach (times, sample)
		t->of.data[t->of_row[sample->row]].n++;
}

static void timers_fini(struct timers *t)
{
	vec_fini(&t->of);
	intmap_fini(&t->numbers);
	free(t->of_row);
}

static int by_timer_id(const void *a, const void *b)
{
	const struct timer *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static bool has_lane(const struct timer *t)
{
	return t->n >= LANE_SAMPLES;
}

/* Makes the lanes, and gives each timer with a lane the place of its first sample. */
static void place_timers(struct times_writer *w, struct timers *t)
{
	cleanup(free_at_exit) struct timer **sorted =
		xmalloc((t->of.n + 1) * sizeof(struct timer *));
	uint32_t n_common = 0, at;

	for (size_t i = 0; i < t->of.n; i++) {
		sorted[i] = &t->of.data[i];
		if (!has_lane(sorted[i]))
			n_common += sorted[i]->n;
	}
	if (n_common)
		vec_push(&w->lanes, (struct time_lane){ .n = n_common });
	at = n_common;
	qsort(sorted, t->of.n, sizeof(struct timer *), by_timer_id);
	for (size_t i = 0; i < t->of.n; i++)
		if (has_lane(sorted[i])) {
			vec_push(&w->lanes, (struct time_lane){ .n = sorted[i]->n });
			sorted[i]->at = at;
			at += sorted[i]->n;
		}
}

/* Sorts by lane, then by time. */
static void sort_by_lane(struct times_writer *w)
{
	struct sort_item *items = w->e->items, *sorted = w->e->scratch;
	uint32_t n = (uint32_t)w->times->n, at_common = 0;
	struct timers timers;

	timers_init(&timers, w->rows, w->times);
	place_timers(w, &timers);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = w->times->data[items[i].value].row;
		struct timer *timer = &timers.of.data[timers.of_row[row]];

		sorted[has_lane(timer) ? timer->at++ : at_common++] = items[i];
	}
	w->e->items = sorted;
	w->e->scratch = items;
	timers_fini(&timers);
}

/* So many steps of a lane show how to code the others. */
#define STEPS_SEEN 64

static uint64_t median(uint64_t *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = v[i];
		uint32_t at = i;

		for (; at > 0 && v[at - 1] > x; at--)
			v[at] = v[at - 1];
		v[at] = x;
	}
	return v[n / 2];
}

static uint64_t code_size(const uint64_t *steps, uint32_t n, uint64_t interval, unsigned int order)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < n; i++)
		size += bits_golomb_size(time_code(steps[i], interval), order);
	return size;
}

/* Sets the code of a lane whose items begin at `first`. */
static void choose_code(const struct times_writer *w, struct time_lane *lane, uint32_t first)
{
	uint32_t n_steps = (uint32_t)lane->n - 1, n = MIN(n_steps, STEPS_SEEN);
	uint64_t steps[STEPS_SEEN], best = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = first + (uint32_t)((uint64_t)i * n_steps / n);

		steps[i] = item_us(w, at + 1) - item_us(w, at);
	}
	for (int with = 0; with < 2 && n; with++) {
		uint64_t interval = with ? median(steps, n) : 0;

		for (unsigned int order = 0; order <= 24; order++) {
			uint64_t size = code_size(steps, n, interval, order);

			if (size >= best)
				continue;
			best = size;
			lane->interval_us = interval;
			lane->order = order;
		}
	}
}

static void choose_codes(struct times_writer *w)
{
	uint32_t first = 0;

	vec_foreach (&w->lanes, lane) {
		lane->first_us = item_us(w, first) - w->first_us;
		choose_code(w, lane, first);
		first += (uint32_t)lane->n;
	}
}

/* The kernel varies the period of a counter with a rate: its events are an estimate. */
static bool times_has_rate(const struct times_writer *w, uint32_t row)
{
	return w->rows->has_rate &&
	       w->rows->has_rate[w->rows->classes[w->rows->rows[row].class].counter];
}

/* The events of a sample that has other ones than its share of its row's; else 0. */
static uint64_t own_events(const struct times_writer *w, const struct timed_sample *t,
			   const struct row_rest *rest, uint64_t share)
{
	bool is_even = t->period == share || t->period > rest->period || t->period == UINT64_MAX ||
		       times_has_rate(w, t->row);

	return is_even ? 0 : t->period + 1;
}

static uint32_t place_of_row(const struct times_rows *rows, uint32_t row)
{
	return rows->places ? rows->places[row] : row;
}

/* Puts v into a column that is not stored if all its numbers are 0. */
static void put_seldom(struct times_writer *w, int column, uint64_t v)
{
	struct column *c = &w->e->columns[column];

	if (!(w->flags & 1 << column)) {
		if (!v)
			return;
		w->flags |= 1 << column;
		for (uint32_t i = 0; i < w->n_put; i++)
			column_put(c, 0);
	}
	column_put(c, v);
}

static void put_sample(struct times_writer *w, const struct timed_sample *t)
{
	uint32_t place = place_of_row(w->rows, t->row);
	const struct row_rest *rest = &w->open.rests[place];
	uint64_t share = even_share(rest, t->samples), events = own_events(w, t, rest, share);

	bits_put_below(&w->bits, ranks_of(&w->open.ranks, place), w->open.ranks.n_members);
	put_seldom(w, COUNT, t->samples - 1);
	put_seldom(w, EVENTS, events);
	w->n_put++;
	open_rows_take(&w->open, place, t->samples, events ? t->period : share);
}

static void put_lanes(struct times_writer *w)
{
	uint32_t at = 0;

	vec_foreach (&w->lanes, lane)
		for (uint64_t i = 0; i < lane->n; i++, at++) {
			if (i)
				bits_put_golomb(&w->bits,
						time_code(item_us(w, at) - item_us(w, at - 1),
							  lane->interval_us),
						lane->order);
			put_sample(w, &w->times->data[w->e->items[at].value]);
		}
	bits_flush(&w->bits);
}

static void write_times(struct times_writer *w, struct buf *out)
{
	size_t start = out->len;

	buf_uleb(out, w->times->n);
	buf_uleb(out, (uint64_t)w->flags);
	buf_uleb(out, w->lanes.n);
	vec_foreach (&w->lanes, lane) {
		buf_uleb(out, lane->n);
		buf_uleb(out, lane->first_us);
		buf_uleb(out, lane->interval_us);
		buf_uleb(out, lane->order);
	}
	buf_uleb(out, w->bits.bytes.len);
	buf_bytes(out, w->bits.bytes.data, w->bits.bytes.len);
	for (int i = 0; i < N_TIME_COLUMNS; i++)
		if (w->flags & 1 << i)
			column_write(&w->e->columns[i], w->e->packer, out);
	/* Writers add zeros where content packs better than readers permit. */
	while (w->times->n > times_most(out->len - start))
		buf_u8(out, 0);
}

static struct row_rest *rests_by_place(const struct times_rows *rows)
{
	struct row_rest *rests = xmalloc((rows->n + 1) * sizeof(*rests));

	for (uint32_t i = 0; i < rows->n; i++)
		rests[place_of_row(rows, i)] =
			(struct row_rest){ rows->rows[i].samples, rows->rows[i].period };
	return rests;
}

void times_encode(struct block_encoder *e, struct buf *out, const struct sample_times *times,
		  const struct times_rows *rows, uint64_t first_ns, uint64_t *early_us)
{
	struct times_writer w = { .e = e, .times = times, .rows = rows };

	*early_us = 0;
	if (!times->n)
		return;
	open_rows_init(&w.open, rests_by_place(rows), rows->n);
	sort_by_time(&w);
	w.first_us = MIN(item_us(&w, 0), first_ns / NS_PER_US);
	*early_us = first_ns / NS_PER_US - w.first_us;
	sort_by_lane(&w);
	choose_codes(&w);
	put_lanes(&w);
	write_times(&w, out);
	open_rows_fini(&w.open);
	vec_fini(&w.lanes);
	buf_fini(&w.bits.bytes);
}

/* ---- reading ---- */

struct times_parser {
	struct reader r;
	struct open_rows open;
	struct bits_in bits;
	VEC(struct time_lane) lanes;
	struct column_reader columns[N_TIME_COLUMNS];
	uint64_t flags; /* bits: the columns that are there */
	uint64_t first_us;
	struct sample_times *out;
	bool bad;
};

static void get_lanes(struct times_parser *p, uint64_t n)
{
	uint64_t n_lanes = reader_uleb(&p->r), sum = 0;

	p->bad |= n_lanes > n || n_lanes > reader_left(&p->r);
	for (uint64_t i = 0; i < n_lanes && !p->bad; i++) {
		struct time_lane lane = { .n = reader_uleb(&p->r),
					  .first_us = reader_uleb(&p->r),
					  .interval_us = reader_uleb(&p->r) };
		uint64_t order = reader_uleb(&p->r);

		p->bad |= p->r.bad || !lane.n || lane.n > n - sum || order > GOLOMB_ORDER_MAX;
		lane.order = (unsigned int)order;
		sum += lane.n;
		vec_push(&p->lanes, lane);
	}
	p->bad |= sum != n;
}

static void open_stream(struct times_parser *p, struct unpacker *u, uint64_t n)
{
	uint64_t size = reader_uleb(&p->r);
	const uint8_t *bytes = NULL;

	if (size <= reader_left(&p->r))
		bytes = reader_bytes(&p->r, size);
	p->bad |= p->r.bad || !bytes;
	p->bits = (struct bits_in){ .bytes = bytes, .end = p->bad ? 0 : size * 8 };
	for (int i = 0; i < N_TIME_COLUMNS && !p->bad; i++)
		if (p->flags & 1u << i) {
			column_open(&p->columns[i], u, &p->r, n);
			p->bad |= p->columns[i].bad;
		}
}

static uint64_t get_column(struct times_parser *p, int i)
{
	return p->flags & 1u << i ? column_get(&p->columns[i]) : 0;
}

static void get_sample(struct times_parser *p, uint64_t us)
{
	struct timed_sample t = { .time_ns = us * NS_PER_US };
	uint64_t samples = get_column(p, COUNT) + 1, events = get_column(p, EVENTS);
	const struct row_rest *rest;

	p->bad |= !p->open.ranks.n_members || us > UINT64_MAX / NS_PER_US;
	if (p->bad)
		return;
	t.row = ranks_at(&p->open.ranks, bits_get_below(&p->bits, p->open.ranks.n_members));
	rest = &p->open.rests[t.row];
	p->bad |= !samples || samples > rest->samples || samples > UINT32_MAX ||
		  (events && events - 1 > rest->period);
	if (p->bad)
		return;
	t.samples = (uint32_t)samples;
	t.period = events ? events - 1 : even_share(rest, samples);
	open_rows_take(&p->open, t.row, samples, t.period);
	vec_push(p->out, t);
}

static void get_lane(struct times_parser *p, const struct time_lane *lane)
{
	uint64_t us = p->first_us + lane->first_us;

	for (uint64_t i = 0; i < lane->n && !p->bad; i++) {
		uint64_t before = us;

		if (i)
			us += time_step(bits_get_golomb(&p->bits, lane->order), lane->interval_us);
		p->bad |= us < before || p->bits.bad;
		get_sample(p, us);
	}
}

static int by_sample_time(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* False: the bytes don't decode. */
static bool get_times(struct times_parser *p, struct unpacker *u, uint64_t n)
{
	get_lanes(p, n);
	open_stream(p, u, n);
	vec_foreach (&p->lanes, lane)
		get_lane(p, lane);
	for (int i = 0; i < N_TIME_COLUMNS; i++) {
		p->bad |= p->columns[i].bad;
		column_close(&p->columns[i]);
	}
	return !p->bad && !p->bits.bad && !p->r.bad;
}

int times_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint64_t first_us,
		 const struct count_row *rows, size_t n_rows, struct sample_times *out)
{
	struct times_parser p = { .r = reader_over(bytes, size), .first_us = first_us, .out = out };
	uint64_t n = reader_uleb(&p.r);
	size_t n_before = out->n;
	bool is_good = n && n <= BLOCK_TIMES_MAX && n <= times_most(size);

	p.flags = reader_uleb(&p.r);
	if (is_good && !vec_try_reserve(out, out->n + n))
		return -ENOMEM;
	open_rows_init(&p.open, rests_of(rows, n_rows), n_rows);
	is_good = is_good && get_times(&p, u, n);
	open_rows_fini(&p.open);
	vec_fini(&p.lanes);
	if (!is_good) {
		out->n = n_before;
		return -EBADMSG;
	}
	qsort(out->data + n_before, out->n - n_before, sizeof(*out->data), by_sample_time);
	return 0;
}

/* ---- choosing ---- */

void times_choose(const struct times_choice *choice, struct count_row *rows, size_t *n_rows,
		  struct sample_times *times)
{
	struct row_rest *kept = xcalloc(*n_rows + 1, sizeof(*kept));
	struct row_rest *untimed = rests_of(rows, *n_rows);
	uint32_t *place = xcalloc(*n_rows + 1, sizeof(*place));
	size_t n = 0, n_times = 0;

	vec_foreach (times, t) {
		take_share(&untimed[t->row], t->samples, t->period);
		if (!choice->takes(choice->context, t->time_ns))
			continue;
		kept[t->row].samples += t->samples;
		kept[t->row].period += t->period;
		times->data[n_times++] = *t;
	}
	times->n = n_times;
	for (size_t i = 0; i < *n_rows; i++) {
		struct count_row row = rows[i];

		row.samples = kept[i].samples + (choice->takes_untimed ? untimed[i].samples : 0);
		row.period = kept[i].period + (choice->takes_untimed ? untimed[i].period : 0);
		place[i] = (uint32_t)n;
		/* Rows without samples are calls (machine/image.h), which have no times. */
		if (row.samples || (!rows[i].samples && choice->takes_untimed))
			rows[n++] = row;
	}
	*n_rows = n;
	vec_foreach (times, t)
		t->row = place[t->row];
	free(kept);
	free(untimed);
	free(place);
}
