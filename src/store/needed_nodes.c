/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/needed_nodes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "store/node_set.h"
#include "store/row_reader.h"
#include "store/segment_file.h"

/* The needed nodes by descending number. Their parents have the numbers of the file. */
struct found_nodes {
	struct tree_node *data;
	size_t n, cap;
};

/* Rows that are damaged now are damaged later, too. Those without memory now may have it later. */
static int add_nodes_of_rows(struct segment_file *f, uint32_t first, uint32_t end,
			     struct node_set *set)
{
	struct count_rows rows = { 0 };
	int r = 0;

	for (uint32_t b = first; b < end && r != -ENOMEM; b++) {
		rows.n = 0;
		r = segment_read_rows(&f->seg, b, &rows, NULL);
		vec_foreach (&rows, row)
			node_set_add(set, row->node);
	}
	vec_fini(&rows);
	return r == -ENOMEM ? r : 0;
}

/* Decoding takes for each node: parent and code, and what the model of calls has. */
#define DECODE_BYTES 64

/* Nodes that are in no section: children of the root, in the unknown image. */
static void push_unknown(const struct node_set *set, uint32_t first, uint32_t end,
			 struct found_nodes *found)
{
	for (uint32_t i = end; i-- > first;)
		if (node_set_has(set, i))
			vec_push(found, (struct tree_node){ 0 });
}

static int push_section(const struct segment_file *f, struct unpacker *u,
			const struct later_nodes *section, struct node_set *set,
			struct found_nodes *found)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	struct coded_nodes nodes;

	if (reserve_take(&room, section->n, DECODE_BYTES) < 0)
		return -ENOMEM;
	/* A file that was cut meanwhile has zeros here. */
	if (XXH3_64bits(section->bytes, section->size) != section->hash ||
	    nodes_decode_codes(u, section->bytes, section->size, section->first, section->n,
			       f->seg.n_images, &nodes) < 0) {
		push_unknown(set, section->first, section->first + section->n, found);
		return 0;
	}
	for (uint32_t i = section->n; i-- > 0;) {
		if (!node_set_has(set, section->first + i))
			continue;
		node_set_add(set, nodes.parents[i]);
		vec_push(found, (struct tree_node){ nodes.parents[i],
						    nodes.arcs.codes.data[nodes.codes[i]].code });
	}
	coded_nodes_fini(&nodes);
	return 0;
}

/*
 * A parent comes before its child. So the last section needs only what the rows need, and adds
 * parents for those before it.
 */
static int find_nodes(const struct segment_file *f, struct node_set *set, struct found_nodes *found)
{
	struct unpacker *u = unpacker_new();
	uint32_t end = f->n_ids[TABLE_NODES];
	int r = 0;

	for (size_t i = f->later.n; i-- > 0 && !r;) {
		const struct later_nodes *section = &f->later.data[i];

		push_unknown(set, section->first + section->n, end, found);
		if (node_set_has_any(set, section->first, section->n))
			r = push_section(f, u, section, set, found);
		end = section->first;
	}
	push_unknown(set, 0, end, found); /* and the root */
	unpacker_free(u);
	return r;
}

static void take_nodes(struct segment_file *f, struct node_set *set, struct found_nodes *found)
{
	uint32_t n = node_set_complete(set);
	struct tree_node *nodes = found->data;

	assert(n == found->n);
	for (uint32_t low = 0, high = n - 1; low < high; low++, high--) {
		struct tree_node node = nodes[low];

		nodes[low] = nodes[high];
		nodes[high] = node;
	}
	for (uint32_t i = 0; i < n; i++)
		nodes[i].parent = node_set_rank(set, nodes[i].parent);
	free(f->seg.nodes);
	f->seg.nodes = nodes;
	f->seg.n_nodes = n;
	f->cap[TABLE_NODES] = (uint32_t)found->cap;
	*found = (struct found_nodes){ 0 };
}

int replaced_code_compare(const void *a, const void *b)
{
	const struct code_addr *x = &((const struct replaced_code *)a)->from;
	const struct code_addr *y = &((const struct replaced_code *)b)->from;

	if (x->image.n != y->image.n)
		return x->image.n < y->image.n ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void replace_codes(struct segment_file *f)
{
	for (uint32_t i = 1; f->replaced.n && i < f->seg.n_nodes; i++) {
		struct replaced_code *found, key = { .from = f->seg.nodes[i].code };

		if (f->seg.images[key.from.image.n].kind != IMAGE_JIT)
			continue;
		found = bsearch(&key, f->replaced.data, f->replaced.n, sizeof(key),
				replaced_code_compare);
		if (found)
			f->seg.nodes[i].code = found->to;
	}
}

int segment_load_nodes_of(struct segment *segment, uint32_t first, uint32_t end)
{
	struct segment_file *f = segment_file_of(segment);
	struct found_nodes found = { 0 };
	struct node_set *set;
	int r;

	if (!f->has_later || f->needed)
		return 0;
	set = node_set_new(f->n_ids[TABLE_NODES]);
	node_set_add(set, 0);
	r = add_nodes_of_rows(f, first, end, set);
	r = r < 0 ? r : find_nodes(f, set, &found);
	if (!r) {
		take_nodes(f, set, &found);
		f->needed = take_ptr(set);
		replace_codes(f);
	}
	node_set_free(set);
	vec_fini(&found);
	return r;
}

int segment_load_nodes(struct segment *segment)
{
	return segment_load_nodes_of(segment, 0, segment->n_blocks);
}

void segment_drop_nodes(struct segment *segment)
{
	struct segment_file *f = segment_file_of(segment);

	if (!f->needed)
		return;
	node_set_free(take_ptr(f->needed));
	row_reader_free(take_ptr(f->reader));
	f->seg.nodes = xrealloc(f->seg.nodes, 1, sizeof(*f->seg.nodes));
	f->seg.n_nodes = f->cap[TABLE_NODES] = 1;
	file_rest(&f->map, 0, f->map.size);
}
