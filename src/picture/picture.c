/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "picture/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intmap.h"
#include "lang/language.h"
#include "picture/picture_weights.h"

/* The tree while it grows: parents before children, in no order otherwise. */
struct draft {
	struct picture *pic;
	const struct report_options *options;
	bool has_groups; /* false: all samples are of one, which needs no box */
	VEC(struct picture_node) nodes;
	struct intmap children; /* parent << 32 | frame */
	struct intmap frames;   /* image << 32 | name */
	struct strings images;  /* identity of image i is string i + 1 */
	uint32_t *final;        /* by node: its place in the picture */
};

static uint64_t picture_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static uint32_t draft_frame(struct draft *d, uint32_t image, const char *name)
{
	struct picture *pic = d->pic;
	string_id id = strings_add(&pic->names, name);
	bool is_new;
	uint32_t *frame = intmap_put(&d->frames, picture_pair(image, id.n), &is_new);

	if (is_new) {
		*frame = (uint32_t)pic->frames.n;
		vec_push(&pic->frames, (struct picture_frame){ image, id, false });
	}
	return *frame;
}

static uint32_t draft_node(struct draft *d, uint32_t parent, uint32_t frame)
{
	bool is_new;
	uint32_t *node = intmap_put(&d->children, picture_pair(parent, frame), &is_new);

	if (is_new) {
		*node = (uint32_t)d->nodes.n;
		vec_push(&d->nodes,
			 (struct picture_node){ .parent = parent,
						.frame = frame,
						.depth = d->nodes.data[parent].depth + 1 });
	}
	return *node;
}

/* ---- from a profile's nodes to the draft's ---- */

/* One profile on its way into the tree. */
struct growth {
	struct draft *draft;
	const struct profile *p;
	uint32_t *image_of;   /* by image: the picture's + 1 */
	uint32_t *frame_of;   /* by function: the picture's + 1 */
	uint32_t *node_of;    /* by node: the draft's, valid where … */
	uint32_t *group_of;   /* … this is the group at hand + 1 */
	struct intmap leaves; /* group << 32 | node: the draft's node + 1 */
	uint32_t *leaf_of;    /* by entry: the draft's node; at last the picture's */
	uint32_t *moment_of;  /* by moment: likewise */
};

static void growth_init(struct growth *g, struct draft *d, const struct profile *p)
{
	*g = (struct growth){
		.draft = d,
		.p = p,
		.image_of = xcalloc(p->images.n + 1, sizeof(uint32_t)),
		.frame_of = xcalloc(p->functions.n + 1, sizeof(uint32_t)),
		.node_of = xcalloc(p->nodes.n + 1, sizeof(uint32_t)),
		.group_of = xcalloc(p->nodes.n + 1, sizeof(uint32_t)),
		.leaf_of = xcalloc(p->entries.n + 1, sizeof(uint32_t)),
		.moment_of = xcalloc(p->moments.n + 1, sizeof(uint32_t)),
	};
}

static void growth_fini(struct growth *g)
{
	free(g->image_of);
	free(g->frame_of);
	free(g->node_of);
	free(g->group_of);
	free(g->leaf_of);
	free(g->moment_of);
	intmap_fini(&g->leaves);
}

/* Images of one name are one where two sessions are compared, as their build ids may differ. */
static uint32_t grow_image(struct growth *g, uint32_t image)
{
	struct draft *d = g->draft;
	const struct profile_image *from = &g->p->images.data[image];
	char *key;
	uint32_t id;

	if (g->image_of[image])
		return g->image_of[image] - 1;
	key = d->pic->baseline ? xasprintf("%d %s", from->image->kind, from->name)
			       : xasprintf("%d %u", from->image->kind, image);
	id = strings_add(&d->images, key).n - 1;
	free(key);
	if (id == d->pic->images.n)
		vec_push(&d->pic->images,
			 (struct picture_image){ from->name, from->image->path, from->image });
	g->image_of[image] = id + 1;
	return id;
}

