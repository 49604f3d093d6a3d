/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reserve.h"
#include "profile/merge.h"
#include "profile/walk.h"
#include "report/arrange.h"
#include "report/report.h"
#include "store/session.h"

static void summary_keys(const struct report_options *o, struct key_list *keys)
{
	if (!(o->merge & MERGE_LIB))
		key_list_add(keys, PROFILE_APP);
	key_list_add(keys, PROFILE_IMAGE);
}

static void list_keys(const struct report_options *o, struct key_list *keys)
{
	*keys = o->by;
	key_list_add(keys, PROFILE_IMAGE);
	key_list_add(keys, PROFILE_SYMBOL);
	if (o->with_lines)
		key_list_add(keys, PROFILE_LINE);
}

/* Every function, and below it the instructions that samples fell on. */
static void details_keys(const struct report_options *o, struct key_list *keys)
{
	*keys = o->by;
	key_list_add(keys, PROFILE_SYMBOL);
	key_list_add(keys, PROFILE_ADDRESS);
}

static void make_tree(const struct report *r, const struct row_limits *limits, struct rows *out)
{
	profile_tree(r->profile, limits, out);
}

static void make_inverted(const struct report *r, const struct row_limits *limits, struct rows *out)
{
	profile_inverted(r->profile, limits, out);
}

static void make_callgraph(const struct report *r, const struct row_limits *limits,
			   struct rows *out)
{
	profile_callgraph(r->profile, limits, out);
}

/*
 * Columns that do not apply are left out: see applies(). "keys" stands for the
 * keys of the view in their order.
 */
#define WEIGHTS "samples,percent,events,total,total_percent,total_events"

const struct view summary_view = {
	.name = "summary",
	.layout = LAYOUT_NEST,
	.text_columns = "samples,percent,events,name",
	.data_columns = "event,classes,keys,build_id,samples,percent,events,other",
	.text_percent = 0.5,
	.keys = summary_keys,
};

const struct view list_view = {
	.name = "symbols",
	.layout = LAYOUT_FLAT,
	.with_functions = true,
	.with_chains = true,
	.text_columns = "address,samples,cum_samples,percent,cum_percent,events,total,"
			"total_percent,keys",
	.data_columns =
		"event,classes,address,keys,pid,tid,build_id,cum_samples,cum_percent," WEIGHTS
		",other",
	.text_percent = 0.1,
	.keys = list_keys,
};

const struct view details_view = {
	.name = "details",
	.layout = LAYOUT_NEST,
	.with_functions = true,
	.text_columns = "address,samples,percent,events,image,line,name",
	.data_columns = "event,classes,keys,line,image,pid,tid,build_id," WEIGHTS ",other",
	.text_percent = 0.1,
	.whole_groups = true,
	.of_parent = true,
	.keys = details_keys,
};

const struct view nest_view = {
	.name = "by",
	.layout = LAYOUT_NEST,
	.with_chains = true,
	.text_columns = "samples,percent,events,total,total_percent,image,name",
	.data_columns = "event,classes,keys,image,pid,tid,build_id," WEIGHTS ",other",
	.text_percent = 0.2,
};

const struct view tree_view = {
	.name = "tree",
	.layout = LAYOUT_TREE,
	.with_functions = true,
	.with_chains = true,
	.text_columns = "total,total_percent,samples,percent,image,name",
	.data_columns = "id,parent,depth,event,classes,keys,pid,tid,image,symbol,build_id," WEIGHTS
			",other",
	.text_percent = 0.5,
	.data_percent = 0.5,
	.make = make_tree,
};

const struct view inverted_view = {
	.name = "inverted",
	.layout = LAYOUT_TREE,
	.with_functions = true,
	.with_chains = true,
	.text_columns = "total,total_percent,image,name",
	.data_columns = "id,parent,depth,event,classes,keys,pid,tid,image,symbol,build_id," WEIGHTS
			",other",
	.text_percent = 0.5,
	.data_percent = 0.5,
	.make = make_inverted,
};

