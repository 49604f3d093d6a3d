/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/listed_nodes.h"

#include <errno.h>

#include "base/mem.h"

/* Functions mostly begin at multiples of so many bytes, so their distances are multiples, too. */
#define ALIGN_BITS 4
#define ALIGN_MASK ((1u << ALIGN_BITS) - 1)

enum { LIST_IMAGES, LIST_LOW, LIST_HIGH, N_LIST_COLUMNS };
enum { PARENTS, PLACES, CALLS, N_NODE_COLUMNS };

/* ---- writing ---- */

struct lister {
	struct block_encoder *e;
	struct arcs *arcs;
	const struct listed_node *nodes; /* the new ones; node i has the number first + i */
	uint32_t first, n;
	uint32_t *ranks;   /* by code: its number in the list */
	uint32_t n_listed; /* codes that new nodes have */
	/* The new nodes in the order of their final numbers: the first, and the next by node; + 1
	 */
	uint32_t top, *next;
	uint32_t *disk_ids; /* by node: its final number */
};

/* Leaves the codes of new nodes in e->items. */
static void find_codes(struct lister *l)
{
	size_t n_codes = l->arcs->codes.n;

	l->ranks = xcalloc(n_codes + 1, sizeof(*l->ranks));
	for (uint32_t i = 0; i < l->n; i++) {
		l->n_listed += !l->ranks[l->nodes[i].code];
		l->ranks[l->nodes[i].code] = 1;
	}
	block_encoder_reserve(l->e, l->n_listed);
	l->n_listed = 0;
	for (uint32_t i = 0; i < n_codes; i++)
		if (l->ranks[i])
			l->e->items[l->n_listed++] =
				(struct sort_item){ l->arcs->codes.data[i].code.offset, i };
}

/* Sorts them by image and offset. */
static void sort_codes(struct lister *l)
{
	struct sort_item *items = l->e->items;
	uint32_t n = l->n_listed;

	sort_items(items, l->e->scratch, n);
	for (uint32_t i = 0; i < n; i++)
		items[i].key = l->arcs->codes.data[items[i].value].code.image.n;
	sort_items(items, l->e->scratch, n);
	for (uint32_t i = 0; i < n; i++)
		l->ranks[items[i].value] = i;
}

static void put_list(struct lister *l, struct buf *out)
{
	struct column *columns = l->e->columns;
	struct code_addr last = { 0 };

	buf_uleb(out, l->n_listed);
	for (uint32_t i = 0; i < l->n_listed; i++) {
		struct code_addr code = l->arcs->codes.data[l->e->items[i].value].code;
		uint64_t step = code.offset - (code.image.n == last.image.n ? last.offset : 0);

		column_put(&columns[LIST_IMAGES], code.image.n - last.image.n);
		column_put(&columns[LIST_LOW], step & ALIGN_MASK);
		column_put(&columns[LIST_HIGH], step >> ALIGN_BITS);
		last = code;
	}
	for (int i = 0; i < N_LIST_COLUMNS; i++)
		column_write(&columns[i], l->e->packer, out);
}

/* Chains of nodes + 1, each of which ends with 0. */
struct chains {
	uint32_t *first; /* by new node: its children, by the numbers of their codes */
	uint32_t *next;  /* by new node */
};

/* Returns the nodes of each code, by its number in the list. The caller frees it. */
static uint32_t *chain_by_code(const struct lister *l, struct chains *c)
{
	uint32_t *of_code = xcalloc((size_t)l->n_listed + 1, sizeof(*of_code));

	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t *first = &of_code[l->ranks[l->nodes[i].code]];

		c->next[i] = *first;
		*first = i + 1;
	}
	return of_code;
}

/* Those below old nodes are e->items afterwards, by the numbers of their codes. Returns how many.
 */
static uint32_t chain_by_parent(struct lister *l, struct chains *c, const uint32_t *of_code)
{
	uint32_t n_top = 0, at;

	for (uint32_t i = 0; i < l->n; i++)
		n_top += l->nodes[i].parent < l->first;
	block_encoder_reserve(l->e, n_top);
	at = n_top;
	/* From the last code on, as each node is put in front of its chain. */
	for (uint32_t code = l->n_listed; code-- > 0;)
		for (uint32_t node = of_code[code], next; node; node = next) {
			uint32_t parent = l->nodes[node - 1].parent;

			next = c->next[node - 1];
			if (parent < l->first) {
				l->e->items[--at] =
					(struct sort_item){ l->disk_ids[parent], node - 1 };
				continue;
			}
			c->next[node - 1] = c->first[parent - l->first];
			c->first[parent - l->first] = node;
		}
	return n_top;
}

