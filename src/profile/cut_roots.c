/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/cut_roots.h"

#include <stdlib.h>
#include <string.h>

#include "profile/index.h"
#include "profile/load_chain.h"
#include "profile/shown_frames.h"

#define KINDS_MAX (1u << 20) /* more have no roots */

/* Whole stacks of a kind that begin in a function. */
struct root_votes {
	uint32_t kind, function;
	uint64_t offset, samples;
};

struct cut_kind {
	uint32_t holder;   /* 0: none yet */
	bool is_of_firsts; /* first threads */
	uint64_t n;        /* whole stacks */
	struct root_votes best;
};

struct cut_roots {
	struct intmap kind_numbers;
	VEC(struct cut_kind) kinds; /* number 0: none */
	struct intmap vote_numbers;
	VEC(struct root_votes) votes;
	uint32_t *moved; /* by node before cut_roots_hang(): its number since; NULL: the same */
};

struct cut_roots *cut_roots_new(const struct profile *p)
{
	struct cut_roots *roots;
	bool has_cut = false;

	vec_foreach (&p->images, i)
		has_cut |= image_is_cut_mark(i->image);
	if (!has_cut || !p->index->request->with_chains)
		return NULL;
	roots = xcalloc(1, sizeof(*roots));
	vec_push(&roots->kinds, (struct cut_kind){ 0 });
	return roots;
}

void cut_roots_free(struct cut_roots *roots)
{
	if (!roots)
		return;
	intmap_fini(&roots->kind_numbers);
	vec_fini(&roots->kinds);
	intmap_fini(&roots->vote_numbers);
	vec_fini(&roots->votes);
	free(roots->moved);
	free(roots);
}

/* ---- while rows are loaded ---- */

enum thread_kind { THREAD_FIRST, THREAD_OTHER, THREAD_ANY };

static enum thread_kind thread_kind_of(const struct profile_class *c)
{
	return c->tid < 0 ? THREAD_ANY : c->tid == c->pid ? THREAD_FIRST : THREAD_OTHER;
}

static uint32_t kind_of_class(struct profile *p, const struct load_part *part, uint32_t class)
{
	const struct profile_class *c = &part->segment->classes[class];
	struct cut_roots *roots = p->index->cut_roots;
	uint32_t app = load_image_of(part, c->app), *number;
	enum thread_kind thread = thread_kind_of(c);
	bool is_new;

	if (p->images.data[app].image->kind != IMAGE_FILE || roots->kinds.n >= KINDS_MAX)
		return 0;
	number = intmap_put(&roots->kind_numbers, (uint64_t)app << 2 | thread, &is_new);
	if (is_new) {
		*number = (uint32_t)roots->kinds.n;
		vec_push(&roots->kinds,
			 (struct cut_kind){ .is_of_firsts = thread == THREAD_FIRST });
	}
	return *number;
}

void cut_roots_prepare(struct profile *p, struct load_part *part)
{
	const struct segment *s = part->segment;

	if (!p->index->cut_roots)
		return;
	part->thread_kinds = load_column(s->n_classes, sizeof(uint32_t));
	part->outermost = load_column(s->n_nodes, sizeof(uint32_t));
	part->is_cut = load_column(s->n_nodes, sizeof(bool));
	for (uint32_t c = 0; c < s->n_classes; c++)
		part->thread_kinds[c] = kind_of_class(p, part, c);
	for (uint32_t n = 1; n < s->n_nodes; n++) {
		uint32_t parent = shown_parent(part, n), image = load_node_image(part, n);

		part->outermost[n] = parent ? part->outermost[parent] : n;
		part->is_cut[n] = parent ? part->is_cut[parent]
					 : image_is_cut_mark(p->images.data[image].image);
	}
}

uint32_t cut_roots_kind(const struct load_part *part, const struct count_row *row)
{
	return part->is_cut && part->is_cut[shown_leaf(part, row->node)]
		       ? part->thread_kinds[row->class]
		       : 0;
}

