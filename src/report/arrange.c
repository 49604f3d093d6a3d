/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/arrange.h"

#include <stdlib.h>
#include <string.h>

#include "base/intmap.h"
#include "profile/walk.h"

struct arranger {
	struct report *r;
	struct column_list sort;
	struct threshold threshold;
	bool by_total;   /* the threshold is for totals, as the order is */
	uint32_t *order; /* rows, heading by heading */
	uint32_t *start; /* by parent + 1: its first in `order`; the top level's parent is -1 */
	struct rows out;
};

static void parse_sort(struct arranger *a)
{
	const char *text = a->r->options->sort;

	if (!text)
		text = a->r->options->by_period ? "events" : "samples";
	column_list_parse(&a->sort, text, NULL);
	a->by_total = !strncmp(a->sort.column[0]->key, "total", 5);
}

/* ---- headings ---- */

static void add_selves(struct report *r, uint32_t to, uint32_t from)
{
	for (uint32_t lane = 0; lane < r->profile->n_lanes; lane++)
		weight_add(&rows_cells(&r->rows, to)[lane].self,
			   &rows_cells(&r->rows, from)[lane].self);
}

/* The GROUP row of the leading keys of an item, below `parent`. */
static uint32_t group_row(struct report *r, struct intmap *groups, uint32_t item, uint32_t level,
			  uint32_t parent)
{
	enum profile_key key = r->keys.key[level];
	uint32_t value = r->rows.list.data[item].value[key], row;
	bool is_new;
	uint32_t *id = intmap_put(groups, (uint64_t)parent << 32 | value, &is_new);

	if (!is_new)
		return *id;
	*id = row = rows_add(&r->rows, ROW_GROUP, level, parent);
	for (uint32_t i = 0; i <= level; i++)
		r->rows.list.data[row].value[r->keys.key[i]] =
			r->rows.list.data[item].value[r->keys.key[i]];
	if (key == PROFILE_SYMBOL)
		r->rows.list.data[row].value[PROFILE_IMAGE] =
			r->rows.list.data[item].value[PROFILE_IMAGE];
	return row;
}

static void add_groups(struct report *r)
{
	uint32_t n_items = (uint32_t)r->rows.list.n, last = (uint32_t)r->keys.n - 1;
	struct intmap groups = { 0 };

	for (uint32_t item = 0; item < n_items; item++) {
		uint32_t parent = NO_INDEX;

		for (uint32_t level = 0; level < last; level++) {
			parent = group_row(r, &groups, item, level, parent);
			add_selves(r, parent, item);
		}
		r->rows.list.data[item].parent = parent;
		r->rows.list.data[item].depth = (uint16_t)last;
	}
	intmap_fini(&groups);
}

/* ---- order ---- */

static const char *name_of(const struct report *r, uint32_t row, enum profile_key key,
			   char scratch[static KEY_TEXT_SIZE])
{
	uint32_t value = r->rows.list.data[row].value[key];

	return value == NO_INDEX ? "" : profile_key_text(r->profile, key, value, scratch);
}

/* Of rows with equal columns. Their numbers depend on the number of processors that read them. */
static int compare_names(const struct report *r, uint32_t i, uint32_t k)
{
	char scratch_i[KEY_TEXT_SIZE], scratch_k[KEY_TEXT_SIZE];
	int order = 0;

	for (size_t n = 0; n <= r->keys.n && !order; n++) {
		enum profile_key key = n < r->keys.n ? r->keys.key[n] : PROFILE_IMAGE;

		order = strverscmp(name_of(r, i, key, scratch_i), name_of(r, k, key, scratch_k));
	}
	return order;
}

static int compare_rows(const void *x, const void *y, void *context)
{
	const struct arranger *a = context;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	int order;

	for (size_t c = 0; c < a->sort.n; c++) {
		order = column_compare(a->r, a->sort.column[c], i, k);
		if (order)
			return a->sort.is_reversed[c] ? -order : order;
	}
	order = compare_names(a->r, i, k);
	return order ? order : (i > k) - (i < k);
}