const struct view callgraph_view = {
	.name = "callgraph",
	.layout = LAYOUT_BLOCKS,
	.with_functions = true,
	.with_chains = true,
	.text_columns = "address,total,total_percent,samples,percent,image,name",
	.data_columns =
		"block,role,event,classes,pid,tid,address,image,symbol,build_id," WEIGHTS ",other",
	.text_percent = 0.5,
	.data_percent = 0.5,
	.make = make_callgraph,
};

static void view_keys(const struct view *view, const struct report_options *options,
		      struct key_list *keys)
{
	*keys = (struct key_list){ 0 };
	if (view->keys)
		view->keys(options, keys);
	else
		*keys = options->by;
	/* Without applications an image is one row, whoever uses it. */
	for (size_t i = 0; (options->merge & MERGE_LIB) && i < keys->n; i++)
		if (keys->key[i] == PROFILE_APP)
			keys->key[i] = PROFILE_IMAGE;
}

static bool views_has_code_key(const struct key_list *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		if (profile_keys[keys->key[i]].kind == KEY_CODE)
			return true;
	return false;
}

/* A tree's rows are functions: only keys of whole samples split it. */
static int refuse_code_key(struct error *err)
{
	struct buf names = { 0 };

	for (int key = 0; key < N_PROFILE_KEYS; key++)
		if (profile_keys[key].kind == KEY_CLASS)
			buf_printf(&names, "%s%s", names.len ? ", " : "", profile_keys[key].key);
	error_set(err, -EINVAL,
		  "--by: trees can be split by %s; other keys are of the functions in them",
		  buf_cstr(&names));
	buf_fini(&names);
	return -EINVAL;
}

static int check_by(const struct view *view, const struct report_options *o, struct error *err)
{
	bool is_list = view->layout == LAYOUT_NEST || view->layout == LAYOUT_FLAT;

	if (o->for_xml && (o->by.n || (view != &summary_view && view != &list_view &&
				       view != &details_view && view != &callgraph_view)))
		return error_set(err, -EINVAL,
				 "--format xml: is of the summary, --symbols, --details and "
				 "--callgraph, without --by");
	if (o->accumulated && view != &list_view)
		return error_set(err, -EINVAL,
				 "--accumulated: goes with a list of functions (--symbols)");
	if (o->with_addresses && view->layout != LAYOUT_FLAT && view->layout != LAYOUT_BLOCKS)
		return error_set(
			err, -EINVAL,
			"--addresses: goes with --symbols and --callgraph; --details has them");
	if (!is_list && o->sort)
		return error_set(err, -EINVAL, "--sort: a %s is sorted by weight", view->name);
	if (o->with_lines && view != &list_view && view != &details_view)
		return error_set(err, -EINVAL,
				 "--lines: goes with a list of functions (--symbols); with --by, "
				 "file and line are keys");
	if (o->with_inlines && is_list)
		return error_set(err, -EINVAL,
				 "--inline: goes with --tree, --inverted and --callgraph; in lists "
				 "inlined code counts for the function that it is in");
	if (is_list || !o->by.n)
		return 0;
	if (view == &callgraph_view)
		return error_set(err, -EINVAL,
				 "--by: does not go with %s; choose one with a filter, such as "
				 "pid:N",
				 view->name);
	if (views_has_code_key(&o->by))
		return refuse_code_key(err);
	return 0;
}

static int check_columns(const char *option, const char *text, struct error *err)
{
	struct column_list ignored = { .n = 0 };
	int r = text ? column_list_parse(&ignored, text, err) : 0;

	return r < 0 ? error_wrap(err, r, "%s", option) : 0;
}

/* Other rows are sums by image, process and so on. */
static bool has_function_rows(const struct view *view, const struct key_list *keys)
{
	return view->layout == LAYOUT_TREE || view->layout == LAYOUT_BLOCKS ||
	       key_list_has(keys, PROFILE_SYMBOL);
}