/* A single frame is no root: it may be a sample without callers. */
void cut_roots_note(struct load_part *part, const struct count_row *row)
{
	uint32_t leaf = shown_leaf(part, row->node), root, kind, *number;
	bool is_new;

	if (!part->is_cut || part->is_cut[leaf])
		return;
	root = part->outermost[leaf];
	kind = part->thread_kinds[row->class];
	if (!kind || !leaf || root == leaf)
		return;
	number = intmap_put(&part->root_numbers, (uint64_t)kind << 32 | root, &is_new);
	if (is_new) {
		*number = (uint32_t)part->roots.n;
		vec_push(&part->roots, (struct root_row){ kind, root, 0 });
	}
	part->roots.data[*number].samples += row->samples;
}

uint32_t cut_roots_holder(struct profile *p, uint32_t kind)
{
	struct cut_kind *k = kind ? &p->index->cut_roots->kinds.data[kind] : NULL;

	if (k && !k->holder) {
		k->holder = (uint32_t)p->nodes.n;
		vec_push(&p->nodes, (struct profile_node){ 0, NO_INDEX, 1 });
		if (p->index->request->with_places)
			vec_push(&p->node_places, NO_INDEX);
	}
	return k ? k->holder : 0;
}

/* ---- roots ---- */

/* Marks are no code, and the kernel's own threads begin in the kernel. */
static bool may_be_root(const struct image *image, const struct cut_kind *kind)
{
	return image_code_mode(image) == CODE_USER && image->kind != IMAGE_NAMED &&
	       !(kind->is_of_firsts && image_is_c_library(image));
}

static void add_votes(struct profile *p, const struct load_part *part, const struct root_row *row)
{
	struct cut_roots *roots = p->index->cut_roots;
	uint32_t n, function, *number;
	bool is_new;

	if (!may_be_root(p->images.data[load_node_image(part, row->node)].image,
			 &roots->kinds.data[row->kind]))
		return;
	roots->kinds.data[row->kind].n += row->samples;
	function = load_node_frames(p, part, row->node, USE_CALLER, &n)[0];
	number = intmap_put(&roots->vote_numbers, (uint64_t)row->kind << 32 | function, &is_new);
	if (is_new) {
		*number = (uint32_t)roots->votes.n;
		vec_push(&roots->votes,
			 (struct root_votes){
				 .kind = row->kind,
				 .function = function,
				 .offset = load_node_offset(part, row->node, USE_CALLER) });
	}
	roots->votes.data[*number].samples += row->samples;
}

/* Only one function has more than half. */
static void find_best(struct cut_roots *roots)
{
	vec_foreach (&roots->votes, v) {
		struct cut_kind *kind = &roots->kinds.data[v->kind];

		if (v->samples > kind->n / 2)
			kind->best = *v;
	}
}

/* ---- hanging ---- */

/* The profile's nodes before they are added again. */
struct old_nodes {
	VEC(struct profile_node) nodes;
	VEC(uint32_t) places;
	bool *is_held; /* by node: it is a holder, or below one */
};

static void take_old_nodes(struct profile *p, struct old_nodes *old)
{
	size_t n = p->nodes.n;

	memcpy(&old->nodes, &p->nodes, sizeof(old->nodes));
	memcpy(&old->places, &p->node_places, sizeof(old->places));
	memset(&p->nodes, 0, sizeof(p->nodes));
	memset(&p->node_places, 0, sizeof(p->node_places));
	vec_push(&p->nodes, old->nodes.data[0]);
	vec_push(&p->node_places, NO_INDEX);
	node_set_fini(&p->index->nodes);
	index_reserve_nodes(p, (uint32_t)n);
	old->is_held = xcalloc(n, sizeof(bool));
	for (size_t i = 1; i < n; i++) {
		const struct profile_node *node = &old->nodes.data[i];

		old->is_held[i] = node->function == NO_INDEX || old->is_held[node->parent];
	}
}

static void add_again(struct profile *p, const struct old_nodes *old, uint32_t node)
{
	const struct profile_node *n = &old->nodes.data[node];
	uint32_t *moved = p->index->cut_roots->moved;
	uint32_t place = p->index->request->with_places ? old->places.data[node] : NO_INDEX;

	moved[node] = index_node(p, moved[n->parent], n->function,
				 place == NO_INDEX ? 0 : p->places.data[place].offset);
}