/* Each heading's rows, in the order of their numbers. */
static void arrange_group_rows(struct arranger *a)
{
	const struct rows *rows = &a->r->rows;
	uint32_t n = (uint32_t)rows->list.n;

	a->order = xcalloc((size_t)n + 1, sizeof(uint32_t));
	a->start = xcalloc((size_t)n + 2, sizeof(uint32_t));
	vec_foreach (&rows->list, row)
		a->start[row->parent + 1]++;
	for (uint32_t i = 0; i <= n; i++)
		a->start[i + 1] += a->start[i];
	for (uint32_t i = n; i-- > 0;)
		a->order[--a->start[rows->list.data[i].parent + 1]] = i;
}

static void swap_rows(uint32_t *x, uint32_t *y)
{
	uint32_t old = *x;

	*x = *y;
	*y = old;
}

/* Restores a heap, which has the row that stands last on top, where only `at` is at a wrong place.
 */
static void sink_row(struct arranger *a, uint32_t *heap, size_t n, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && compare_rows(&heap[child + 1], &heap[child], a) > 0)
			child++;
		if (compare_rows(&heap[child], &heap[at], a) <= 0)
			return;
		swap_rows(&heap[child], &heap[at]);
	}
}

/* Moves the first `most` of n rows to the front; n is larger. */
static void select_rows(struct arranger *a, uint32_t *order, size_t n, size_t most)
{
	for (size_t i = most / 2; i-- > 0;)
		sink_row(a, order, most, i);
	for (size_t i = most; i < n; i++) {
		if (compare_rows(&order[i], &order[0], a) >= 0)
			continue;
		swap_rows(&order[i], &order[0]);
		sink_row(a, order, most, 0);
	}
}

/*
 * Sorts order[first, end). Of more rows than can be shown, only those are sorted that may be: of a
 * million functions, a thousand.
 */
static void arrange_sort_rows(struct arranger *a, uint32_t first, uint32_t end, bool has_heading)
{
	uint64_t max = a->threshold.limits->max_rows;
	uint32_t *order = &a->order[first];
	size_t n = end - first, n_heavy = 0;

	if (max && max < n && !has_heading) {
		for (size_t i = 0; i < n; i++)
			if (threshold_takes(&a->threshold, rows_cells(&a->r->rows, order[i]),
					    a->by_total))
				swap_rows(&order[i], &order[n_heavy++]);
		if (max < n_heavy)
			select_rows(a, order, n_heavy, max);
		n = MIN(n_heavy, max);
	}
	qsort_r(order, n, sizeof(*order), compare_rows, a);
}

/* ---- output ---- */

static uint32_t copy_row(struct arranger *a, uint32_t from, uint32_t depth, uint32_t parent)
{
	const struct rows *rows = &a->r->rows;
	uint32_t row = rows_add(&a->out, rows->list.data[from].kind, depth, parent);

	a->out.list.data[row] = rows->list.data[from];
	a->out.list.data[row].depth = a->out.list.data[row].indent = (uint16_t)depth;
	a->out.list.data[row].parent = parent;
	memcpy(rows_cells(&a->out, row), rows_cells(rows, from),
	       rows->n_lanes * sizeof(struct cell));
	return row;
}

/* A function that was only a caller has no self samples. */
static bool arrange_has_samples(const struct rows *rows, uint32_t row)
{
	for (uint32_t lane = 0; lane < rows->n_lanes; lane++)
		if (rows_cells(rows, row)[lane].self.samples)
			return true;
	return false;
}