int report_request(const struct view *view, const struct report_options *options,
		   struct profile_request *request, struct error *err)
{
	int r = check_by(view, options, err);

	if (r >= 0)
		r = check_columns("--sort", options->sort, err);
	if (r >= 0)
		r = check_columns("--columns", options->columns, err);
	if (r < 0)
		return r;
	view_keys(view, options, &request->keys);
	if (options->for_xml && !(options->merge & MERGE_LIB))
		key_list_add(&request->keys, PROFILE_APP);
	if (options->with_classes)
		request->columns = merge_columns(options->merge);
	request->merge_masks = options->with_classes && (options->merge & MERGE_UNITMASK);
	request->with_addresses = key_list_has(&request->keys, PROFILE_ADDRESS);
	request->with_lines = options->with_lines || key_list_has(&request->keys, PROFILE_LINE) ||
			      key_list_has(&request->keys, PROFILE_FILE);
	request->with_inlines = options->with_inlines;
	request->with_wakers = options->with_wakers;
	request->with_functions =
		view->with_functions || request->with_lines || request->with_addresses ||
		key_list_has(&request->keys, PROFILE_SYMBOL) ||
		key_list_has(&request->keys, PROFILE_CONTEXT) ||
		query_has(request->query, FILTER_CONTEXT) ||
		wakers_are_wanted(&request->keys, request->query) ||
		query_has(request->query, FILTER_FILE) ||
		key_list_has(&request->keys, PROFILE_LANGUAGE) ||
		query_has(request->query, FILTER_LANGUAGE) ||
		request->query->frames != FRAMES_BOTH || query_has(request->query, FILTER_SYMBOL) ||
		query_has(request->query, FILTER_SYMBOL_EXCLUDE) ||
		query_has(request->query, FILTER_VIA);
	request->merges_jit = has_function_rows(view, &request->keys) && !options->with_addresses &&
			      !request->with_addresses &&
			      !key_list_has(&options->by, PROFILE_IMAGE);
	/* Callers have no instruction that was sampled. */
	request->with_chains = view->with_chains && !request->with_addresses &&
			       (view->layout != LAYOUT_NEST || views_has_code_key(&request->keys));
	return 0;
}

/* ---- columns ---- */

static bool has_addresses(const struct report *r)
{
	return key_list_has(&r->keys, PROFILE_ADDRESS);
}

static bool shows_key(const struct report *r, enum profile_key key)
{
	bool is_code = r->view->layout == LAYOUT_TREE || r->view->layout == LAYOUT_BLOCKS;

	if (key == PROFILE_EVENT && r->options->for_program)
		return true;
	if (key == PROFILE_ADDRESS)
		return r->options->with_addresses || (r->options->for_program && has_addresses(r));
	if (key_list_has(&r->profile->lane_keys, key))
		return r->options->for_program;
	if (key == PROFILE_SYMBOL || key == PROFILE_IMAGE)
		return is_code || key_list_has(&r->keys, key) ||
		       key_list_has(&r->keys, PROFILE_SYMBOL);
	return key_list_has(&r->keys, key);
}

struct column_rule {
	const char *key;
	bool (*applies)(const struct report *r);
};

static bool has_events(const struct report *r)
{
	return r->options->for_program || r->options->by_period ||
	       profile_weighs_by_period(r->profile);
}

static bool has_totals(const struct report *r)
{
	if (!r->profile->has_chains && !r->profile->has_totals)
		return false;
	vec_foreach (&r->rows.list, row)
		if (row->has_total)
			return true;
	return false;
}

/* Several events side by side leave no room for it. */
static bool has_total_percent(const struct report *r)
{
	return has_totals(r) && (r->options->for_program || r->profile->n_lanes == 1);
}

static bool has_total_events(const struct report *r)
{
	return has_totals(r) && (r->options->for_program || r->options->by_period);
}

