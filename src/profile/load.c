/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading. Each row of every segment is visited. If the query takes it, its code is looked up and
 * joined to the profile's tree, with its callers. If classes are columns, or there are arcs,
 * segments are read twice: first for the columns and nodes, then for the weights. Decoding twice is
 * cheaper than keeping the many rows of a long session.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "profile/context_tree.h"
#include "profile/cut_roots.h"
#include "profile/index.h"
#include "profile/load.h"
#include "profile/load_blocks.h"
#include "profile/load_chain.h"
#include "profile/load_classes.h"
#include "profile/parallel.h"
#include "profile/rows_ahead.h"
#include "profile/shown_frames.h"
#include "profile/slices.h"
#include "profile/sums.h"
#include "profile/wakers.h"

/*
 * Beside the uses of a node: the answer of the code filters for samples in it. A refused node may
 * still be an interrupted caller of a taken one.
 */
enum { ACCEPTED = 4, REFUSED = 8 };

static void add_images(struct profile *p, struct load_part *part)
{
	for (uint32_t i = 0; i < part->segment->n_images; i++)
		part->images[i] = index_image(p, &part->segment->images[i]);
}

/* Of a row that has been taken. */
static enum sample_context row_context(const struct load_part *part, const struct count_row *row)
{
	return context_of_class(part->contexts[row->node], part->idle[row->class]);
}

static uint32_t row_waker(const struct load_part *part, const struct count_row *row)
{
	return part->row_wakers.data[row - part->rows.data];
}

static enum sample_context context_of(const struct load_part *part, const struct count_row *row)
{
	return part->contexts ? row_context(part, row) : CONTEXT_USER;
}

static uint32_t *group_place(struct load_part *part, const struct count_row *row,
			     const struct row_extra *extra)
{
	uint32_t place = row->class * N_CONTEXTS + context_of(part, row), *group;
	bool is_new;

	if (!extra->waker && !extra->parallelism)
		return &part->groups[place];
	group = load_extra_group(part, extra, place, &is_new);
	if (is_new)
		*group = NO_GROUP;
	return group;
}

static uint32_t row_group(struct profile *p, struct load_part *part, const struct count_row *row)
{
	struct row_extra extra = load_row_extra(p, part, row);
	uint32_t *group = group_place(part, row, &extra);
	uint32_t values[N_PROFILE_KEYS];

	if (*group == NO_GROUP) {
		load_class_values(p, part, row->class, context_of(part, row), &extra, values);
		*group = index_group(p, values);
	}
	return *group;
}

uint32_t load_known_group(const struct profile *p, struct load_part *part,
			  const struct count_row *row)
{
	struct row_extra extra = load_row_extra(p, part, row);

	return *group_place(part, row, &extra);
}

/* Whether one of the callers of the node, which is used as `use`, is a function of via:. */
static bool takes_via(struct profile *p, const struct load_part *part, uint32_t node)
{
	int use = USE_LEAF, depth = 0;

	if (!query_has(p->index->query, FILTER_VIA))
		return true;
	while (node && depth++ < PROFILE_MAX_DEPTH) {
		uint32_t caller = load_parent_of(part->segment, node);
		uint32_t n;
		const uint32_t *frames = load_node_frames(p, part, node, use, &n);

		for (uint32_t i = 0; i < n; i++)
			if (p->index->function_takes.data[frames[i]].via)
				return true;
		use = caller ? load_caller_use(p, part, caller, node) : USE_CALLER;
		node = caller;
	}
	return false;
}

static bool takes_node(struct profile *p, const struct load_part *part, uint32_t leaf)
{
	const struct profile_index *x = p->index;
	uint32_t node = code_leaf(part, leaf), image = load_node_image(part, node), n;
	const uint32_t *frames;

	if (!x->image_takes.data[image].lib_image || x->image_takes.data[image].excluded)
		return false;
	if (!index_takes_file(p, image, load_node_offset(part, node, USE_LEAF)))
		return false;
	if (x->takes_all_functions)
		return takes_via(p, part, leaf);
	frames = load_node_frames(p, part, node, USE_LEAF, &n);
	return x->function_takes.data[frames[n - 1]].symbol && takes_via(p, part, leaf);
}

static bool is_arc(const struct load_part *part, const struct count_row *row)
{
	return !row->samples && part->arcs && part->arcs[row->node];
}

