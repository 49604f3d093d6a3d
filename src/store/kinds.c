/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/kinds.h"

#include <string.h>

#include "base/mem.h"
#include "store/recent.h"

/*
 * A kind is packed as its place among the recently used ones. Place 0 means that its number
 * follows. The highest number + 1 means a new kind, whose fields follow.
 */
enum { PLACE, NUMBER, PID, TID, CPU, N_CLASS_COLUMNS };
enum { COUNTER, APP, COMM, CGROUP, N_KIND_COLUMNS };
_Static_assert(N_CLASS_COLUMNS <= BLOCK_COLUMNS, "the encoder's columns serve for all");

struct kinds {
	VEC(struct profile_class) list; /* pid, tid and cpu 0 */
	struct class_table table;       /* the writer's */
	struct recent recent;
};

static void kinds_fini(struct kinds *k)
{
	vec_fini(&k->list);
	classes_fini(&k->table);
	recent_fini(&k->recent);
}

/* ---- writing ---- */

static void put_kind(struct block_encoder *e, struct kinds *k, const struct profile_class *class)
{
	struct profile_class kind = *class;
	uint32_t number, place;

	kind.pid = kind.tid = 0;
	kind.cpu = 0;
	number = classes_intern(&k->table, &kind);
	place = recent_place(&k->recent, number);
	column_put(&e->columns[PLACE], place + 1); /* RECENT_NONE becomes 0 */
	if (place == RECENT_NONE)
		column_put(&e->columns[NUMBER], k->list.n - number); /* 0: a new kind */
	if (number == k->list.n)
		vec_push(&k->list, kind);
}

static void put_kinds(struct block_encoder *e, struct buf *out, const struct kinds *k)
{
	buf_uleb(out, k->list.n);
	vec_foreach (&k->list, kind) {
		column_put(&e->columns[COUNTER], kind->counter);
		column_put(&e->columns[APP], kind->app.n);
		column_put(&e->columns[COMM], kind->comm.n);
		column_put(&e->columns[CGROUP], kind->cgroup.n);
	}
	for (int i = 0; i < N_KIND_COLUMNS; i++)
		column_write(&e->columns[i], e->packer, out);
}

void kinds_encode(struct block_encoder *e, struct buf *out, const struct profile_class *classes,
		  uint32_t n)
{
	struct kinds k = { 0 };
	int32_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_class *c = &classes[i];

		put_kind(e, &k, c);
		column_put_signed(&e->columns[PID], (int64_t)c->pid - last);
		/* -1 (threads are not kept apart) becomes 0. */
		column_put(&e->columns[TID],
			   c->tid == -1 ? 0 : 1 + (uint64_t)(uint32_t)(c->tid - c->pid));
		column_put(&e->columns[CPU], (uint32_t)(c->cpu + 1));
		last = c->pid;
	}
	for (int i = 0; i < N_CLASS_COLUMNS; i++)
		column_write(&e->columns[i], e->packer, out);
	put_kinds(e, out, &k);
	kinds_fini(&k);
}

/* ---- reading ---- */

struct kinds_parser {
	struct column_reader c[BLOCK_COLUMNS];
	struct kinds kinds;
	bool bad;
};

static void kinds_close_columns(struct kinds_parser *p, int n)
{
	for (int i = 0; i < n; i++) {
		p->bad |= p->c[i].bad;
		column_close(&p->c[i]);
	}
}

/* Stores the numbers of the kinds in `numbers` and all other fields in `out`. */
static void get_classes(struct kinds_parser *p, struct unpacker *u, struct reader *r, uint32_t n,
			struct profile_class *out, uint32_t *numbers, uint32_t *n_kinds)
{
	uint32_t pid = 0;

	for (int i = 0; i < N_CLASS_COLUMNS; i++) {
		if (i == NUMBER)
			column_open_some(&p->c[i], u, r, n);
		else
			column_open(&p->c[i], u, r, n);
		p->bad |= p->c[i].bad;
	}
	*n_kinds = 0;
	for (uint32_t i = 0; i < n && !p->bad; i++) {
		uint64_t place = column_get(&p->c[PLACE]), back, tid;

		if (!place) {
			back = column_get(&p->c[NUMBER]);
			p->bad |= back > *n_kinds;
			numbers[i] = *n_kinds - (uint32_t)MIN(back, *n_kinds);
			*n_kinds += !back;
			recent_put(&p->kinds.recent, numbers[i]);
		} else if (place > RECENT_DEPTH ||
			   !recent_at(&p->kinds.recent, (uint32_t)place - 1, &numbers[i])) {
			p->bad = true;
		}
		pid += (uint32_t)column_get_signed(&p->c[PID]);
		tid = column_get(&p->c[TID]);
		out[i].pid = (int32_t)pid;
		out[i].tid = tid ? (int32_t)(pid + (uint32_t)(tid - 1)) : -1;
		out[i].cpu = (uint32_t)column_get(&p->c[CPU]) - 1;
	}
	kinds_close_columns(p, N_CLASS_COLUMNS);
}

static uint32_t kinds_get_below(struct kinds_parser *p, int column, uint32_t limit)
{
	uint64_t v = column_get(&p->c[column]);

	p->bad |= v >= limit;
	return p->bad ? 0 : (uint32_t)v;
}

static void get_kinds(struct kinds_parser *p, struct unpacker *u, struct reader *r,
		      const struct segment *seg, uint32_t n)
{
	if (reader_uleb(r) != n || r->bad) {
		p->bad = true;
		return;
	}
	for (int i = 0; i < N_KIND_COLUMNS; i++) {
		column_open(&p->c[i], u, r, n);
		p->bad |= p->c[i].bad;
	}
	for (uint32_t i = 0; i < n && !p->bad; i++) {
		struct profile_class *kind = vec_add(&p->kinds.list);

		*kind = (struct profile_class){ 0 };
		kind->counter = kinds_get_below(p, COUNTER, SESSION_COUNTERS_MAX);
		kind->app.n = kinds_get_below(p, APP, seg->n_images);
		kind->comm.n = kinds_get_below(p, COMM, seg->n_strings);
		kind->cgroup.n = kinds_get_below(p, CGROUP, seg->n_strings);
	}
	kinds_close_columns(p, N_KIND_COLUMNS);
}

bool kinds_decode(struct unpacker *u, struct reader *r, const struct block_header *h,
		  struct segment *seg)
{
	uint32_t n = h->n_ids[TABLE_CLASSES], n_kinds;
	cleanup(free_at_exit) struct profile_class *new = NULL;
	cleanup(free_at_exit) uint32_t *numbers = NULL;
	struct kinds_parser p = { 0 };

	/* The header limits n. */
	new = xcalloc((size_t)n + 1, sizeof(*new));
	numbers = xcalloc((size_t)n + 1, sizeof(*numbers));
	get_classes(&p, u, r, n, new, numbers, &n_kinds);
	if (!p.bad)
		get_kinds(&p, u, r, seg, n_kinds);
	for (uint32_t i = 0; i < n && !p.bad; i++) {
		struct profile_class class = p.kinds.list.data[numbers[i]];

		class.pid = new[i].pid;
		class.tid = new[i].tid;
		class.cpu = new[i].cpu;
		seg->classes[h->first_id[TABLE_CLASSES] + i] = class;
	}
	kinds_fini(&p.kinds);
	return !p.bad && !r->bad;
}