static uint32_t grow_frame(struct growth *g, uint32_t function)
{
	const struct profile_function *f = &g->p->functions.data[function];
	char scratch[KEY_TEXT_SIZE];
	uint32_t frame;

	if (!g->frame_of[function]) {
		frame = draft_frame(g->draft, grow_image(g, f->image),
				    profile_key_text(g->p, PROFILE_SYMBOL, function, scratch));
		g->draft->pic->frames.data[frame].is_go = f->language == LANGUAGE_GO;
		g->frame_of[function] = frame + 1;
	}
	return g->frame_of[function] - 1;
}

/* The levels above the call chains of a group: one a class key. */
static uint32_t picture_grow_group(struct growth *g, uint32_t group)
{
	const struct key_list *keys = &g->draft->options->by;
	uint32_t node = 0;

	for (size_t i = 0; i < keys->n && g->draft->has_groups; i++) {
		char scratch[KEY_TEXT_SIZE];
		uint32_t value = profile_class_value(g->p, keys->key[i], group);
		const char *text = profile_key_text(g->p, keys->key[i], value, scratch);
		char *name =
			keys->key[i] == PROFILE_CPU ? xasprintf("CPU %s", text) : xstrdup(text);

		node = draft_node(g->draft, node, draft_frame(g->draft, PICTURE_GROUP, name));
		free(name);
	}
	return node;
}

static uint32_t grow_chain(struct growth *g, uint32_t group, uint32_t leaf)
{
	uint32_t path[PROFILE_MAX_DEPTH + 1], n = 0, at = leaf, node;

	while (at && g->group_of[at] != group + 1 && n < PROFILE_MAX_DEPTH) {
		path[n++] = at;
		at = g->p->nodes.data[at].parent;
	}
	node = at && g->group_of[at] == group + 1 ? g->node_of[at] : picture_grow_group(g, group);
	while (n-- > 0) {
		node = draft_node(g->draft, node,
				  grow_frame(g, g->p->nodes.data[path[n]].function));
		g->node_of[path[n]] = node;
		g->group_of[path[n]] = group + 1;
	}
	return node;
}

/* Entries come again in each second. */
static uint32_t grow_leaf(struct growth *g, uint32_t group, uint32_t node)
{
	uint32_t *leaf = intmap_put(&g->leaves, picture_pair(group, node), NULL);

	if (!*leaf)
		*leaf = grow_chain(g, group, node) + 1;
	return *leaf - 1;
}

static void picture_add_share(struct growth *g, uint32_t node, uint32_t lane,
			      const struct weight *w)
{
	bool by_period = g->draft->options->by_period;
	uint64_t total = weight_value(&g->p->lanes[lane].total, by_period);

	if (total)
		g->draft->nodes.data[node].share +=
			(double)weight_value(w, by_period) / (double)total;
}

static void grow_entries(struct growth *g)
{
	for (uint32_t i = 0; i < g->p->entries.n; i++) {
		const struct profile_entry *e = &g->p->entries.data[i];

		g->leaf_of[i] = grow_leaf(g, e->group, e->node);
		for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
			picture_add_share(g, g->leaf_of[i], lane, &profile_weights(g->p, i)[lane]);
	}
	for (size_t i = 0; i < g->p->moments.n; i++) {
		const struct profile_moment *m = &g->p->moments.data[i];

		g->moment_of[i] = grow_leaf(g, m->group, m->node);
		picture_add_share(g, g->moment_of[i], m->lane, &m->weight);
	}
}

/* ---- the light ones ---- */

