/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_index.h"

#include <sys/random.h>

#include "base/clock.h"

#define NO_CODE UINT32_MAX

/* An index and its codes: for the functions below, which are called often. */
struct index_view {
	struct jit_index_node *nodes;
	const struct jitdump_code *codes;
	uint64_t secret;
};

void jit_index_fini(struct jit_index *x)
{
	intmap_fini(&x->by_middle);
	vec_fini(&x->nodes);
	*x = (struct jit_index){ 0 };
}

uint64_t jit_index_memory(const struct jit_index *x)
{
	return x->by_middle.n_slots * sizeof(*x->by_middle.slots) +
	       x->nodes.n * sizeof(*x->nodes.data);
}

static struct index_view index_view(const struct jit_index *x, const struct jitdump *d)
{
	return (struct index_view){ x->nodes.data, d->codes.data, x->secret };
}

static uint64_t middle_at(uint64_t addr, unsigned level)
{
	return (addr >> level | 1) << level;
}

static uint64_t code_last(const struct jitdump_code *c)
{
	return c->addr + c->size - 1;
}

/* Adding. */

static bool is_code_older(const struct index_view *v, uint32_t a, uint32_t b)
{
	uint64_t from_a = v->codes[a].from_ns, from_b = v->codes[b].from_ns;

	return from_a < from_b || (from_a == from_b && a < b);
}

static void node_take_limits(struct jit_index_node *n, const struct index_view *v, uint32_t from)
{
	if (from == NO_CODE)
		return;
	n->lowest = MIN(n->lowest, v->nodes[from].lowest);
	n->highest = MAX(n->highest, v->nodes[from].highest);
}

static void node_update(const struct index_view *v, uint32_t at)
{
	struct jit_index_node *n = &v->nodes[at];

	n->lowest = v->codes[at].addr;
	n->highest = code_last(&v->codes[at]);
	node_take_limits(n, v, n->older);
	node_take_limits(n, v, n->newer);
}

/* Cuts a treap into the codes that are older and newer than code i. */
static void treap_split(const struct index_view *v, uint32_t at, uint32_t i, uint32_t *older,
			uint32_t *newer)
{
	struct jit_index_node *n;

	if (at == NO_CODE) {
		*older = *newer = NO_CODE;
		return;
	}
	n = &v->nodes[at];
	if (is_code_older(v, at, i)) {
		*older = at;
		treap_split(v, n->newer, i, &n->newer, newer);
	} else {
		*newer = at;
		treap_split(v, n->older, i, older, &n->older);
	}
	node_update(v, at);
}

static void treap_insert(const struct index_view *v, uint32_t *at, uint32_t i)
{
	if (*at == NO_CODE || hash_u64(i ^ v->secret) > hash_u64(*at ^ v->secret)) {
		treap_split(v, *at, i, &v->nodes[i].older, &v->nodes[i].newer);
		*at = i;
	} else {
		struct jit_index_node *n = &v->nodes[*at];

		treap_insert(v, is_code_older(v, i, *at) ? &n->older : &n->newer, i);
	}
	node_update(v, *at);
}

static uint64_t make_secret(void)
{
	uint64_t secret;

	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
		secret = clock_monotonic_ns(); /* early in the boot of a machine */
	return secret;
}

static void index_code(struct jit_index *x, const struct jitdump *d, uint32_t i)
{
	const struct jitdump_code *c = &d->codes.data[i];
	struct index_view v = index_view(x, d);
	unsigned level = 0;
	uint32_t *root;
	bool is_new;

	if (!c->size)
		return;
	if (c->addr != code_last(c))
		level = 63 - (unsigned)__builtin_clzll(c->addr ^ code_last(c));
	x->levels |= 1ull << level;
	root = intmap_put(&x->by_middle, middle_at(c->addr, level), &is_new);
	if (is_new)
		*root = NO_CODE;
	treap_insert(&v, root, i);
}

void jit_index_add(struct jit_index *x, const struct jitdump *d)
{
	if (!x->secret)
		x->secret = make_secret();
	while (x->nodes.n < d->codes.n) {
		vec_push(&x->nodes, (struct jit_index_node){ NO_CODE, NO_CODE, 0, 0 });
		index_code(x, d, (uint32_t)x->nodes.n - 1);
	}
}

/* Finding. */

static bool is_any_code_at(const struct index_view *v, uint32_t at, uint64_t addr)
{
	return at != NO_CODE && addr >= v->nodes[at].lowest && addr <= v->nodes[at].highest;
}

static bool is_code_at(const struct index_view *v, uint32_t at, uint64_t addr)
{
	return addr - v->codes[at].addr < v->codes[at].size;
}

/* The newest that is not younger than the time. */
static uint32_t find_newest(const struct index_view *v, uint32_t at, uint64_t addr,
			    uint64_t time_ns)
{
	if (!is_any_code_at(v, at, addr))
		return NO_CODE;
	if (v->codes[at].from_ns <= time_ns) {
		uint32_t found = find_newest(v, v->nodes[at].newer, addr, time_ns);

		if (found != NO_CODE)
			return found;
		if (is_code_at(v, at, addr))
			return at;
	}
	return find_newest(v, v->nodes[at].older, addr, time_ns);
}

static uint32_t find_oldest(const struct index_view *v, uint32_t at, uint64_t addr)
{
	uint32_t found;

	if (!is_any_code_at(v, at, addr))
		return NO_CODE;
	found = find_oldest(v, v->nodes[at].older, addr);
	if (found != NO_CODE)
		return found;
	return is_code_at(v, at, addr) ? at : find_oldest(v, v->nodes[at].newer, addr);
}

const struct jitdump_code *jit_index_find(const struct jit_index *x, const struct jitdump *d,
					  uint64_t addr, uint64_t time_ns)
{
	struct index_view v = index_view(x, d);
	uint32_t newest = NO_CODE, oldest = NO_CODE;

	for (uint64_t left = x->levels; left; left &= left - 1) {
		unsigned level = (unsigned)__builtin_ctzll(left);
		const uint32_t *root = intmap_find(&x->by_middle, middle_at(addr, level));
		uint32_t at = root ? find_newest(&v, *root, addr, time_ns) : NO_CODE;

		if (at != NO_CODE && (newest == NO_CODE || is_code_older(&v, newest, at)))
			newest = at;
		if (newest != NO_CODE || !root)
			continue;
		at = find_oldest(&v, *root, addr);
		if (at != NO_CODE && (oldest == NO_CODE || is_code_older(&v, at, oldest)))
			oldest = at;
	}
	if (newest == NO_CODE)
		newest = oldest;
	return newest == NO_CODE ? NULL : &d->codes.data[newest];
}