static bool has_pid(const struct report *r)
{
	return key_list_has(&r->keys, PROFILE_PROCESS) || key_list_has(&r->keys, PROFILE_THREAD) ||
	       key_list_has(&r->profile->lane_keys, PROFILE_PROCESS) ||
	       key_list_has(&r->profile->lane_keys, PROFILE_THREAD);
}

static bool has_tid(const struct report *r)
{
	return key_list_has(&r->keys, PROFILE_THREAD) ||
	       key_list_has(&r->profile->lane_keys, PROFILE_THREAD);
}

static bool has_image(const struct report *r)
{
	return shows_key(r, PROFILE_IMAGE);
}

/* In a nest, the image has a column if the symbol is a key and the image is not. */
static bool has_image_column(const struct report *r)
{
	if (r->view->layout == LAYOUT_NEST && !r->options->for_program)
		return key_list_has(&r->keys, PROFILE_SYMBOL) &&
		       !key_list_has(&r->keys, PROFILE_IMAGE);
	return has_image(r);
}

static bool has_event(const struct report *r)
{
	return shows_key(r, PROFILE_EVENT);
}

static bool has_address(const struct report *r)
{
	return shows_key(r, PROFILE_ADDRESS);
}

static bool has_line(const struct report *r)
{
	return shows_key(r, PROFILE_LINE) || (has_addresses(r) && r->options->with_lines);
}

static bool is_accumulated(const struct report *r)
{
	return r->options->accumulated;
}

static const struct column_rule column_rules[] = {
	{ "address", has_address },
	{ "line", has_line },
	{ "cum_samples", is_accumulated },
	{ "cum_percent", is_accumulated },
	{ "events", has_events },
	{ "total", has_totals },
	{ "total_percent", has_total_percent },
	{ "total_events", has_total_events },
	{ "pid", has_pid },
	{ "tid", has_tid },
	{ "build_id", has_image },
	{ "image", has_image_column },
	{ "event", has_event },
};

static bool applies(const struct report *r, const char *key)
{
	/* A tree or block without totals would be nothing: there they always apply. */
	if (!strncmp(key, "total", 5) && strcmp(key, "total_events") &&
	    (r->view->layout == LAYOUT_TREE || r->view->layout == LAYOUT_BLOCKS))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(column_rules); i++)
		if (!strcmp(column_rules[i].key, key))
			return column_rules[i].applies(r);
	return true;
}

static bool list_has(const struct column_list *list, const struct column *column)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->column[i] == column)
			return true;
	return false;
}

