/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples are read in piles, each of them of some neighbouring nodes. A pile is in the order of
 * time: within a second, its rows are sorted and added up, and at last all of them are sorted.
 */
#include "export/database/node_seconds.h"

#include <stdlib.h>

#include "base/clock.h"
#include "export/piles.h"
#include "store/session.h"

#define MOST_PILES 1024

struct second_rows {
	uint64_t start; /* of the session, in whole seconds */
	VEC(struct node_second) list;
	size_t second; /* in the list: where the second at hand begins */
};

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

static int by_node_second(const void *a, const void *b)
{
	const struct node_second *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Sorts the rows from there on by their key, and adds up those with the same. */
static void join_rows(struct second_rows *s, size_t first)
{
	size_t n = first;

	if (s->list.n > first)
		qsort(s->list.data + first, s->list.n - first, sizeof(*s->list.data),
		      by_node_second);
	for (size_t i = first; i < s->list.n; i++)
		if (n > first && !by_node_second(&s->list.data[n - 1], &s->list.data[i]))
			weight_add(&s->list.data[n - 1].weight, &s->list.data[i].weight);
		else
			s->list.data[n++] = s->list.data[i];
	s->list.n = n;
}

static void add_sample_row(struct second_rows *s, const struct profile_sample *sample)
{
	uint64_t second = MAX(sample->time_ns / NS_PER_SECOND, s->start) - s->start;

	if (s->list.n > s->second && s->list.data[s->second].second != second) {
		join_rows(s, s->second);
		s->second = s->list.n;
	}
	vec_push(&s->list,
		 (struct node_second){ sample->node, sample->group, second, sample->weight });
}

static int read_node_pile(struct second_rows *s, const struct piles *piles, uint32_t pile,
			  struct error *err)
{
	struct pile_reader reader;

	s->list.n = s->second = 0;
	pile_open(piles, pile, &reader);
	while (pile_next(&reader))
		add_sample_row(s, &reader.sample);
	join_rows(s, 0);
	return pile_close(&reader, err);
}

int node_seconds_each(struct profile *p, node_second_visitor *visit, void *context,
		      struct error *err)
{
	struct second_rows s = { .start = p->session->info.start_ns / NS_PER_SECOND };
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
