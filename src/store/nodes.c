/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call tree nodes that a block adds. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "store/block.h"
#include "store/listed_nodes.h"

void block_encoder_init(struct block_encoder *e)
{
	*e = (struct block_encoder){ .packer = packer_new() };
}

void block_encoder_fini(struct block_encoder *e)
{
	packer_free(e->packer);
	for (size_t i = 0; i < ARRAY_SIZE(e->columns); i++)
		column_fini(&e->columns[i]);
	arcs_fini(&e->arcs);
	free(e->items);
	free(e->scratch);
}

void block_encoder_reserve(struct block_encoder *e, uint32_t n_items)
{
	if (n_items <= e->items_cap)
		return;
	e->items_cap = MAX(n_items, e->items_cap * 2);
	e->items = xrealloc(e->items, e->items_cap, sizeof(*e->items));
	e->scratch = xrealloc(e->scratch, e->items_cap, sizeof(*e->scratch));
}

void block_encoder_release(struct block_encoder *e)
{
	free(e->items);
	free(e->scratch);
	e->items = e->scratch = NULL;
	e->items_cap = 0;
}

uint64_t block_encoder_memory(const struct block_encoder *e)
{
	uint64_t n = packer_memory(e->packer) + 2 * (uint64_t)e->items_cap * sizeof(*e->items);

	n += arcs_memory(&e->arcs);
	for (size_t i = 0; i < ARRAY_SIZE(e->columns); i++)
		n += e->columns[i].tokens.cap + e->columns[i].bits.bytes.cap;
	return n;
}

/*
 * Level 0: nodes below old nodes; level n + 1: nodes below new nodes of level n. Nodes are sorted
 * level by level, so a parent has its number before its children are sorted.
 */
static uint32_t *new_levels(const struct tree *tree, uint32_t first)
{
	uint32_t *level = xcalloc(tree->n - first + 1, sizeof(*level));

	for (uint32_t i = first; i < tree->n; i++) {
		uint32_t parent = tree->nodes[i].parent;

		level[i - first] = parent < first ? 0 : level[parent - first] + 1;
	}
	return level;
}

/* Sorts nodes of one level by parent, image and offset. */
static void sort_level(const struct tree *tree, const uint32_t *disk_ids, struct sort_item *items,
		       struct sort_item *scratch, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		items[i].key = tree->nodes[items[i].value].offset;
	sort_items(items, scratch, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct tree_entry *node = &tree->nodes[items[i].value];

		items[i].key = (uint64_t)disk_ids[node->parent] << 32 | node->image;
	}
	sort_items(items, scratch, n);
}

/* Leaves the new nodes in e->items in the order of their final numbers, which are in disk_ids. */
static void number_nodes(struct block_encoder *e, const struct tree *tree, uint32_t first,
			 uint32_t *disk_ids)
{
	uint32_t n = tree->n - first, start = 0;
	cleanup(free_at_exit) uint32_t *level = new_levels(tree, first);

	block_encoder_reserve(e, n);
	for (uint32_t i = 0; i < n; i++)
		e->items[i] = (struct sort_item){ level[i], first + i };
	sort_items(e->items, e->scratch, n);
	while (start < n) {
		uint32_t end = start;

		while (end < n &&
		       level[e->items[end].value - first] == level[e->items[start].value - first])
			end++;
		sort_level(tree, disk_ids, e->items + start, e->scratch, end - start);
		for (; start < end; start++)
			disk_ids[e->items[start].value] = first + start;
	}
}

/*
 * The walk over the new nodes, for writer and reader. A node below an old node is its address, as
 * the difference to the last such node. A node below a new node is its place among the calls of its
 * parent's code; 0 is a new call. Then its address follows, as the difference to the last call of
 * the parent, or as above if there is none.
 */
struct walk {
	struct arcs *arcs;
	uint32_t first;
	uint32_t *code; /* of the new nodes: the number in arcs, or ARCS_NONE */
	struct code_addr last;
};