/* With events as weights, text shows events in place of samples, beside their percentages. */
static const struct column *weighed_column(const struct column *c)
{
	static const char *const instead[][2] = {
		{ "samples", "events" },
		{ "events", "samples" },
		{ "total", "total_events" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(instead) && c; i++)
		if (!strcmp(c->key, instead[i][0]))
			return column_find(instead[i][1], strlen(instead[i][1]));
	return c;
}

static void add_column(struct report *r, const char *key, size_t len)
{
	const struct column *c = column_find(key, len);

	if (r->options->by_period && !r->options->for_program)
		c = weighed_column(c);

	if (c && applies(r, c->key) && !list_has(&r->columns, c))
		r->columns.column[r->columns.n++] = c;
}

static void add_keys(struct report *r, const struct key_list *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		add_column(r, profile_keys[keys->key[i]].key,
			   strlen(profile_keys[keys->key[i]].key));
}

static void default_columns(struct report *r)
{
	const char *at = r->options->for_program ? r->view->data_columns : r->view->text_columns;

	for (;; at++) {
		size_t len = strcspn(at, ",");

		if (len == 4 && !strncmp(at, "keys", 4))
			add_keys(r, &r->keys);
		else if (len == 7 && !strncmp(at, "classes", 7))
			add_keys(r, &r->profile->lane_keys);
		else
			add_column(r, at, len);
		at += len;
		if (!*at)
			return;
	}
}

static void choose_columns(struct report *r)
{
	if (!r->options->columns) {
		default_columns(r);
		return;
	}
	column_list_parse(&r->columns, r->options->columns, NULL);
	/* Numbers alone say nothing in a nest or a tree. */
	if (!r->options->for_program && r->view->layout != LAYOUT_FLAT &&
	    r->columns.n < MAX_COLUMNS)
		add_column(r, "name", 4);
}

/* ---- the report ---- */

static bool shows_column(const struct report *r, const char *key)
{
	for (size_t i = 0; i < r->columns.n; i++)
		if (!strcmp(r->columns.column[i]->key, key))
			return true;
	return false;
}

/* Running sums in the order of the rows; only of flat lists, where no row is in another. */
static void accumulate(struct report *r)
{
	size_t n_lanes = r->rows.n_lanes;

	if (r->view->layout != LAYOUT_FLAT ||
	    !(shows_column(r, "cum_samples") || shows_column(r, "cum_percent")))
		return;
	r->accumulated = xcalloc(r->rows.list.n * n_lanes + 1, sizeof(*r->accumulated));
	for (size_t i = 0; i < r->rows.list.n; i++)
		for (size_t lane = 0; lane < n_lanes; lane++) {
			struct weight *sum = &r->accumulated[i * n_lanes + lane];

			if (i)
				*sum = sum[-(ptrdiff_t)n_lanes];
			weight_add(sum, &rows_cells(&r->rows, i)[lane].self);
		}
}

static void sum_events(struct report *r)
{
	r->event_totals = xcalloc(r->profile->session->info.n_counters + 1, sizeof(uint64_t));
	vec_foreach (&r->rows.list, row) {
		uint32_t counter = row->value[PROFILE_EVENT];

		if (row->kind == ROW_ITEM && counter != NO_INDEX)
			r->event_totals[counter] += weight_value(
				&rows_cells(&r->rows, (size_t)(row - r->rows.list.data))->self,
				r->options->by_period);
	}
}

static void views_find_blocks(struct report *r)
{
	uint32_t n = 0;

	vec_foreach (&r->rows.list, row)
		n += row->role == ROLE_SELF;
	r->block_rows = xcalloc(n + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < r->rows.list.n; i++)
		if (r->rows.list.data[i].role == ROLE_SELF && r->rows.list.data[i].block < n)
			r->block_rows[r->rows.list.data[i].block] = i;
}

/*
 * More than rows, cells and the arrays of views take, for each row that there may be: `many` rows
 * where they are copied, and copies grow.
 */
static size_t views_bytes_of_row(const struct report *r, size_t many)
{
	return many * sizeof(struct row) + 64 +
	       r->profile->n_lanes * (many + 2) * sizeof(struct cell);
}

static int views_reserve_made(struct reserve *room, const struct report *r)
{
	const struct profile *p = r->profile;

	return reserve_take(room,
			    p->nodes.n + p->entries.n + p->functions.n + p->arcs.n + p->images.n +
				    p->n_groups,
			    views_bytes_of_row(r, 4));
}

/*
 * Rows as they are made, and copies in an array that grows. Of a list on one level, no more than
 * the limit is copied. Below it, each key may have headings.
 */
static int views_reserve_collated(struct reserve *room, struct report *r,
				  const struct row_limits *limits, size_t n)
{
	bool has_headings = r->view->layout == LAYOUT_NEST && r->keys.n > 1;
	size_t n_copies = n, of_copy = views_bytes_of_row(r, 3);

	if (has_headings)
		n = n_copies = n * r->keys.n;
	else if (limits->max_rows)
		n_copies = MIN(n, limits->max_rows);
	if (reserve_take(room, n, views_bytes_of_row(r, 1)) < 0 ||
	    reserve_take(room, n_copies, of_copy) < 0)
		return -ENOMEM;
	vec_reserve(&r->rows.list, n);
	vec_reserve(&r->rows.cells, n * r->profile->n_lanes);
	return 0;
}

static int views_collate(struct reserve *room, struct report *r, const struct row_limits *limits)
{
	const struct profile *p = r->profile;
	cleanup(free_at_exit) uint32_t *order = NULL;
	size_t n;

	if (reserve_take(room, 1, profile_collate_bytes(p)) < 0)
		return -ENOMEM;
	order = entries_by_group(p);
	n = profile_most_rows(p, &r->keys, r->view->with_chains, order);
	if (views_reserve_collated(room, r, limits, n) < 0)
		return -ENOMEM;
	profile_collate_ordered(p, &r->keys, r->view->with_chains, order, &r->rows);
	sum_events(r);
	arrange(r, limits);
	return 0;
}

/* The rule of report.h, which every view with rows keeps. Sums of 64 bits may wrap around alike. */
static bool views_add_up(const struct report *r)
{
	for (uint32_t lane = 0; lane < r->rows.n_lanes; lane++) {
		struct weight sum = { 0 };

		for (size_t i = 0; i < r->rows.list.n; i++) {
			const struct row *row = &r->rows.list.data[i];

			if (row->kind != ROW_GROUP && row->role != ROLE_CALLER &&
			    row->role != ROLE_CALLEE)
				weight_add(&sum, &rows_cells(&r->rows, i)[lane].self);
		}
		if (sum.samples != r->profile->lanes[lane].total.samples ||
		    sum.period != r->profile->lanes[lane].total.period)
			return false;
	}
	return true;
}

static void views_make_rows(struct report *r, const struct row_limits *limits)
{
	cleanup(reserve_drop) struct reserve room = { 0 };

	if ((r->view->make ? views_reserve_made(&room, r) : views_collate(&room, r, limits)) < 0) {
		r->rows.n_lanes = r->profile->n_lanes;
		return;
	}
	if (r->view->make)
		r->view->make(r, limits, &r->rows);
	assert(!r->rows.list.n || views_add_up(r));
	views_find_blocks(r);
	choose_columns(r);
	accumulate(r);
}

struct report *report_new(const struct view *view, const struct report_options *options,
			  const struct query *query, const struct profile *profile)
{
	struct report *r = xcalloc(1, sizeof(*r));
	struct row_limits limits = { .max_rows = options->max_rows,
				     .by_period = options->by_period };

	r->profile = profile;
	r->query = query;
	r->view = view;
	r->options = options;
	view_keys(view, options, &r->keys);
	r->min_percent = options->min_percent >= 0 ? options->min_percent
			 : options->for_program    ? view->data_percent
						   : view->text_percent;
	limits.min_percent = r->min_percent;
	views_make_rows(r, &limits);
	return r;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	rows_fini(&r->rows);
	free(r->event_totals);
	free(r->block_rows);
	free(r->accumulated);
	free(r);
}

uint64_t report_whole(const struct report *r, uint32_t row, uint32_t lane)
{
	const struct row *at = &r->rows.list.data[row];
	bool by_period = r->options->by_period;
	bool is_arc = at->role == ROLE_CALLER || at->role == ROLE_CALLEE;

	if (r->options->of_parent && is_arc)
		return weight_value(&rows_cells(&r->rows, r->block_rows[at->block])[lane].total,
				    by_period);
	if (r->options->of_parent && at->parent != NO_INDEX) {
		const struct cell *cell = &rows_cells(&r->rows, at->parent)[lane];

		return weight_value(r->view->layout == LAYOUT_TREE ? &cell->total : &cell->self,
				    by_period);
	}
	if (at->value[PROFILE_EVENT] != NO_INDEX && r->event_totals)
		return r->event_totals[at->value[PROFILE_EVENT]];
	return weight_value(&r->profile->lanes[lane].total, by_period);
}
