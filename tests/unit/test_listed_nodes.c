/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of blocks of functions, by numbers of a list of codes. */
#include "unit.h"

#include "store/listed_nodes.h"

#define IMAGES 40

#define NODES_MAX 100000

struct world {
	struct listed_tree tree;
	struct block_encoder encoder;
	struct unpacker *unpacker;
	uint32_t random;
};

static void world_init(struct world *w)
{
	*w = (struct world){ .unpacker = unpacker_new(), .random = 1 };
	block_encoder_init(&w->encoder);
}

static void world_fini(struct world *w)
{
	listed_tree_fini(&w->tree);
	block_encoder_fini(&w->encoder);
	unpacker_free(w->unpacker);
}

static uint32_t below(struct world *w, uint32_t n)
{
	w->random = w->random * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)w->random * n) >> 32);
}

/* Functions at multiples of 16, some that are not, and some of the kernel, whose offsets are large.
 */
static struct code_addr code_of(uint32_t number)
{
	uint64_t offset = 1 + number * 48ULL + (number % 11 == 0 ? number % 16 : 0);

	offset -= number % IMAGES == 7 ? 1ULL << 33 : 0;
	return (struct code_addr){ { number % IMAGES }, offset };
}

/* Adds stacks, each with calls of few functions by a function, as programs have. */
static void add_stacks(struct world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = 0, depth = below(w, 40), code = below(w, 50);

		for (uint32_t d = 0; d < depth; d++) {
			struct code_addr of = code_of(code);

			node = listed_tree_child(&w->tree, node, &of);
			assert_int_equal(listed_tree_child(&w->tree,
							   w->tree.nodes.data[node - 1].parent,
							   &of),
					 node);
			code = (code * 7 + below(w, code % 9 ? 3 : 90)) % 3000;
		}
	}
}

/* One more than the highest number. */
static uint32_t end_of(const struct world *w)
{
	return (uint32_t)w->tree.nodes.n + 1;
}

static struct listed_node node_at(const struct world *w, uint32_t number)
{
	return w->tree.nodes.data[number - 1];
}

static struct code_addr code_at(const struct world *w, uint32_t number)
{
	return w->tree.codes.codes.data[node_at(w, number).code].code;
}

static void encode(struct world *w, uint32_t first, uint32_t *disk_ids, struct buf *out)
{
	out->len = 0;
	listed_nodes_encode(&w->encoder, out, &w->tree, first, disk_ids);
	assert_true(nodes_are_listed(out->data, out->len));
}

static void check_decoded(const struct world *w, uint32_t first, const uint32_t *disk_ids,
			  const struct tree_node *nodes)
{
	for (uint32_t i = first; i < end_of(w); i++) {
		struct code_addr want = code_at(w, i);
		const struct tree_node *got;

		assert_in_range(disk_ids[i], first, end_of(w) - 1);
		got = &nodes[disk_ids[i] - first];
		assert_int_equal(got->parent, disk_ids[node_at(w, i).parent]);
		assert_int_equal(got->code.image.n, want.image.n);
		assert_int_equal(got->code.offset, want.offset);
	}
}

static void nodes_come_back(void **state)
{
	struct world w;
	struct buf bytes = { 0 };
	uint32_t *disk_ids = xcalloc(NODES_MAX, sizeof(*disk_ids));
	struct tree_node *nodes = xcalloc(NODES_MAX, sizeof(*nodes));

	(void)state;
	world_init(&w);
	for (uint32_t first = 1, stacks = 1; stacks < 3000; stacks *= 9) {
		uint32_t n;

		add_stacks(&w, stacks);
		n = end_of(&w) - first;
		encode(&w, first, disk_ids, &bytes);
		assert_int_equal(nodes_decode(w.unpacker, bytes.data, bytes.len, first, n, IMAGES,
					      nodes),
				 0);
		check_decoded(&w, first, disk_ids, nodes);
		first = end_of(&w);
	}
	buf_fini(&bytes);
	free(nodes);
	free(disk_ids);
	world_fini(&w);
}

/* Parents come first, the children of a node are together, and they are in the order of codes. */
static void nodes_are_numbered_level_by_level(void **state)
{
	struct world w;
	struct buf bytes = { 0 };
	uint32_t *disk_ids = xcalloc(NODES_MAX, sizeof(*disk_ids));
	uint32_t *nodes = xcalloc(NODES_MAX, sizeof(*nodes));

	(void)state;
	world_init(&w);
	add_stacks(&w, 500);
	encode(&w, 1, disk_ids, &bytes);
	for (uint32_t i = 1; i < end_of(&w); i++)
		nodes[disk_ids[i]] = i;
	for (uint32_t i = 2; i < end_of(&w); i++) {
		struct code_addr a = code_at(&w, nodes[i - 1]), b = code_at(&w, nodes[i]);
		uint32_t above_a = node_at(&w, nodes[i - 1]).parent;
		uint32_t above_b = node_at(&w, nodes[i]).parent;

		assert_true(disk_ids[above_a] <= disk_ids[above_b]);
		if (above_a == above_b)
			assert_true(a.image.n < b.image.n ||
				    (a.image.n == b.image.n && a.offset < b.offset));
	}
	buf_fini(&bytes);
	free(nodes);
	free(disk_ids);
	world_fini(&w);
}

static void damaged_nodes_are_refused_or_possible(void **state)
{
	struct world w;
	struct buf bytes = { 0 };
	uint32_t *disk_ids = xcalloc(NODES_MAX, sizeof(*disk_ids)), n;
	struct tree_node *nodes = xcalloc(NODES_MAX, sizeof(*nodes));

	(void)state;
	world_init(&w);
	add_stacks(&w, 30);
	encode(&w, 1, disk_ids, &bytes);
	n = end_of(&w) - 1;
	for (size_t size = 2; size < bytes.len; size++)
		assert_true(nodes_decode(w.unpacker, bytes.data, size, 1, n, IMAGES, nodes) < 0);
	for (size_t bit = 16; bit < bytes.len * 8; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (nodes_decode(w.unpacker, bytes.data, bytes.len, 1, n, IMAGES, nodes) == 0)
			for (uint32_t i = 0; i < n; i++) {
				assert_true(nodes[i].parent <= i);
				assert_true(nodes[i].code.image.n < IMAGES);
			}
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* An image that the segment does not have. */
	assert_true(nodes_decode(w.unpacker, bytes.data, bytes.len, 1, n, 2, nodes) < 0);
	/* More codes than nodes. */
	assert_true(nodes_decode(w.unpacker, bytes.data, bytes.len, 1, 1, IMAGES, nodes) < 0);
	buf_fini(&bytes);
	free(nodes);
	free(disk_ids);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_back),
		cmocka_unit_test(nodes_are_numbered_level_by_level),
		cmocka_unit_test(damaged_nodes_are_refused_or_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