static void add_root(struct profile *p, const struct cut_kind *kind)
{
	const struct root_votes *best = &kind->best;

	if (kind->holder && best->samples)
		p->index->cut_roots->moved[kind->holder] =
			index_node(p, 0, best->function, best->offset);
}

static void move_nodes(struct profile *p)
{
	struct cut_roots *roots = p->index->cut_roots;
	struct old_nodes old = { 0 };

	take_old_nodes(p, &old);
	roots->moved = xcalloc(old.nodes.n, sizeof(*roots->moved));
	for (uint32_t i = 1; i < old.nodes.n; i++)
		if (!old.is_held[i])
			add_again(p, &old, i);
	vec_foreach (&roots->kinds, kind)
		add_root(p, kind);
	for (uint32_t i = 1; i < old.nodes.n; i++)
		if (old.is_held[i] && old.nodes.data[i].function != NO_INDEX)
			add_again(p, &old, i);
	vec_fini(&old.nodes);
	vec_fini(&old.places);
	free(old.is_held);
}

/* The profile's entries, before those of one group and node come together. */
struct old_entries {
	VEC(struct profile_entry) entries;
	VEC(struct weight) weights;
	struct intmap known; /* group << 32 | node, to the entry: of the slice at hand */
};

static void move_entry(struct profile *p, struct old_entries *old, size_t i)
{
	struct profile_entry e = old->entries.data[i];
	uint32_t *entry;
	bool is_new;

	e.node = cut_roots_node(p, e.node);
	entry = intmap_put(&old->known, (uint64_t)e.group << 32 | e.node, &is_new);
	if (is_new) {
		*entry = (uint32_t)p->entries.n;
		vec_push(&p->entries, e);
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			vec_push(&p->weights, (struct weight){ 0 });
	}
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		weight_add(&p->weights.data[(size_t)*entry * p->n_lanes + lane],
			   &old->weights.data[i * p->n_lanes + lane]);
}

static void move_entries(struct profile *p)
{
	struct old_entries old = { 0 };

	memcpy(&old.entries, &p->entries, sizeof(old.entries));
	memcpy(&old.weights, &p->weights, sizeof(old.weights));
	memset(&p->entries, 0, sizeof(p->entries));
	memset(&p->weights, 0, sizeof(p->weights));
	for (size_t i = 0; i < old.entries.n && !p->slices.n; i++)
		move_entry(p, &old, i);
	vec_foreach (&p->slices, slice) {
		size_t first = p->entries.n;

		intmap_clear(&old.known);
		for (size_t i = slice->first; i < slice->first + slice->n; i++)
			move_entry(p, &old, i);
		slice->first = first;
		slice->n = p->entries.n - first;
	}
	intmap_fini(&old.known);
	vec_fini(&old.entries);
	vec_fini(&old.weights);
}

static void move_leaf_rows(struct profile *p)
{
	VEC(uint32_t) old;

	memcpy(&old, &p->leaf_rows, sizeof(old));
	memset(&p->leaf_rows, 0, sizeof(p->leaf_rows));
	for (size_t i = 0; old.n && i < p->nodes.n; i++)
		vec_push(&p->leaf_rows, 0);
	for (uint32_t i = 0; i < old.n; i++) {
		uint32_t *n = &p->leaf_rows.data[cut_roots_node(p, i)];

		*n += MIN(old.data[i], UINT32_MAX - *n);
	}
	vec_fini(&old);
}

void cut_roots_hang(struct profile *p, struct load_part *parts)
{
	struct cut_roots *roots = p->index->cut_roots;
	bool has_holder = false;

	if (!roots)
		return;
	vec_foreach (&roots->kinds, kind)
		has_holder |= kind->holder > 0;
	if (!has_holder)
		return;
	for (uint32_t i = 0; i < p->session->n_segments; i++)
		vec_foreach (&parts[i].roots, row)
			add_votes(p, &parts[i], row);
	find_best(roots);
	move_nodes(p);
	move_entries(p);
	move_leaf_rows(p);
	vec_foreach (&p->moments, moment)
		moment->node = cut_roots_node(p, moment->node);
}

uint32_t cut_roots_node(const struct profile *p, uint32_t node)
{
	const struct cut_roots *roots = p->index->cut_roots;

	return roots && roots->moved ? roots->moved[node] : node;
}