/* Makes one chain of the nodes below old nodes, by the numbers of these. Returns its last node. */
static uint32_t chain_top(struct lister *l, struct chains *c, uint32_t n_top)
{
	struct sort_item *items = l->e->items;

	sort_items(items, l->e->scratch, n_top);
	for (uint32_t i = 0; i < n_top; i++)
		c->next[items[i].value] = i + 1 < n_top ? items[i + 1].value + 1 : 0;
	l->top = n_top ? items[0].value + 1 : 0;
	return n_top ? items[n_top - 1].value : 0;
}

/* Level by level, so parents come first, and the children of a node are together. */
static void number_nodes(struct lister *l)
{
	struct chains c = { xcalloc((size_t)l->n + 1, sizeof(uint32_t)),
			    xcalloc((size_t)l->n + 1, sizeof(uint32_t)) };
	uint32_t *of_code = chain_by_code(l, &c), number = l->first, last;

	last = chain_top(l, &c, chain_by_parent(l, &c, of_code));
	free(of_code);
	/* The children of a node follow the last node so far. */
	for (uint32_t node = l->top; node; node = c.next[node - 1]) {
		l->disk_ids[l->first + node - 1] = number++;
		c.next[last] = c.first[node - 1];
		while (c.next[last])
			last = c.next[last] - 1;
	}
	free(c.first);
	l->next = c.next;
}

/* Writes the call of the code x. Returns true if the code is a new call, whose number follows. */
static bool put_place(struct lister *l, uint32_t x, uint32_t code)
{
	uint32_t place = arcs_place(l->arcs, x, code);

	column_put(&l->e->columns[PLACES], place + 1); /* ARCS_NONE becomes 0 */
	return place == ARCS_NONE;
}

static void put_nodes(struct lister *l, struct buf *out)
{
	struct column *columns = l->e->columns;
	uint32_t last_parent = 0, last_top = 0;

	arcs_forget_calls(l->arcs);
	for (uint32_t i = l->top; i; i = l->next[i - 1]) {
		const struct listed_node *node = &l->nodes[i - 1];
		uint32_t parent = l->disk_ids[node->parent], base = last_top;

		column_put(&columns[PARENTS], parent - last_parent);
		last_parent = parent;
		if (parent < l->first) {
			last_top = l->ranks[node->code];
		} else {
			uint32_t x = l->nodes[node->parent - l->first].code;
			uint32_t call = arcs_last(l->arcs, x);

			if (!put_place(l, x, node->code))
				continue;
			base = l->ranks[call == ARCS_NONE ? x : call];
		}
		column_put_signed(&columns[CALLS], (int64_t)l->ranks[node->code] - base);
	}
	for (int i = 0; i < N_NODE_COLUMNS; i++)
		column_write(&columns[i], l->e->packer, out);
}

void listed_nodes_encode(struct block_encoder *e, struct buf *out, struct listed_tree *tree,
			 uint32_t first, uint32_t *disk_ids)
{
	struct lister l = { .e = e,
			    .arcs = &tree->codes,
			    .nodes = tree->nodes.data + (first - 1),
			    .first = first,
			    .n = (uint32_t)tree->nodes.n - (first - 1),
			    .disk_ids = disk_ids };

	buf_u8(out, 0);
	buf_u8(out, 1);
	find_codes(&l);
	sort_codes(&l);
	put_list(&l, out);
	block_encoder_release(e);
	number_nodes(&l);
	put_nodes(&l, out);
	free(l.ranks);
	free(l.next);
}

/* ---- reading ---- */

bool nodes_are_listed(const uint8_t *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0 && bytes[1] == 1;
}