/* The image that filters of code go by: of the sample, or of an arc's caller. */
static uint32_t row_image(const struct profile *p, const struct load_part *part,
			  const struct count_row *row)
{
	bool is_caller = p->index->query->by_files && is_arc(part, row);

	return load_node_image(part, is_caller ? load_parent_of(part->segment, row->node)
					       : code_leaf(part, row->node));
}

/*
 * What takes_class() and takes_node() can't say alone: image: and a name without a tag are of the
 * application or of the code (query.h).
 */
static bool takes_both(const struct profile *p, const struct load_part *part,
		       const struct count_row *row)
{
	const struct image_takes *takes = p->index->image_takes.data;
	uint32_t code = row_image(p, part, row);
	uint32_t app = load_image_of(part, part->segment->classes[row->class].app);
	bool by_app = p->index->query->by_files || query_has(p->index->query, FILTER_LIB_IMAGE);

	if (part->contexts && !query_takes_name(p->index->query, FILTER_CONTEXT,
						sample_context_names[row_context(part, row)]))
		return false;
	if (!takes[app].image && (by_app || !takes[code].image))
		return false;
	if (p->index->query->without_dependents && app != code)
		return false;
	return takes[app].binary || takes[code].binary;
}

static bool takes_row(const struct profile *p, const struct load_part *part,
		      const struct count_row *row)
{
	if (!row->node || part->groups[row->class * N_CONTEXTS] == NO_INDEX)
		return false;
	if (part->wants_wakers && !p->wakers.data[row_waker(part, row)].is_taken)
		return false;
	if (!load_takes_parallelism(p, part, row))
		return false;
	return part->takes_any || takes_both(p, part, row);
}

/* Whether a sample or arc passes all filters but those of symbols. */
static bool passes_files(const struct profile *p, const struct load_part *part,
			 const struct count_row *row)
{
	const struct image_takes *takes = &p->index->image_takes.data[row_image(p, part, row)];

	return takes_row(p, part, row) && takes->lib_image && !takes->excluded;
}

/* lanes_by_samples: takes note of a class that has what the filters of files let pass. */
static void note_class(struct profile *p, struct load_part *part, const struct count_row *row)
{
	bool has_app = key_list_has(&p->class_keys, PROFILE_APP);
	bool *has = &part->has_samples[row->class];

	if ((*has && has_app) || (is_arc(part, row) && !p->index->request->with_chains) ||
	    (part->idle[row->class] && !p->index->query->with_idle) || !passes_files(p, part, row))
		return;
	*has = p->has_classes = true;
	part->apps[row->class] =
		load_both_apps(part->apps[row->class],
			       1 + (has_app ? load_image_of(part,
							    part->segment->classes[row->class].app)
					    : row_image(p, part, row)));
}

static void take_row(struct load_part *part, const struct count_row *row)
{
	/* Chains of cut stacks are added row by row. */
	if (!cut_roots_kind(part, row))
		part->uses[shown_leaf(part, row->node)] |= (uint8_t)load_leaf_use(part, row->node);
	part->has_samples[row->class] |= row->samples > 0;
}

static uint32_t row_entry(struct profile *p, struct load_part *part, const struct count_row *row,
			  uint32_t node)
{
	uint32_t group = row_group(p, part, row);
	struct last_entry *last = &part->last[row->node];

	if (last->group != group + 1 || last->node != node ||
	    !index_entry_is_current(p, last->entry, group, node)) {
		*last = (struct last_entry){ group + 1, node, index_entry(p, group, node) };
		p->has_chains |= p->nodes.data[node].depth > 1;
	}
	return last->entry;
}

/* with_samples: no entry, but the group and what the node has of the sample. */
static void note_leaf(struct profile *p, struct load_part *part, const struct count_row *row,
		      uint32_t node)
{
	uint32_t function = p->nodes.data[node].function;

	row_group(p, part, row);
	while (p->leaf_rows.n < p->nodes.n)
		vec_push(&p->leaf_rows, 0);
	p->leaf_rows.data[node] += p->leaf_rows.data[node] < UINT32_MAX;
	p->images.data[p->functions.data[function].image].samples += row->samples;
	p->has_chains |= p->nodes.data[node].depth > 1;
}