static int picture_larger_first(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The share that nodes must be above for at most `max` of them to be left. */
static double least_share(const struct draft *d, size_t max)
{
	double *shares, least;

	if (d->nodes.n <= max)
		return 0;
	shares = xcalloc(d->nodes.n, sizeof(*shares));
	for (size_t i = 0; i < d->nodes.n; i++)
		shares[i] = d->nodes.data[i].share;
	qsort(shares, d->nodes.n, sizeof(*shares), picture_larger_first);
	least = shares[max];
	free(shares);
	return least;
}

/* The shares that nodes must be above: for a box of their own, and to be kept. */
struct least_shares {
	double box, node, asked; /* asked: at least this for a box */
};

static struct least_shares least_shares(const struct draft *d, const struct picture_source *source)
{
	uint32_t boxes = source->max_boxes ? source->max_boxes : PICTURE_MAX_BOXES;
	uint32_t nodes = source->max_nodes ? source->max_nodes : PICTURE_MAX_NODES;

	return (struct least_shares){
		.box = least_share(d, boxes),
		.node = source->keeps_light ? least_share(d, nodes) : INFINITY,
		.asked = d->options->min_percent / 100 * d->nodes.data[0].share,
	};
}

static bool is_other(const struct draft *d, uint32_t node)
{
	uint32_t frame = d->nodes.data[node].frame;

	return frame != NO_INDEX && d->pic->frames.data[frame].image == PICTURE_OTHER;
}

static void count_hidden(struct draft *d, double below)
{
	if (!d->pic->n_hidden)
		return;
	d->pic->hidden_below = 100 * below / d->nodes.data[0].share;
	d->pic->other_frame = draft_frame(d, PICTURE_OTHER, "other");
}

/*
 * Marks what is too light for a box. What is not kept goes to the "other" of the nearest node that
 * stays; by node.
 */
static uint32_t *picture_hide_light(struct draft *d, const struct picture_source *source)
{
	uint32_t n = (uint32_t)d->nodes.n, *stays_as = xcalloc((size_t)n + 1, sizeof(*stays_as));
	struct least_shares least = least_shares(d, source);

	for (uint32_t i = 1; i < n; i++) {
		uint32_t parent = stays_as[d->nodes.data[i].parent];
		double share = d->nodes.data[i].share;
		bool has_box = share > least.box && share >= least.asked;

		stays_as[i] = i;
		if (is_other(d, parent)) {
			stays_as[i] = parent;
		} else if (!has_box && share <= least.node) {
			stays_as[i] = draft_node(d, parent, draft_frame(d, PICTURE_OTHER, "other"));
			d->nodes.data[stays_as[i]].share += share;
		}
		d->nodes.data[stays_as[i]].is_light = source->keeps_light && !has_box;
		d->pic->n_hidden += !has_box;
		d->pic->n_joined += stays_as[i] != i;
	}
	count_hidden(d, MAX(least.box, least.asked));
	return stays_as;
}

/* ---- order ---- */

struct sibling {
	uint32_t node;
	double share;
	const char *name;
};

static int heavier_sibling(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct order {
	struct draft *draft;
	uint32_t *first_child, *next_sibling; /* by node; 0: none */
	VEC(struct sibling) pending;          /* lightest first, so that the next is the last */
};

static void picture_push_children(struct order *o, uint32_t node)
{
	const struct draft *d = o->draft;
	size_t from = o->pending.n;

	for (uint32_t c = o->first_child[node]; c; c = o->next_sibling[c])
		vec_push(&o->pending,
			 (struct sibling){
				 c, d->nodes.data[c].share,
				 strings_get(&d->pic->names,
					     d->pic->frames.data[d->nodes.data[c].frame].name) });
	if (o->pending.n - from > 1)
		qsort(&o->pending.data[from], o->pending.n - from, sizeof(struct sibling),
		      heavier_sibling);
	for (size_t i = from, k = o->pending.n; i + 1 < k; i++) {
		struct sibling swapped = o->pending.data[i];

		o->pending.data[i] = o->pending.data[--k];
		o->pending.data[k] = swapped;
	}
}

/* Puts the nodes that stay into the picture, in preorder. */
static void picture_put_in_order(struct draft *d, const uint32_t *stays_as, uint32_t n_drafted)
{
	uint32_t n = (uint32_t)d->nodes.n;
	struct order o = {
		.draft = d,
		.first_child = xcalloc(n, sizeof(uint32_t)),
		.next_sibling = xcalloc(n, sizeof(uint32_t)),
	};

	d->final = xcalloc(n, sizeof(uint32_t));
	for (uint32_t i = 1; i < n; i++) {
		uint32_t parent = d->nodes.data[i].parent;

		if (i < n_drafted && stays_as[i] != i)
			continue;
		o.next_sibling[i] = o.first_child[parent];
		o.first_child[parent] = i;
	}
	vec_push(&o.pending, (struct sibling){ .node = 0 });
	while (o.pending.n) {
		uint32_t node = o.pending.data[--o.pending.n].node;
		struct picture_node placed = d->nodes.data[node];

		d->final[node] = (uint32_t)d->pic->nodes.n;
		placed.parent = d->final[placed.parent];
		vec_push(&d->pic->nodes, placed);
		picture_push_children(&o, node);
	}
	for (uint32_t i = 0; i < n_drafted; i++)
		d->final[i] = d->final[stays_as[i]];
	free(o.first_child);
	free(o.next_sibling);
	vec_fini(&o.pending);
}

/* ---- the whole ---- */

static void finish_growth(struct growth *g)
{
	for (uint32_t i = 0; i < g->p->entries.n; i++)
		g->leaf_of[i] = g->draft->final[g->leaf_of[i]];
	for (size_t i = 0; i < g->p->moments.n; i++)
		g->moment_of[i] = g->draft->final[g->moment_of[i]];
	picture_add_weights(g->draft->pic, g->p, g->leaf_of);
	if (g->p == g->draft->pic->report->profile)
		picture_add_moments(g->draft->pic, g->moment_of);
	growth_fini(g);
}

struct picture *picture_new(const struct picture_source *source)
{
	const struct profile *p = source->report->profile;
	struct picture *pic = xcalloc(1, sizeof(*pic));
	struct draft d = { .pic = pic, .options = source->report->options };
	struct growth own, base;
	uint32_t *stays_as, n_drafted;

	d.has_groups = p->n_groups > 1 || (source->baseline && source->baseline->n_groups > 1);
	pic->report = source->report;
	pic->baseline = source->baseline;
	pic->code = source->code;
	pic->max_cells = source->max_cells ? source->max_cells : PICTURE_MAX_CELLS;
	pic->lanes = xcalloc(p->n_lanes, sizeof(*pic->lanes));
	strings_init(&pic->names);
	strings_init(&d.images);
	vec_push(&d.nodes, (struct picture_node){ .frame = NO_INDEX });
	growth_init(&own, &d, p);
	grow_entries(&own);
	if (source->baseline) {
		growth_init(&base, &d, source->baseline);
		grow_entries(&base);
	}
	n_drafted = (uint32_t)d.nodes.n;
	for (uint32_t i = n_drafted; i-- > 1;)
		d.nodes.data[d.nodes.data[i].parent].share += d.nodes.data[i].share;
	stays_as = picture_hide_light(&d, source);
	picture_put_in_order(&d, stays_as, n_drafted);
	finish_growth(&own);
	if (source->baseline)
		finish_growth(&base);
	free(stays_as);
	free(d.final);
	vec_fini(&d.nodes);
	intmap_fini(&d.children);
	intmap_fini(&d.frames);
	strings_fini(&d.images);
	return pic;
}

void picture_free(struct picture *pic)
{
	if (!pic)
		return;
	for (uint32_t i = 0; i < pic->report->profile->n_lanes; i++) {
		vec_fini(&pic->lanes[i].cells);
		vec_fini(&pic->lanes[i].base);
		vec_fini(&pic->lanes[i].moments);
	}
	vec_fini(&pic->lost);
	free(pic->lanes);
	vec_fini(&pic->images);
	vec_fini(&pic->frames);
	vec_fini(&pic->nodes);
	strings_fini(&pic->names);
	free(pic);
}

static void picture_no_rows(const struct report *r, const struct row_limits *limits,
			    struct rows *out)
{
	(void)limits;
	out->n_lanes = r->profile->n_lanes;
}

const struct view picture_view = {
	.name = "picture",
	.layout = LAYOUT_TREE,
	.with_functions = true,
	.with_chains = true,
	.text_columns = "total",
	.data_columns = "total",
	.make = picture_no_rows,
};
