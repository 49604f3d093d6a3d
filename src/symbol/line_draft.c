/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/line_draft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 8

struct units {
	struct dwarf_unit *data;
	size_t n, cap;
};

struct draft {
	const struct line_source *source;
	struct units units, alt_units;
	struct line_scan scans[MAX_THREADS];
	uint32_t n_scans;
	atomic_uint next; /* unit that no thread has taken */
	pthread_mutex_t lock;
	struct intmap lines; /* line programs that have been taken, by offset */

	/* What the runs become. */
	VEC(uint32_t) row_starts;
	VEC(struct line_place) row_places;
	VEC(uint32_t) scope_starts;
	VEC(uint32_t) scope_nodes;
	uint32_t *names[MAX_THREADS], *files[MAX_THREADS]; /* a scan's ids to places in text */
	uint32_t first_node[MAX_THREADS];                  /* its nodes follow the scans' before */
	struct buf text;
};

static void list_units(struct units *out, const struct dwarf_file *file)
{
	struct dwarf_unit unit;
	uint64_t at = 0;

	while (file && dwarf_unit_next(file, &at, &unit))
		vec_push(out, unit);
}

/* ---- scanning ---- */

static bool take_lines(void *data, uint64_t stmt_list)
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

	while ((i = atomic_fetch_add(&w->draft->next, 1)) < w->draft->units.n)
		line_scan_unit(w->scan, i, take_lines, w->draft);
	return NULL;
}

static uint32_t count_threads(const struct draft *d)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	n = MIN(n, (long)d->units.n / 2);
	return (uint32_t)MIN(MAX(n, 1), MAX_THREADS);
}

/* The calling thread works too; with threads that can't be had it does their part. */
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
		if (pthread_create(&threads[n_threads], NULL, scan_units, &workers[i]) == 0)
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
	free(to); /* after four turns the sorted ones are where they were */
}

/* Which thread read which unit is chance; what comes of it must not be. */
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

/* Gives item i of a run, or with i == n its end, to the list. */
typedef void (*emit_fn)(struct draft *d, const struct run_ref *ref, uint32_t i, uint32_t start);

static void lay_out(struct draft *d, const struct run_refs *refs, const uint32_t *const starts[],
		    emit_fn emit)
{
	uint32_t covered = 0; /* up to where the list speaks */

	for (size_t k = 0; k < refs->n; k++) {
		const struct run_ref *ref = &refs->data[k];
		const struct line_run *run = &ref->run;
		const uint32_t *at = starts[ref->scan] + run->first;

		if (run->end <= covered)
			continue;
		for (uint32_t i = 0; i < run->n; i++) {
			uint32_t end = i + 1 < run->n ? at[i + 1] : run->end;

			if (end > covered && at[i] < run->end)
				emit(d, ref, i, MAX(at[i], covered));
		}
		covered = run->end;
		if (k + 1 == refs->n || refs->data[k + 1].run.start > covered)
			emit(d, ref, run->n, covered);
	}
}

static void emit_row(struct draft *d, const struct run_ref *ref, uint32_t i, uint32_t start)
{
	struct line_place place = { 0 };

	if (i < ref->run.n) {
		place = d->scans[ref->scan].rows.places.data[ref->run.first + i];
		place.file = d->files[ref->scan][place.file];
	}
	vec_push(&d->row_starts, start);
	vec_push(&d->row_places, place);
}

static void emit_node(struct draft *d, const struct run_ref *ref, uint32_t i, uint32_t start)
{
	uint32_t node = NO_NODE;

	if (i < ref->run.n)
		node = d->scans[ref->scan].scopes.nodes.data[ref->run.first + i] +
		       d->first_node[ref->scan];
	vec_push(&d->scope_starts, start);
	vec_push(&d->scope_nodes, node);
}

static void *lay_out_rows(void *data)
{
	struct draft *d = data;
	const uint32_t *starts[MAX_THREADS];
	struct run_refs refs = { 0 };

	for (uint32_t i = 0; i < d->n_scans; i++) {
		starts[i] = d->scans[i].rows.starts.data;
		vec_foreach (&d->scans[i].rows.runs, run) {
			vec_push(&refs, (struct run_ref){ *run, i });
		}
	}
	order_runs(&refs);
	lay_out(d, &refs, starts, emit_row);
	vec_fini(&refs);
	return NULL;
}

static void lay_out_scopes(struct draft *d)
{
	const uint32_t *starts[MAX_THREADS];
	struct run_refs refs = { 0 };

	for (uint32_t i = 0; i < d->n_scans; i++) {
		starts[i] = d->scans[i].scopes.starts.data;
		vec_foreach (&d->scans[i].scopes.runs, run) {
			vec_push(&refs, (struct run_ref){ *run, i });
		}
	}
	order_runs(&refs);
	lay_out(d, &refs, starts, emit_node);
	vec_fini(&refs);
}

