/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_draft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/reserve.h"
#include "base/thread.h"

#define MAX_THREADS 8

struct units {
	struct dwarf_unit *data;
	size_t n, cap;
};

/* The part of a run that enters the index, and whether the list ends there. */
struct piece {
	uint32_t scan, first, n;
	uint32_t start, end;
	bool has_end;
};
struct pieces {
	struct piece *data;
	size_t n, cap;
	uint32_t n_items;
};

struct draft {
	const struct line_source *source;
	struct units units, alt_units;
	struct line_scan scans[MAX_THREADS];
	uint32_t n_scans;
	atomic_uint next; /* the next unit without a thread */
	pthread_mutex_t lock;
	struct intmap lines; /* line programs that a thread has, by offset */

	/* The pieces of the runs. */
	struct pieces rows, scopes;
	uint32_t *names[MAX_THREADS], *files[MAX_THREADS]; /* a scan's ids to places in text */
	/* A scan's nodes and places follow those of the scans before. */
	uint32_t first_node[MAX_THREADS], first_place[MAX_THREADS];
	uint64_t text_size;
	struct line_index out;
};

static void line_draft_list_units(struct units *out, const struct dwarf_file *file)
{
	struct dwarf_unit unit;
	uint64_t at = 0;

	while (file && dwarf_unit_next(file, &at, &unit))
		vec_push(out, unit);
}

/* ---- scanning ---- */

static bool line_draft_claim_lines(void *data, uint64_t stmt_list)
{
	struct draft *d = data;
	bool is_new;

	pthread_mutex_lock(&d->lock);
	intmap_put(&d->lines, stmt_list, &is_new);
	pthread_mutex_unlock(&d->lock);
	return is_new;
}

struct worker {
	struct draft *draft;
	struct line_scan *scan;
};

static void *scan_units(void *data)
{
	struct worker *w = data;
	uint32_t i;

	while ((i = atomic_fetch_add(&w->draft->next, 1)) < w->draft->units.n &&
	       reserve_check() >= 0)
		line_scan_unit(w->scan, i, line_draft_claim_lines, w->draft);
	return NULL;
}

static uint32_t count_threads(const struct draft *d)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	n = MIN(n, (long)d->units.n / 2);
	return (uint32_t)MIN(MAX(n, 1), MAX_THREADS);
}

