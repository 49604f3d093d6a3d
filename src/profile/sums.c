/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/sums.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reserve.h"
#include "base/thread.h"
#include "store/row_reader.h"

#define UNIT_ROWS      65536 /* that a thread takes at once, or a block */
#define ROWS_TO_BOTHER 50000 /* fewer are added up in less time than threads are worth */
#define THREADS_MAX    8
#define SOURCES_AHEAD  4 /* that may be added up before the caller has taken the first one */

/* Rows by node: of most nodes there are one or two. */
struct table {
	uint32_t *last; /* by node: its row + 1 that was added last, or 0; NULL: no rows yet */
	struct count_rows rows;
	VEC(uint32_t) before; /* by row: the node's row + 1 before it, or 0 */
};

/* Blocks of a source, and which rows of a thread's table they were the first to need. */
struct unit {
	size_t source, first, n; /* blocks: of source->blocks */
	size_t thread, first_row, end_row;
	VEC(uint32_t) damaged;
};

struct progress {
	size_t first_unit, n_units, n_done; /* done: under the lock */
	struct table tables[THREADS_MAX];
};

struct sums {
	const struct sums_source *sources;
	size_t n;
	struct progress *progress; /* one a source */
	VEC(struct unit) units;
	pthread_t threads[THREADS_MAX];
	size_t n_threads;          /* besides the caller, who is number 0 … */
	struct row_reader *reader; /* … and reads with this */
	VEC(uint32_t) damaged;     /* of the source that the caller has */

	/* Under the lock: units, sources that the caller has, threads that know their number. */
	size_t next_unit, n_taken, n_numbered;
	bool is_stopped;
	pthread_mutex_t lock;
	pthread_cond_t done, taken;
};

/* ---- adding up ---- */

static void table_init(struct table *t, const struct segment *segment)
{
	if (!t->last)
		t->last = xcalloc((size_t)segment->n_nodes + 1, sizeof(*t->last));
}

static void table_fini(struct table *t)
{
	free(t->last);
	vec_fini(&t->rows);
	vec_fini(&t->before);
	*t = (struct table){ 0 };
}

static inline void table_add(struct table *t, uint32_t class, const struct count_row *row)
{
	uint32_t *last = &t->last[row->node], at = *last;

	while (at && t->rows.data[at - 1].class != class)
		at = t->before.data[at - 1];
	if (at) {
		t->rows.data[at - 1].samples += row->samples;
		t->rows.data[at - 1].period += row->period;
		return;
	}
	vec_push(&t->rows, (struct count_row){ class, row->node, row->samples, row->period });
	vec_push(&t->before, *last);
	*last = (uint32_t)t->rows.n;
}

static void sums_add_unit(struct sums *s, struct unit *unit, size_t thread,
			  struct row_reader *reader)
{
	const struct sums_source *source = &s->sources[unit->source];
	struct table *table = &s->progress[unit->source].tables[thread];

	table_init(table, source->segment);
	unit->thread = thread;
	unit->first_row = table->rows.n;
	for (size_t i = unit->first; i < unit->first + unit->n; i++) {
		uint32_t block = source->blocks[i];
		const struct count_row *row;
		int64_t n = row_reader_find(reader, source->segment, block, &row, NULL);

		if (n < 0)
			vec_push(&unit->damaged, block);
		for (; n > 0 && reserve_check() >= 0; n--, row++) {
			uint32_t class = source->classes[row->class];

			if (class != SUMS_NO_CLASS && row->node)
				table_add(table, class, row);
		}
	}
	unit->end_row = table->rows.n;
}

/* The next unit's number, when the caller is near enough to it; s->units.n: there is none. */
static size_t sums_take_unit(struct sums *s)
{
	size_t unit;

	pthread_mutex_lock(&s->lock);
	while (!s->is_stopped && s->next_unit < s->units.n &&
	       s->units.data[s->next_unit].source >= s->n_taken + SOURCES_AHEAD)
		pthread_cond_wait(&s->taken, &s->lock);
	unit = s->is_stopped ? s->units.n : s->next_unit;
	s->next_unit = MIN(unit + 1, s->units.n);
	pthread_mutex_unlock(&s->lock);
	return unit;
}

static void unit_finish(struct sums *s, size_t unit)
{
	pthread_mutex_lock(&s->lock);
	s->progress[s->units.data[unit].source].n_done++;
	pthread_cond_signal(&s->done);
	pthread_mutex_unlock(&s->lock);
}

static void *sums_work(void *arg)
{
	struct row_reader *reader = row_reader_new();
	struct sums *s = arg;
	size_t thread, unit;

	pthread_mutex_lock(&s->lock);
	thread = ++s->n_numbered;
	pthread_mutex_unlock(&s->lock);
	while ((unit = sums_take_unit(s)) < s->units.n) {
		sums_add_unit(s, &s->units.data[unit], thread, reader);
		unit_finish(s, unit);
	}
	row_reader_free(reader);
	return NULL;
}

/* ---- by whom ---- */

/* A group of seconds (store/group.h) is one thread's: it is decoded as a whole. */
static bool is_of_group(const struct block *a, const struct block *b)
{
	return a->file_off == b->file_off;
}