/* ---- text ---- */

static uint32_t *place_strings(struct draft *d, struct strings *all, struct buf *offsets,
			       const struct strings *of)
{
	uint32_t *map = xmalloc(sizeof(*map) * (of->n + 1U));

	for (uint32_t i = 0; i < of->n; i++) {
		uint32_t id = strings_add_n(all, of->text[i], of->len[i]).n;

		if (offsets->len / 4 <= id) {
			buf_u32(offsets, (uint32_t)d->text.len);
			buf_bytes(&d->text, of->text[i], of->len[i]);
			buf_u8(&d->text, 0);
		}
		memcpy(&map[i], offsets->data + 4 * (size_t)id, 4);
	}
	return map;
}

static void merge_text(struct draft *d)
{
	struct strings all;
	struct buf offsets = { 0 };

	strings_init(&all); /* with "" as the first */
	buf_u32(&offsets, 0);
	buf_u8(&d->text, 0);
	for (uint32_t i = 0; i < d->n_scans; i++) {
		d->names[i] = place_strings(d, &all, &offsets, &d->scans[i].names);
		d->files[i] = place_strings(d, &all, &offsets, &d->scans[i].files);
	}
	strings_fini(&all);
	buf_fini(&offsets);
}

/* ---- the block ---- */

static uint32_t number_nodes(struct draft *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n_scans; i++) {
		d->first_node[i] = n;
		n += (uint32_t)d->scans[i].nodes.n;
	}
	return n;
}

static void copy_nodes(const struct draft *d, struct line_node *out)
{
	for (uint32_t i = 0; i < d->n_scans; i++)
		vec_foreach (&d->scans[i].nodes, node) {
			*out = *node;
			if (out->parent != NO_NODE)
				out->parent += d->first_node[i];
			out->name = d->names[i][node->name];
			out->called.file = d->files[i][node->called.file];
			out++;
		}
}

static void *append(uint8_t **at, const void *bytes, size_t n)
{
	void *start = *at;

	if (bytes && n)
		memcpy(start, bytes, n);
	*at += n;
	return start;
}

static struct line_header *make_block(struct draft *d, uint32_t n_nodes, size_t *size)
{
	size_t n_rows = d->row_starts.n, n_scopes = d->scope_starts.n;
	struct line_header *h;
	uint8_t *at;

	*size = sizeof(*h) + n_rows * (4 + sizeof(struct line_place)) + n_scopes * 8 +
		n_nodes * sizeof(struct line_node) + d->text.len;
	h = xmalloc(*size);
	*h = (struct line_header){
		.magic = LINE_MAGIC,
		.version = LINE_VERSION,
		.n_rows = (uint32_t)n_rows,
		.n_scopes = (uint32_t)n_scopes,
		.n_nodes = n_nodes,
		.base = d->scans[0].base,
		.text_size = d->text.len,
	};
	at = (uint8_t *)(h + 1);
	append(&at, d->row_starts.data, n_rows * 4);
	append(&at, d->scope_starts.data, n_scopes * 4);
	append(&at, d->row_places.data, n_rows * sizeof(struct line_place));
	append(&at, d->scope_nodes.data, n_scopes * 4);
	copy_nodes(d, append(&at, NULL, n_nodes * sizeof(struct line_node)));
	append(&at, d->text.data, d->text.len);
	return h;
}

static void merge(struct draft *d)
{
	pthread_t other;
	bool is_parallel;

	merge_text(d);
	is_parallel = d->n_scans > 1 && pthread_create(&other, NULL, lay_out_rows, d) == 0;
	if (!is_parallel)
		lay_out_rows(d);
	lay_out_scopes(d);
	if (is_parallel)
		pthread_join(other, NULL);
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
	vec_fini(&d->row_starts);
	vec_fini(&d->row_places);
	vec_fini(&d->scope_starts);
	vec_fini(&d->scope_nodes);
	intmap_fini(&d->lines);
	buf_fini(&d->text);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

struct line_header *line_draft_make(const struct line_source *source, size_t *size,
				    struct line_losses *losses)
{
	struct draft *d = xcalloc(1, sizeof(*d));
	struct line_header *block = NULL;
	uint32_t n_nodes;

	d->source = source;
	pthread_mutex_init(&d->lock, NULL);
	list_units(&d->units, source->dwarf);
	list_units(&d->alt_units, source->alt);
	scan_all(d);
	sum_losses(d, losses);
	n_nodes = number_nodes(d);
	merge(d);
	if (d->row_starts.n || d->scope_starts.n)
		block = make_block(d, n_nodes, size);
	draft_fini(d);
	return block;
}