static void walk_init(struct walk *w, struct arcs *arcs, uint32_t first, uint32_t n)
{
	*w = (struct walk){ .arcs = arcs, .first = first };
	w->code = xmalloc((n + 1) * sizeof(*w->code));
	memset(w->code, 0xff, n * sizeof(*w->code));
	arcs_clear(arcs);
}

/* Returns the number of a new parent's code. */
static uint32_t walk_parent(struct walk *w, uint32_t parent, const struct code_addr *code)
{
	uint32_t *number = &w->code[parent - w->first];

	if (*number == ARCS_NONE)
		*number = arcs_intern(w->arcs, code);
	return *number;
}

/*
 * Returns the address that the next one is the difference to. `call`: the parent's last call, if
 * any.
 */
static struct code_addr walk_base(const struct walk *w, uint32_t call)
{
	return call == ARCS_NONE ? w->last : w->arcs->codes.data[call].code;
}

static struct code_addr code_of(const struct tree_entry *node)
{
	return (struct code_addr){ { node->image }, node->offset };
}

enum { PARENTS, PLACES, IMAGES, OFFSETS };

static void put_address(struct block_encoder *e, struct walk *w, uint32_t call,
			const struct code_addr *code)
{
	struct code_addr base = walk_base(w, call);

	column_put_signed(&e->columns[IMAGES], (int64_t)code->image.n - base.image.n);
	column_put_signed(&e->columns[OFFSETS], (int64_t)(code->offset - base.offset));
	w->last = *code;
}

/* Writes the node number w->first + i, whose parent has the final number `parent`. */
static void put_node(struct block_encoder *e, struct walk *w, uint32_t i, const struct tree *tree,
		     uint32_t parent)
{
	const struct tree_entry *node = &tree->nodes[e->items[i].value];
	struct code_addr code = code_of(node), parent_code;
	uint32_t x, call, place;

	if (parent < w->first) {
		put_address(e, w, ARCS_NONE, &code);
		return;
	}
	parent_code = code_of(&tree->nodes[node->parent]);
	x = walk_parent(w, parent, &parent_code);
	call = arcs_last(w->arcs, x);
	w->code[i] = arcs_intern(w->arcs, &code);
	place = arcs_place(w->arcs, x, w->code[i]);
	column_put(&e->columns[PLACES], place + 1); /* ARCS_NONE becomes 0 */
	if (place == ARCS_NONE)
		put_address(e, w, call, &code);
}

void nodes_encode(struct block_encoder *e, struct buf *out, const struct tree *tree, uint32_t first,
		  uint32_t *disk_ids)
{
	uint32_t n = tree->n - first, last_parent = 0;
	struct walk w;

	number_nodes(e, tree, first, disk_ids);
	walk_init(&w, &e->arcs, first, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parent = disk_ids[tree->nodes[e->items[i].value].parent];

		column_put(&e->columns[PARENTS], parent - last_parent);
		last_parent = parent;
		put_node(e, &w, i, tree, parent);
	}
	free(w.code);
	for (int i = PARENTS; i <= OFFSETS; i++)
		column_write(&e->columns[i], e->packer, out);
}

struct nodes_parser {
	struct walk w;
	struct column_reader columns[OFFSETS + 1];
	struct tree_node *out; /* of the new nodes; NULL: … */
	uint32_t *parents;     /* … they are here, and all codes in `w` */
	uint32_t n_images;
	bool bad;
};

static struct code_addr get_address(struct nodes_parser *p, uint32_t call)
{
	struct code_addr code = walk_base(&p->w, call);
	uint64_t image = code.image.n + (uint64_t)column_get_signed(&p->columns[IMAGES]);

	code.offset += (uint64_t)column_get_signed(&p->columns[OFFSETS]);
	p->bad |= image >= p->n_images;
	code.image.n = p->bad ? 0 : (uint32_t)image;
	p->w.last = code;
	return code;
}

static struct code_addr get_code(struct nodes_parser *p, uint32_t i, uint32_t parent)
{
	struct arcs *arcs = p->w.arcs;
	struct code_addr code = { 0 };
	uint32_t x, call;
	uint64_t place;