/* The calling thread works too; it also does the part of threads that could not start. */
static void scan_all(struct draft *d)
{
	struct worker workers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	uint32_t n_threads = 0;

	d->n_scans = count_threads(d);
	for (uint32_t i = 0; i < d->n_scans; i++) {
		struct line_scan *s = &d->scans[i];

		line_scan_init(s, d->source);
		s->units = d->units.data;
		s->n_units = d->units.n;
		s->alt_units = d->alt_units.data;
		s->n_alt_units = d->alt_units.n;
		workers[i] = (struct worker){ d, s };
	}
	for (uint32_t i = 1; i < d->n_scans; i++)
		if (thread_start(&threads[n_threads], scan_units, &workers[i]))
			n_threads++;
	scan_units(&workers[0]);
	for (uint32_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

/* ---- the order of runs ---- */

struct run_ref {
	struct line_run run;
	uint32_t scan;
};
struct run_refs {
	struct run_ref *data;
	size_t n, cap;
};

/* Stable, by start: a byte a pass. */
static void sort_by_start(struct run_refs *refs)
{
	struct run_ref *from = refs->data, *to = xmalloc(sizeof(*to) * (refs->n + 1));

	for (int shift = 0; shift < 32; shift += 8) {
		size_t at[256] = { 0 }, sum = 0;
		struct run_ref *other = from;

		for (size_t i = 0; i < refs->n; i++)
			at[from[i].run.start >> shift & 255]++;
		for (int b = 0; b < 256; b++) {
			size_t n = at[b];

			at[b] = sum;
			sum += n;
		}
		for (size_t i = 0; i < refs->n; i++)
			to[at[from[i].run.start >> shift & 255]++] = from[i];
		from = to;
		to = other;
	}
	free(to); /* after four turns, the sorted refs are in the first array again */
}

/* Chance decides which thread reads a unit; the result must not depend on it. */
static void settle_equal_starts(struct run_refs *refs)
{
	for (size_t i = 1; i < refs->n; i++) {
		struct run_ref x = refs->data[i];
		size_t at = i;

		for (; at && refs->data[at - 1].run.start == x.run.start &&
		       refs->data[at - 1].run.unit > x.run.unit;
		     at--)
			refs->data[at] = refs->data[at - 1];
		refs->data[at] = x;
	}
}

static void order_runs(struct run_refs *refs)
{
	if (refs->n) {
		sort_by_start(refs);
		settle_equal_starts(refs);
	}
}

/* ---- runs to one list ---- */

/* A scan's rows or scopes: either begin with their start. */
struct items {
	const void *data;
	size_t size;
};

static uint32_t start_of(const struct items *x, uint32_t i)
{
	uint32_t start;

	memcpy(&start, (const char *)x->data + i * x->size, sizeof(start));
	return start;
}

/* The number of a run's items that start below. */
static uint32_t count_below(const struct items *x, const struct line_run *run, uint32_t start)
{
	uint32_t low = 0, high = run->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(x, run->first + middle) < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The runs one behind the other, each without the part that an earlier one covers. */
static void cut_pieces(const struct run_refs *refs, const struct items *items, struct pieces *out)
{
	uint32_t covered = 0; /* the end of the list so far */

	for (size_t k = 0; k < refs->n; k++) {
		const struct run_ref *ref = &refs->data[k];
		const struct line_run *run = &ref->run;
		uint32_t from = 0, to;
		struct piece piece;

		if (run->end <= covered)
			continue;
		if (run->start < covered)
			from = count_below(&items[ref->scan], run, covered + 1) - 1;
		to = count_below(&items[ref->scan], run, run->end);
		piece = (struct piece){ .scan = ref->scan,
					.first = run->first + from,
					.n = to - from,
					.start = MAX(run->start, covered),
					.end = run->end };
		covered = run->end;
		piece.has_end = k + 1 == refs->n || refs->data[k + 1].run.start > covered;
		out->n_items += piece.n + piece.has_end;
		vec_push(out, piece);
	}
}

static void arrange_rows(struct draft *d)
{
	struct items items[MAX_THREADS];
	struct run_refs refs = { 0 };

	for (uint32_t i = 0; i < d->n_scans; i++) {
		items[i] = (struct items){ d->scans[i].rows.list.data, sizeof(struct line_row) };
		vec_foreach (&d->scans[i].rows.runs, run) {
			vec_push(&refs, (struct run_ref){ *run, i });
		}
	}
	order_runs(&refs);
	cut_pieces(&refs, items, &d->rows);
	vec_fini(&refs);
}

static void arrange_scopes(struct draft *d)
{
	struct items items[MAX_THREADS];
	struct run_refs refs = { 0 };

	for (uint32_t i = 0; i < d->n_scans; i++) {
		items[i] =
			(struct items){ d->scans[i].scopes.list.data, sizeof(struct line_scope) };
		vec_foreach (&d->scans[i].scopes.runs, run) {
			vec_push(&refs, (struct run_ref){ *run, i });
		}
	}
	order_runs(&refs);
	cut_pieces(&refs, items, &d->scopes);
	vec_fini(&refs);
}

static void *fill_rows(void *data)
{
	struct draft *d = data;
	struct line_row *out = (struct line_row *)d->out.rows;

	vec_foreach (&d->rows, piece) {
		const struct line_row *in = d->scans[piece->scan].rows.list.data + piece->first;
		uint32_t first_place = d->first_place[piece->scan];
		struct line_row *first = out;

		for (uint32_t i = 0; i < piece->n; i++)
			*out++ = (struct line_row){ in[i].start, in[i].place + first_place };
		first->start = piece->start;
		if (piece->has_end)
			*out++ = (struct line_row){ .start = piece->end };
	}
	return NULL;
}

static void fill_scopes(struct draft *d)
{
	struct line_scope *out = (struct line_scope *)d->out.scopes;

	vec_foreach (&d->scopes, piece) {
		const struct line_scope *in = d->scans[piece->scan].scopes.list.data + piece->first;
		struct line_scope *first = out;

		for (uint32_t i = 0; i < piece->n; i++)
			*out++ = (struct line_scope){ in[i].start,
						      in[i].node + d->first_node[piece->scan] };
		first->start = piece->start;
		if (piece->has_end)
			*out++ = (struct line_scope){ piece->end, NO_NODE };
	}
}

/* ---- text ---- */

/*
 * Joins the scans' strings in those of the first; `places`: by scan, the place of each in the text.
 */
static void place_strings(struct draft *d, struct strings *of[], uint32_t *places[])
{
	struct strings *all = of[0];
	uint32_t *at;

	for (uint32_t i = 1; i < d->n_scans; i++) {
		places[i] = xmalloc(sizeof(*places[i]) * (of[i]->n + 1U));
		for (uint32_t k = 0; k < of[i]->n; k++)
			places[i][k] = strings_add_n(all, of[i]->text[k], of[i]->len[k]).n;
	}
	at = places[0] = xmalloc(sizeof(*at) * (all->n + 1U));
	at[0] = 0; /* "" */
	for (uint32_t k = 1; k < all->n; k++) {
		at[k] = d->text_size <= UINT32_MAX ? (uint32_t)d->text_size : 0;
		d->text_size += all->len[k] + 1U;
	}
	for (uint32_t i = 1; i < d->n_scans; i++)
		for (uint32_t k = 0; k < of[i]->n; k++)
			places[i][k] = at[places[i][k]];
}

static void place_text(struct draft *d)
{
	struct strings *names[MAX_THREADS], *files[MAX_THREADS];

	for (uint32_t i = 0; i < d->n_scans; i++) {
		names[i] = &d->scans[i].names;
		files[i] = &d->scans[i].files;
	}
	d->text_size = 1;
	place_strings(d, names, d->names);
	place_strings(d, files, d->files);
}

static char *put_strings(char *at, const struct strings *s)
{
	for (uint32_t k = 1; k < s->n; k++) {
		memcpy(at, s->text[k], s->len[k] + 1U);
		at += s->len[k] + 1U;
	}
	return at;
}

static void fill_text(struct draft *d)
{
	char *at = (char *)d->out.text;

	*at++ = '\0';
	at = put_strings(at, &d->scans[0].names);
	put_strings(at, &d->scans[0].files);
}

/* ---- the block ---- */

/* Leaves their numbers in the header. */
static void number_nodes_and_places(struct draft *d, struct line_header *like)
{
	for (uint32_t i = 0; i < d->n_scans; i++) {
		d->first_node[i] = like->n_nodes;
		d->first_place[i] = like->n_places;
		like->n_nodes += (uint32_t)d->scans[i].nodes.n;
		like->n_places += (uint32_t)d->scans[i].places.list.n;
	}
}

static void fill_nodes(struct draft *d)
{
	struct line_node *out = (struct line_node *)d->out.nodes;

	for (uint32_t i = 0; i < d->n_scans; i++)
		vec_foreach (&d->scans[i].nodes, node) {
			*out = *node;
			if (out->parent != NO_NODE)
				out->parent += d->first_node[i];
			out->name = d->names[i][node->name];
			out->called += d->first_place[i];
			out++;
		}
}

static void fill_places(struct draft *d)
{
	struct line_place *out = (struct line_place *)d->out.places;

	for (uint32_t i = 0; i < d->n_scans; i++)
		vec_foreach (&d->scans[i].places.list, place) {
			*out = *place;
			out->file = d->files[i][place->file];
			out++;
		}
}

/* The start of the last item: few bytes or none follow. */
static uint32_t line_draft_span_of(const struct draft *d)
{
	uint32_t rows = d->rows.n ? d->rows.data[d->rows.n - 1].end : 0;

	return d->scopes.n ? MAX(rows, d->scopes.data[d->scopes.n - 1].end) : rows;
}

static struct line_header *line_draft_make_block(struct draft *d, size_t *size)
{
	struct line_header like = {
		.n_rows = d->rows.n_items,
		.n_scopes = d->scopes.n_items,
		.base = d->scans[0].base,
		.text_size = d->text_size,
	};
	struct line_header *block;
	bool is_parallel;
	pthread_t other;

	number_nodes_and_places(d, &like);
	block = line_block_new(&like, line_draft_span_of(d), size, &d->out);
	is_parallel = d->n_scans > 1 && thread_start(&other, fill_rows, d);
	if (!is_parallel)
		fill_rows(d);
	fill_scopes(d);
	fill_nodes(d);
	fill_places(d);
	fill_text(d);
	if (is_parallel)
		pthread_join(other, NULL);
	line_block_seal(block, *size);
	return block;
}

static void sum_losses(struct draft *d, struct line_losses *out)
{
	*out = (struct line_losses){ .n_units = d->units.n };
	for (uint32_t i = 0; i < d->n_scans; i++) {
		struct line_losses *l = &d->scans[i].losses;

		out->n_bad_units += l->n_bad_units;
		out->n_missing_split += l->n_missing_split;
		out->is_cut |= l->is_cut;
		if (!out->missing_split)
			out->missing_split = take_ptr(l->missing_split);
	}
}

static void draft_fini(struct draft *d)
{
	for (uint32_t i = 0; i < d->n_scans; i++) {
		line_scan_fini(&d->scans[i]);
		free(d->names[i]);
		free(d->files[i]);
	}
	vec_fini(&d->units);
	vec_fini(&d->alt_units);
	vec_fini(&d->rows);
	vec_fini(&d->scopes);
	intmap_fini(&d->lines);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* More than arranging the lists of all scans and laying them out takes. */
static int line_draft_reserve(struct reserve *room, const struct draft *d)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < d->n_scans; i++) {
		const struct line_scan *s = &d->scans[i];

		bytes += s->rows.list.n * sizeof(*s->rows.list.data) +
			 s->rows.runs.n * sizeof(struct run_ref) +
			 s->scopes.list.n * sizeof(*s->scopes.list.data) +
			 s->scopes.runs.n * sizeof(struct run_ref) +
			 s->nodes.n * sizeof(*s->nodes.data) +
			 s->places.list.n * sizeof(*s->places.list.data) +
			 strings_memory(&s->names) + strings_memory(&s->files);
	}
	return reserve_take(room, bytes, 4);
}

struct line_header *line_draft_make(const struct line_source *source, size_t *size,
				    struct line_losses *losses)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	struct draft *d = xcalloc(1, sizeof(*d));
	struct line_header *block = NULL;

	d->source = source;
	pthread_mutex_init(&d->lock, NULL);
	line_draft_list_units(&d->units, source->dwarf);
	line_draft_list_units(&d->alt_units, source->alt);
	scan_all(d);
	sum_losses(d, losses);
	if (line_draft_reserve(&room, d) == 0) {
		place_text(d);
		arrange_rows(d);
		arrange_scopes(d);
	}
	if (d->rows.n || d->scopes.n)
		block = line_draft_make_block(d, size);
	draft_fini(d);
	return block;
}
