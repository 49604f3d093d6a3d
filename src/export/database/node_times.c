/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples are read in piles, each of them of some neighbouring nodes, and a pile is sorted. */
#include "export/database/node_times.h"

#include <stdlib.h>

#include "export/piles.h"

#define MOST_PILES 1024

struct node_piles {
	uint32_t *of_node;
	uint32_t n;
};

/* Piles of about the same size: p->leaf_rows are what the blocks of the session have. */
static void find_node_piles(const struct profile *p, struct node_piles *out)
{
	uint64_t total = 0, sum = 0;

	*out = (struct node_piles){ .of_node = xcalloc(p->leaf_rows.n + 1, sizeof(uint32_t)) };
	vec_foreach (&p->leaf_rows, n)
		total += *n;
	for (size_t i = 0; i < p->leaf_rows.n; i++) {
		out->of_node[i] = out->n;
		sum += p->leaf_rows.data[i];
		if (sum * MOST_PILES > total) {
			out->n++;
			sum = 0;
		}
	}
	out->n++;
}

static uint32_t choose_node_pile(void *context, const struct profile_sample *sample)
{
	const struct node_piles *piles = context;

	return piles->of_node[sample->node];
}

static int by_node_time(const void *a, const void *b)
{
	const struct profile_sample *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

struct sample_rows {
	VEC(struct profile_sample) list;
};

/* Sorts the rows by their key, and adds up those with the same. */
static void join_rows(struct sample_rows *s)
{
	size_t n = 0;

	if (s->list.n)
		qsort(s->list.data, s->list.n, sizeof(*s->list.data), by_node_time);
	vec_foreach (&s->list, row) {
		struct profile_sample *last = n ? &s->list.data[n - 1] : NULL;

		if (!last || by_node_time(last, row)) {
			s->list.data[n++] = *row;
			continue;
		}
		weight_add(&last->weight, &row->weight);
		last->is_exact &= row->is_exact;
	}
	s->list.n = n;
}

static int read_node_pile(struct sample_rows *s, const struct piles *piles, uint32_t pile,
			  struct error *err)
{
	struct pile_reader reader;

	s->list.n = 0;
	pile_open(piles, pile, &reader);
	while (pile_next(&reader))
		vec_push(&s->list, reader.sample);
	join_rows(s);
	return pile_close(&reader, err);
}

int node_times_each(struct profile *p, node_time_visitor *visit, void *context, struct error *err)
{
	struct sample_rows s = { 0 };
	struct node_piles nodes;
	struct piles piles;
	int r;

	find_node_piles(p, &nodes);
	r = piles_init(&piles, nodes.n, p, choose_node_pile, &nodes, err);
	for (uint32_t i = 0; i < nodes.n && r >= 0; i++) {
		r = read_node_pile(&s, &piles, i, err);
		for (size_t k = 0; k < s.list.n && r >= 0; k++)
			visit(context, &s.list.data[k]);
	}
	piles_fini(&piles);
	free(nodes.of_node);
	vec_fini(&s.list);
	return r;
}