/* When the row's sample was taken; 0: not known, or not asked for. */
static uint64_t moment_of(const struct profile *p, const struct load_part *part,
			  const struct count_row *row)
{
	size_t i = (size_t)(row - part->rows.data);

	return p->index->has_moments && i < part->times.n ? part->times.data[i] : 0;
}

static void add_moment(struct profile *p, struct load_part *part, const struct count_row *row,
		       uint32_t node, uint64_t time_ns)
{
	const struct profile_class *class = &part->segment->classes[row->class];

	vec_push(&p->moments,
		 (struct profile_moment){ .time_ns = time_ns,
					  .group = row_group(p, part, row),
					  .node = node,
					  .thread = index_thread(p, class->pid, class->tid),
					  .lane = part->lanes[row->class],
					  .weight = { row->samples, row->period } });
	p->images.data[p->functions.data[p->nodes.data[node].function].image].samples +=
		row->samples;
	p->has_chains |= p->nodes.data[node].depth > 1;
}

/* Each of its samples stands for as many events as a sample of all before does. */
static bool has_period_of(const struct weight *w, const struct weight *before)
{
	return (unsigned __int128)w->period * before->samples ==
	       (unsigned __int128)before->period * w->samples;
}

static void load_add_row(struct profile *p, struct load_part *part, const struct count_row *row)
{
	const struct weight w = { row->samples, row->period };
	uint32_t lane = part->lanes[row->class], node = load_add_chain(p, part, row);
	uint64_t time_ns = moment_of(p, part, row);
	size_t entry;

	assert(lane < p->n_lanes);
	if (p->index->request->with_samples) {
		note_leaf(p, part, row, node);
	} else if (time_ns) {
		add_moment(p, part, row, node, time_ns);
	} else {
		entry = row_entry(p, part, row, node);
		weight_add(&p->weights.data[entry * p->n_lanes + lane], &w);
	}
	/* entries show it themselves */
	if (p->index->request->with_samples || time_ns)
		p->lanes[lane].periods_vary |= !has_period_of(&w, &p->lanes[lane].total);
	weight_add(&p->lanes[lane].total, &w);
	p->n_selected += w.samples;
	part->class_samples[row->class] += w.samples;
}

/* Of images, by the entries whose innermost frame is theirs. */
static void add_image_samples(struct profile *p)
{
	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t function = p->nodes.data[p->entries.data[i].node].function;
		uint64_t *samples = &p->images.data[p->functions.data[function].image].samples;

		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			*samples += p->weights.data[i * p->n_lanes + lane].samples;
	}
}

/* The rows at hand: which nodes are innermost frames of samples that are taken. */
static void look_at_rows(struct profile *p, struct load_part *part)
{
	bool by_samples = p->index->request->lanes_by_samples;

	vec_foreach (&part->rows, row) {
		uint8_t *use = &part->uses[row->node];

		if (reserve_check() < 0)
			return;
		if (by_samples)
			note_class(p, part, row);
		if (is_arc(part, row))
			continue;
		cut_roots_note(part, row);
		if (!takes_row(p, part, row))
			continue;
		if (!(*use & (ACCEPTED | REFUSED)))
			*use |= takes_node(p, part, row->node) ? ACCEPTED : REFUSED;
		if (*use & REFUSED)
			continue;
		if (part->idle[row->class] && !p->index->query->with_idle) {
			p->n_idle += row->samples;
		} else if (part->is_once) {
			load_add_row(p, part, row);
		} else {
			take_row(part, row);
		}
	}
}

/* First pass, or the only one. */
static void mark_leaves(struct profile *p, struct load_part *part)
{
	if (part->is_once)
		index_reserve_nodes(p, part->segment->n_nodes);
	for (uint32_t i = 0; i < part->segment->n_blocks; i++) {
		const struct block *block = &part->segment->blocks[i];
		enum block_state state = load_read_block(p, part, i);
		size_t first = p->entries.n;

		if (state == BLOCK_LEFT_OUT) {
			p->n_stored += block->samples;
			continue;
		}
		if (state == BLOCK_DAMAGED) /* since session_open() looked */
			p->losses[LOSS_DAMAGED] += block->samples;
		else
			p->n_stored += block->samples;
		load_count_block(p, part, block, part->rows.n > 0);
		if (part->is_once)
			slices_begin(p, block);
		look_at_rows(p, part);
		if (part->is_once && state == BLOCK_READ)
			slices_add(p, block, first);
	}
}