	if (parent < p->w.first)
		return get_address(p, ARCS_NONE);
	x = walk_parent(&p->w, parent, p->out ? &p->out[parent - p->w.first].code : NULL);
	place = column_get(&p->columns[PLACES]);
	if (!place) {
		code = get_address(p, arcs_last(arcs, x));
		p->w.code[i] = arcs_intern(arcs, &code);
		arcs_put(arcs, x, p->w.code[i]);
		return code;
	}
	call = place > ARCS_DEPTH ? ARCS_NONE : arcs_at(arcs, x, (uint32_t)place - 1);
	p->bad |= call == ARCS_NONE;
	if (p->bad)
		return code;
	p->w.code[i] = call;
	return arcs->codes.data[call].code;
}

static void put_out(struct nodes_parser *p, uint32_t i, uint32_t parent, struct code_addr code)
{
	if (p->out) {
		p->out[i] = (struct tree_node){ parent, code };
		return;
	}
	p->parents[i] = parent;
	if (p->w.code[i] == ARCS_NONE)
		p->w.code[i] = arcs_intern(p->w.arcs, &code);
}

static void get_nodes(struct nodes_parser *p, uint32_t n)
{
	uint64_t parent = 0;

	for (uint32_t i = 0; i < n && !p->bad; i++) {
		parent += column_get(&p->columns[PARENTS]);
		if (parent >= (uint64_t)p->w.first + i) {
			p->bad = true;
			return;
		}
		put_out(p, i, (uint32_t)parent, get_code(p, i, (uint32_t)parent));
	}
}

static int decode_nodes(struct nodes_parser *p, struct unpacker *u, const uint8_t *bytes,
			size_t size, uint32_t n)
{
	struct reader r = reader_over(bytes, size);

	for (int i = PARENTS; i <= OFFSETS; i++)
		column_open_some(&p->columns[i], u, &r, n);
	get_nodes(p, n);
	for (int i = PARENTS; i <= OFFSETS; i++) {
		p->bad |= p->columns[i].bad;
		column_close(&p->columns[i]);
	}
	return p->bad ? -EBADMSG : 0;
}

static int decode_listed(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first,
			 uint32_t n, uint32_t n_images, struct tree_node *out)
{
	struct coded_nodes nodes;
	int r = listed_nodes_decode(u, bytes, size, first, n, n_images, &nodes);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++)
		out[i] = (struct tree_node){ nodes.parents[i],
					     nodes.arcs.codes.data[nodes.codes[i]].code };
	coded_nodes_fini(&nodes);
	return 0;
}

int nodes_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first, uint32_t n,
		 uint32_t n_images, struct tree_node *out)
{
	struct nodes_parser p = { .out = out, .n_images = n_images };
	struct arcs arcs = { 0 };
	int r;

	if (nodes_are_listed(bytes, size))
		return decode_listed(u, bytes, size, first, n, n_images, out);
	walk_init(&p.w, &arcs, first, n);
	r = decode_nodes(&p, u, bytes, size, n);
	free(p.w.code);
	arcs_fini(&arcs);
	return r;
}

void coded_nodes_fini(struct coded_nodes *nodes)
{
	free(nodes->parents);
	free(nodes->codes);
	arcs_fini(&nodes->arcs);
}

int nodes_decode_codes(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first,
		       uint32_t n, uint32_t n_images, struct coded_nodes *out)
{
	struct coded_nodes nodes = { 0 };
	struct nodes_parser p = { .n_images = n_images };
	int r;

	if (nodes_are_listed(bytes, size))
		return listed_nodes_decode(u, bytes, size, first, n, n_images, out);
	p.parents = nodes.parents = xcalloc((size_t)n + 1, sizeof(*nodes.parents));
	walk_init(&p.w, &nodes.arcs, first, n);
	nodes.codes = p.w.code;
	r = decode_nodes(&p, u, bytes, size, n);
	if (r < 0)
		coded_nodes_fini(&nodes);
	else
		*out = nodes;
	return r;
}