static void hide_row(struct arranger *a, uint32_t *other, uint32_t from, uint32_t depth,
		     uint32_t parent)
{
	const struct rows *rows = &a->r->rows;

	if (!arrange_has_samples(rows, from))
		return;
	if (*other == NO_INDEX) {
		*other = rows_add(&a->out, ROW_OTHER, depth, parent);
		if (parent != NO_INDEX)
			memcpy(a->out.list.data[*other].value, a->out.list.data[parent].value,
			       sizeof(a->out.list.data[0].value));
	}
	a->out.list.data[*other].n_hidden++;
	for (uint32_t lane = 0; lane < rows->n_lanes; lane++)
		weight_add(&rows_cells(&a->out, *other)[lane].self,
			   &rows_cells(rows, from)[lane].self);
}

/* A program all of whose samples are in itself needs no list of images. */
static bool is_own_image(const struct arranger *a, uint32_t group, uint32_t child)
{
	const struct row *row = &a->r->rows.list.data[child];

	return row->kind == ROW_ITEM && a->start[group + 2] - a->start[group + 1] == 1 &&
	       row->value[PROFILE_IMAGE] == row->value[PROFILE_APP] && a->r->keys.n == 2 &&
	       a->r->keys.key[1] == PROFILE_IMAGE;
}

/* Under a heading that is shown, this many rows are, however light. */
#define ROWS_UNDER_HEADING 3

#define HIDDEN 0x80000000u

/*
 * Sorts the rows of order[first, end), and marks those that are too many or too light. A single
 * light row is shown, because an "other" row would take as much room.
 */
static void arrange_hide_light(struct arranger *a, uint32_t first, uint32_t end, bool has_heading)
{
	uint64_t n_shown = 0, max = a->threshold.limits->max_rows;
	uint32_t n_light = 0, light = 0;

	arrange_sort_rows(a, first, end, has_heading);
	for (uint32_t i = first; i < end; i++) {
		const struct cell *cells = rows_cells(&a->r->rows, a->order[i]);
		bool is_kept =
			has_heading && (a->r->view->whole_groups || i - first < ROWS_UNDER_HEADING);

		if (max && n_shown >= max) {
			a->order[i] |= HIDDEN;
		} else if (is_kept || threshold_takes(&a->threshold, cells, a->by_total)) {
			n_shown++;
		} else {
			a->order[i] |= HIDDEN;
			light = i;
			n_light++;
		}
	}
	if (n_light == 1 && (!max || n_shown < max))
		a->order[light] &= ~HIDDEN;
}

/* The rows below `from` (NO_INDEX: the top level); recursion is as deep as there are keys. */
static void arrange_put_rows(struct arranger *a, uint32_t from, uint32_t depth, uint32_t parent)
{
	uint32_t other = NO_INDEX, first = a->start[from + 1], end = a->start[from + 2];

	arrange_hide_light(a, first, end, from != NO_INDEX);
	for (uint32_t i = first; i < end; i++) {
		uint32_t row = a->order[i], child;

		if (row & HIDDEN)
			continue;
		child = a->start[row + 1] < a->start[row + 2] ? a->order[a->start[row + 1]]
							      : NO_INDEX;
		if (child != NO_INDEX && is_own_image(a, row, child))
			copy_row(a, child, depth, parent);
		else
			arrange_put_rows(a, row, depth + 1, copy_row(a, row, depth, parent));
	}
	for (uint32_t i = first; i < end; i++)
		if (a->order[i] & HIDDEN)
			hide_row(a, &other, a->order[i] & ~HIDDEN, depth, parent);
}

void arrange(struct report *r, const struct row_limits *limits)
{
	struct arranger a = { .r = r };

	parse_sort(&a);
	if (r->view->layout == LAYOUT_NEST && r->keys.n > 1)
		add_groups(r);
	threshold_init(&a.threshold, r->profile, limits);
	arrange_group_rows(&a);
	a.out.n_lanes = r->rows.n_lanes;
	arrange_put_rows(&a, NO_INDEX, 0, NO_INDEX);
	rows_fini(&r->rows);
	r->rows = a.out;
	threshold_fini(&a.threshold);
	free(a.order);
	free(a.start);
}