static void cut_into_units(struct sums *s, size_t source)
{
	const struct sums_source *of = &s->sources[source];
	const struct block *before = NULL;
	uint64_t n_rows = 0;

	s->progress[source].first_unit = s->units.n;
	for (size_t i = 0; i < of->n_blocks; i++) {
		const struct block *block = &of->segment->blocks[of->blocks[i]];

		if (!before || (n_rows >= UNIT_ROWS && !is_of_group(before, block))) {
			vec_push(&s->units, (struct unit){ .source = source, .first = i });
			n_rows = 0;
		}
		s->units.data[s->units.n - 1].n++;
		n_rows += block->n_rows;
		before = block;
	}
	s->progress[source].n_units = s->units.n - s->progress[source].first_unit;
}

static uint64_t count_rows(const struct sums *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t b = 0; b < s->sources[i].n_blocks; b++)
			n += s->sources[i].segment->blocks[s->sources[i].blocks[b]].n_rows;
	return n;
}

static void start_threads(struct sums *s)
{
	size_t n = (size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);

	n = MIN(MIN(n, (size_t)THREADS_MAX), s->units.n);
	if (n < 2 || count_rows(s) < ROWS_TO_BOTHER)
		return;
	while (s->n_threads < n - 1 && thread_start(&s->threads[s->n_threads], sums_work, s))
		s->n_threads++;
}

struct sums *sums_start(const struct sums_source *sources, size_t n)
{
	struct sums *s = xcalloc(1, sizeof(*s));

	s->sources = sources;
	s->n = n;
	s->progress = xcalloc(n + 1, sizeof(*s->progress));
	s->reader = row_reader_new();
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->done, NULL);
	pthread_cond_init(&s->taken, NULL);
	for (size_t i = 0; i < n; i++)
		cut_into_units(s, i);
	start_threads(s);
	return s;
}

/* The next unit, if it is of the source. Else waits: NULL if all units of the source are done. */
static struct unit *sums_take_unit_of(struct sums *s, size_t source)
{
	const struct progress *p = &s->progress[source];
	struct unit *unit = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->next_unit < p->first_unit + p->n_units)
		unit = &s->units.data[s->next_unit++];
	while (!unit && p->n_done < p->n_units)
		pthread_cond_wait(&s->done, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return unit;
}

/* The caller needs the source now, so it adds up what no thread has begun. */
static void sums_finish_source(struct sums *s, size_t source)
{
	struct unit *unit;

	while ((unit = sums_take_unit_of(s, source))) {
		sums_add_unit(s, unit, 0, s->reader);
		unit_finish(s, (size_t)(unit - s->units.data));
	}
}

static void sums_may_go_on(struct sums *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_taken++;
	pthread_cond_broadcast(&s->taken);
	pthread_mutex_unlock(&s->lock);
}

/* ---- together ---- */

/* A row of a thread is listed by the unit that needed it first; it has the sum of all of them. */
static void join_unit(struct sums *s, const struct unit *unit, const struct table *from,
		      struct table *all)
{
	vec_foreach (&unit->damaged, block)
		vec_push(&s->damaged, *block);
	for (size_t i = unit->first_row; i < unit->end_row && reserve_check() >= 0; i++)
		table_add(all, from->rows.data[i].class, &from->rows.data[i]);
}

/* By node, which is how the caller's own tables lie in memory. */
static void list_by_node(const struct table *t, uint32_t n_nodes, struct count_rows *out)
{
	out->n = 0;
	if (!vec_try_reserve(out, t->rows.n))
		return;
	for (uint32_t node = 1; node < n_nodes; node++)
		for (uint32_t at = t->last[node]; at; at = t->before.data[at - 1])
			vec_push(out, t->rows.data[at - 1]);
}

static void sums_forget(struct sums *s, size_t source)
{
	struct progress *p = &s->progress[source];

	for (size_t i = 0; i < THREADS_MAX; i++)
		table_fini(&p->tables[i]);
	for (size_t u = p->first_unit; u < p->first_unit + p->n_units; u++)
		vec_fini(&s->units.data[u].damaged);
}

size_t sums_next(struct sums *s, struct count_rows *rows, const uint32_t **damaged)
{
	size_t source = s->n_taken;
	struct progress *p = &s->progress[source];
	struct table all = { 0 };

	s->damaged.n = 0;
	table_init(&all, s->sources[source].segment);
	sums_finish_source(s, source);
	sums_may_go_on(s);
	for (size_t u = p->first_unit; u < p->first_unit + p->n_units; u++)
		join_unit(s, &s->units.data[u], &p->tables[s->units.data[u].thread], &all);
	sums_forget(s, source);
	if (s->n_threads) {
		list_by_node(&all, s->sources[source].segment->n_nodes, rows);
	} else {
		struct count_rows old = *rows;

		*rows = all.rows;
		all.rows = old;
	}
	table_fini(&all);
	*damaged = s->damaged.data;
	return s->damaged.n;
}

void sums_stop(struct sums *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_stopped = true;
	pthread_cond_broadcast(&s->taken);
	pthread_mutex_unlock(&s->lock);
	while (s->n_threads)
		pthread_join(s->threads[--s->n_threads], NULL);
	for (size_t i = 0; i < s->n; i++)
		sums_forget(s, i);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->taken);
	vec_fini(&s->units);
	vec_fini(&s->damaged);
	row_reader_free(s->reader);
	free(s->progress);
	free(s);
}