/* NULL: rows are to be looked at block by block. */
static struct sums_source *sums_sources(const struct profile *p, struct load_part *parts)
{
	uint32_t n = p->session->n_segments;
	bool can = !p->index->request->with_samples && !p->index->needs_times;
	struct sums_source *sources;

	for (uint32_t i = 0; i < n; i++)
		can = can && parts[i].is_once && load_find_alike(p, &parts[i]);
	if (!can)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct segment *s = parts[i].segment;

		parts[i].blocks.n = 0;
		for (uint32_t b = 0; b < s->n_blocks; b++)
			if (load_takes_block(p, &s->blocks[b]))
				vec_push(&parts[i].blocks, b);
		can = can && slices_have_one(p, &parts[i]);
	}
	if (!can)
		return NULL;
	sources = xcalloc(n + 1, sizeof(*sources));
	for (uint32_t i = 0; i < n; i++)
		sources[i] = (struct sums_source){ parts[i].segment, parts[i].alike,
						   parts[i].blocks.data, parts[i].blocks.n };
	return sources;
}

/* What mark_leaves() does, once for all blocks. */
static void mark_leaves_of_sums(struct profile *p, struct load_part *part, struct sums *sums)
{
	const struct segment *s = part->segment;
	const uint32_t *block = part->blocks.data, *blocks_end = block + part->blocks.n, *damaged;
	size_t n_damaged = sums_next(sums, &part->rows, &damaged), first = p->entries.n;
	const struct block span = load_part_span(part);

	index_reserve_nodes(p, s->n_nodes);
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		bool is_read = block < blocks_end && *block == i;
		bool is_damaged = is_read && n_damaged && *damaged == i;

		block += is_read;
		damaged += is_damaged;
		n_damaged -= is_damaged;
		if (is_damaged)
			p->losses[LOSS_DAMAGED] += s->blocks[i].samples;
		else
			p->n_stored += s->blocks[i].samples;
		part->first_ns = s->blocks[i].first_ns;
		part->last_ns = s->blocks[i].last_ns;
		if (is_read)
			load_count_block(p, part, &s->blocks[i],
					 s->blocks[i].n_rows && !is_damaged);
	}
	load_cut_wakers(p, part);
	slices_begin(p, &span);
	look_at_rows(p, part);
	slices_add(p, &span, first);
}

/* An arc is taken if code: on either of its ends is. */
static bool takes_arc(const struct profile *p, struct load_part *part, const struct count_row *row,
		      uint32_t caller, uint32_t callee)
{
	const struct image_takes *takes = p->index->image_takes.data;
	const struct function_takes *functions = p->index->function_takes.data;
	uint32_t from = p->functions.data[caller].image, to = p->functions.data[callee].image;

	if (p->index->query->by_files)
		return passes_files(p, part, row) &&
		       !(p->index->query->without_dependents && from != to);
	return !takes[from].excluded && !takes[to].excluded &&
	       (takes[from].lib_image || takes[to].lib_image) &&
	       (functions[caller].symbol || functions[callee].symbol) &&
	       !(p->index->query->without_dependents && from != to);
}

/* Of a class with samples: others have no column. */
static void add_arc(struct profile *p, struct load_part *part, const struct count_row *row)
{
	const struct segment *s = part->segment;
	uint32_t node = row->node, parent = load_parent_of(s, node), n, callee, caller;
	uint32_t counter = s->classes[row->class].counter;
	struct weight *w;

	if (!parent || part->groups[(size_t)row->class * N_CONTEXTS] == NO_INDEX ||
	    (p->index->finds_lanes && !part->has_samples[row->class]))
		return;
	if (!load_parent_of(s, parent)) { /* a total, of samples that may be idle */
		if (part->idle[row->class] && !p->index->query->with_idle)
			return;
		p->has_totals = true;
	}
	callee = load_node_frames(p, part, node, USE_LEAF, &n)[0];
	caller = load_node_frames(p, part, parent, USE_CALLER, &n)[n - 1];
	if (!takes_arc(p, part, row, caller, callee))
		return;
	w = &index_arc(p, row_group(p, part, row), caller,
		       load_node_offset(part, parent, USE_CALLER), callee)[part->lanes[row->class]];
	w->samples += row->period;
	w->period += row->period * MAX(p->session->info.counters[counter].count, (uint64_t)1);
}