struct listed_parser {
	struct unpacker *u;
	struct reader r;
	struct coded_nodes *out;
	uint32_t first, n, n_images;
	uint32_t last_top; /* the code of the last node below an old one */
	struct column_reader columns[N_LIST_COLUMNS];
	bool bad;
};
_Static_assert((int)N_NODE_COLUMNS <= (int)N_LIST_COLUMNS, "the parser's columns serve for both");

static void close_columns(struct listed_parser *p)
{
	for (int i = 0; i < N_LIST_COLUMNS; i++) {
		p->bad |= p->columns[i].bad;
		column_close(&p->columns[i]);
	}
}

static void get_list(struct listed_parser *p)
{
	uint64_t n = reader_uleb(&p->r), image = 0, offset = 0;
	struct column_reader *c = p->columns;

	p->bad = p->r.bad || n > p->n || !vec_try_reserve(&p->out->arcs.codes, (size_t)n + 1);
	for (int i = 0; i < N_LIST_COLUMNS && !p->bad; i++) {
		column_open(&c[i], p->u, &p->r, n);
		p->bad |= c[i].bad;
	}
	for (uint64_t i = 0; i < n && !p->bad; i++) {
		uint64_t step = column_get(&c[LIST_IMAGES]), low = column_get(&c[LIST_LOW]);

		p->bad = step >= p->n_images || low > ALIGN_MASK;
		image += step;
		offset = (step ? 0 : offset) + low + (column_get(&c[LIST_HIGH]) << ALIGN_BITS);
		p->bad |= image >= p->n_images;
		if (!p->bad)
			vec_push(&p->out->arcs.codes,
				 (struct arcs_code){ { { (uint32_t)image }, offset }, ARCS_NONE });
	}
	close_columns(p);
}

/* The code of a new call, as the difference to the code `base`. */
static uint32_t get_call(struct listed_parser *p, uint32_t base)
{
	uint64_t code = base + (uint64_t)column_get_signed(&p->columns[CALLS]);

	p->bad |= code >= p->out->arcs.codes.n;
	return p->bad ? 0 : (uint32_t)code;
}

static uint32_t get_code(struct listed_parser *p, uint32_t parent)
{
	struct arcs *arcs = &p->out->arcs;
	uint32_t x, call, code;
	uint64_t place;

	if (parent < p->first)
		return p->last_top = get_call(p, p->last_top);
	x = p->out->codes[parent - p->first];
	place = column_get(&p->columns[PLACES]);
	if (place) {
		code = place > ARCS_DEPTH ? ARCS_NONE : arcs_at(arcs, x, (uint32_t)place - 1);
		p->bad |= code == ARCS_NONE;
		return code;
	}
	call = arcs_last(arcs, x);
	code = get_call(p, call == ARCS_NONE ? x : call);
	if (!p->bad)
		arcs_put(arcs, x, code);
	return code;
}

static void get_nodes(struct listed_parser *p)
{
	uint64_t parent = 0;

	for (int i = 0; i < N_NODE_COLUMNS && !p->bad; i++) {
		column_open_some(&p->columns[i], p->u, &p->r, p->n);
		p->bad |= p->columns[i].bad;
	}
	for (uint32_t i = 0; i < p->n && !p->bad; i++) {
		parent += column_get(&p->columns[PARENTS]);
		p->bad = p->columns[PARENTS].bad || parent >= (uint64_t)p->first + i;
		if (p->bad)
			break;
		p->out->parents[i] = (uint32_t)parent;
		p->out->codes[i] = get_code(p, (uint32_t)parent);
	}
	close_columns(p);
}

int listed_nodes_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first,
			uint32_t n, uint32_t n_images, struct coded_nodes *out)
{
	struct coded_nodes nodes = { .parents = mem_try((size_t)n + 1, sizeof(*nodes.parents)),
				     .codes = mem_try((size_t)n + 1, sizeof(*nodes.codes)) };
	struct listed_parser p = { .u = u,
				   .r = reader_over(bytes + 2, size - 2),
				   .out = &nodes,
				   .first = first,
				   .n = n,
				   .n_images = n_images };

	p.bad = !nodes.parents || !nodes.codes;
	if (!p.bad)
		get_list(&p);
	if (!p.bad)
		get_nodes(&p);
	if (p.bad)
		coded_nodes_fini(&nodes);
	else
		*out = nodes;
	return p.bad ? -EBADMSG : 0;
}