bool load_takes_sample(const struct profile *p, const struct load_part *part,
		       const struct count_row *row)
{
	return (part->uses[row->node] & ACCEPTED) && !is_arc(part, row) &&
	       (!part->idle[row->class] || p->index->query->with_idle) && takes_row(p, part, row);
}

/* Second pass: weights. */
static void add_weights(struct profile *p, struct load_part *part)
{
	for (uint32_t i = 0; i < part->segment->n_blocks; i++) {
		size_t first = p->entries.n;

		if (load_read_block(p, part, i) != BLOCK_READ || reserve_check() < 0)
			continue;
		slices_begin(p, &part->segment->blocks[i]);
		vec_foreach (&part->rows, row)
			if (is_arc(part, row) && p->index->request->with_chains)
				add_arc(p, part, row);
			else if (load_takes_sample(p, part, row))
				load_add_row(p, part, row);
		slices_add(p, &part->segment->blocks[i], first);
	}
}

/* What the first pass found, into the profile. */
static void load_add_part(struct profile *p, struct load_part *part)
{
	for (uint32_t c = 0; p->index->finds_lanes && c < part->segment->n_classes; c++)
		if (part->has_samples[c])
			part->lanes[c] = p->index->lane_order[part->lanes[c]];
	if (!part->is_once) {
		if (p->index->request->with_chains)
			load_mark_callers(p, part);
		load_add_nodes(p, part);
		add_weights(p, part);
	}
	load_add_names(p, part);
}

/* Finds the facts that are needed before the first row. */
static void load_prepare(struct profile *p, struct load_part *part)
{
	if (key_list_has(&p->class_keys, PROFILE_CONTEXT) ||
	    query_has(p->index->query, FILTER_CONTEXT))
		part->contexts = segment_contexts(p, part->segment, part->images);
	load_find_arcs(part);
	load_find_wakers(p, part);
	load_find_shown(p, part);
	cut_roots_prepare(p, part);
	if (p->index->request->lanes_by_samples)
		part->apps = load_column(part->segment->n_classes, sizeof(uint32_t));
	part->takes_any = load_takes_any_row(p->index->query);
	part->is_once = !part->arcs && !p->index->finds_lanes;
	load_add_classes(p, part);
}

/* The first pass, which for most profiles is the only one. */
static void look_through(struct profile *p, struct load_part *parts)
{
	uint32_t n = p->session->n_segments;
	cleanup(free_at_exit) struct sums_source *sources = sums_sources(p, parts);
	struct sums *sums = sources ? sums_start(sources, n) : NULL;

	if (!sums)
		p->index->ahead = load_read_ahead(p);
	for (uint32_t i = 0; i < n && !load_is_unwanted(p); i++) {
		if (sums)
			mark_leaves_of_sums(p, &parts[i], sums);
		else
			mark_leaves(p, &parts[i]);
		vec_fini(&parts[i].rows);
	}
	sums_stop(sums);
	rows_ahead_stop(p->index->ahead);
	p->index->ahead = NULL;
}

void load_segments(struct profile *p)
{
	const struct session *s = p->session;
	struct load_part *parts = xcalloc(s->n_segments + 1, sizeof(*parts));

	uint32_t *merged;

	/* Build ids and names of JIT code may come in a later segment: all images first. */
	for (uint32_t i = 0; i < s->n_segments; i++) {
		load_part_init(&parts[i], s->segments[i]);
		add_images(p, &parts[i]);
	}
	merged = index_merged_images(p);
	for (uint32_t i = 0; i < s->n_segments; i++) {
		for (uint32_t k = 0; k < s->segments[i]->n_images; k++)
			parts[i].images[k] = merged[parts[i].images[k]];
		index_given(p, s->segments[i], parts[i].images);
	}
	free(merged);
	index_given_done(p);
	index_expect_images(p, parts);
	p->index->cut_roots = cut_roots_new(p);
	for (uint32_t i = 0; i < s->n_segments; i++)
		load_prepare(p, &parts[i]);
	look_through(p, parts);
	load_find_lanes(p, parts);
	for (uint32_t i = 0; i < s->n_segments; i++) {
		if (!p->n_lanes_refused)
			load_add_part(p, &parts[i]);
	}
	if (!p->n_lanes_refused && p->index->request->lanes_by_samples)
		load_describe_lanes(p, parts);
	cut_roots_hang(p, parts);
	add_image_samples(p);
	p->index->parts = parts;
}
