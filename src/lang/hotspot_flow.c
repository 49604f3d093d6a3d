/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The methods of any address in compiled code, by the ways that lead through it.
 *
 * HotSpot notes the methods of calls, polls and traps alone. Two steps give those of the rest:
 *
 *   - A check that fails jumps to a trap. The check has the methods of the trap.
 *
 *	cmp 12(%rcx),%ebp
 *	jae 1f
 *	…
 *   1:	mov $-27,%esi
 *	call UncommonTrapBlob
 *
 *   - The code is cut at its jumps, their targets and its places, as a graph. An address has the
 *     methods that all the last places before it and all the first places behind it have in common,
 *     on all ways. So a block that lies between others, and is none of them, gets no wrong method.
 *
 * The places of a method come in the order of its bytecode, unless a loop is between them. Then the
 * method may have ended and begun again, and the address may be its caller's.
 */
#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/reader.h"
#include "lang/hotspot.h"
#include "lang/hotspot_insn.h"
#include "lang/hotspot_number.h"

#define NONE UINT32_MAX

/* Bytes that are read, of the parts of one blob. */
#define CODE_MAX     (128 << 10)
#define PCS_MAX      (256 << 10)
#define SCOPES_MAX   (256 << 10)
#define METADATA_MAX (32 << 10)

/* A method, as it is inlined at one call of its caller. */
struct flow_node {
	uint64_t method;
	uint32_t parent; /* NONE: the outermost */
	int32_t bci;     /* of the call, in the parent */
	uint32_t depth;
};

/* The methods of one or more places: a node, and the least and the greatest index in it. */
struct flow_methods {
	uint32_t node; /* NONE: of no place */
	int32_t low, high;
};

struct flow_run {
	uint32_t start; /* of its first instruction, from the code's begin; up to the next run's */
	uint32_t node;
	uint32_t bci;
};

struct hotspot_flow {
	VEC(struct flow_node) nodes;
	VEC(struct flow_run) runs;
	uint32_t size; /* bytes of code */
	uint32_t work; /* steps that may still be done, while it is made */
};

#define BRANCHES_MAX 16384

/* What a thing costs, in steps. */
#define SCOPE_STEPS  8   /* a method of a place */
#define CALLEE_STEPS 512 /* a search for a blob */

struct flow_branch {
	uint32_t at, end;
	uint32_t target; /* NONE: outside, or not known */
	bool goes_on;    /* also behind it */
	bool is_exit;    /* to a trap */
};

struct flow_place {
	uint32_t at;
	struct flow_methods methods;
};

/* A piece of code between two cuts. */
struct flow_segment {
	uint32_t start;
	uint32_t next[2];           /* segments; NONE: none */
	bool leaves;                /* it goes where assay does not look */
	struct flow_methods place;  /* at its begin */
	struct flow_methods before; /* of the last places on the ways to it */
	struct flow_methods behind; /* of the first places on the ways from its end */
};

#define CALLEES_KEPT 4

struct flow_reading {
	const struct hotspot *h;
	const struct hotspot_blob *blob;
	struct hotspot_flow *flow;
	uint8_t *code, *pcs, *scopes, *metadata;
	size_t pcs_size, scopes_size, metadata_size;
	uint8_t *marks; /* of each byte of the code */
	struct intmap by_key;
	VEC(struct flow_branch) branches;
	VEC(struct flow_place) places, exits;
	VEC(struct flow_segment) segments;
	struct {
		uint64_t addr;
		bool is_trap;
	} callees[CALLEES_KEPT]; /* the last ones that were searched */
	uint32_t n_searched;
};

enum { BEGINS = 1, CUT = 2, BEHIND_CALL = 4 }; /* marks: an instruction; a segment */

/* False: there are not so many steps left. */
static bool spend(struct hotspot_flow *f, uint32_t steps)
{
	bool are_there = f->work >= steps;

	f->work -= MIN(f->work, steps);
	return are_there;
}

/* ---- instructions ---- */

/* The offset of a direct branch's target; NONE: it is outside. */
static uint32_t target_of(const struct flow_reading *r, const struct pt_insn *insn, uint32_t at)
{
	uint64_t target;

	if (!insn->is_direct)
		return NONE;
	target = pt_insn_target(insn, r->blob->code + at) - r->blob->code;
	return target < r->flow->size ? (uint32_t)target : NONE;
}

static void add_branch(struct flow_reading *r, uint32_t at, const struct pt_insn *insn)
{
	struct flow_branch branch = { .at = at, .end = at + insn->size, .target = NONE };

	branch.goes_on = insn->end == PT_END_COND;
	if (insn->end == PT_END_COND || insn->end == PT_END_JUMP)
		branch.target = target_of(r, insn, at);
	vec_push(&r->branches, branch);
	r->marks[branch.end] |= CUT;
	if (branch.target != NONE)
		r->marks[branch.target] |= CUT;
}

/* False: not all of the code can be read. */
static bool find_branches(struct flow_reading *r)
{
	struct pt_insn insn;

	r->marks[0] |= CUT;
	for (uint32_t at = 0; at < r->flow->size; at += insn.size) {
		if (!spend(r->flow, 1) ||
		    !hotspot_insn_read(r->h, r->code + at, r->flow->size - at, &insn))
			return false;
		r->marks[at] |= BEGINS;
		if (insn.end == PT_END_CALL || insn.end == PT_END_CALL_INDIRECT)
			r->marks[at + insn.size] |= BEHIND_CALL;
		else if (insn.end != PT_END_FALL)
			add_branch(r, at, &insn);
		if (r->branches.n > BRANCHES_MAX)
			return false;
	}
	return true;
}

/* ---- places ---- */

#define BCI_BITS    17
#define METHOD_BITS 23

/* The node of a method in a caller. NONE: the data is not sound. */
static uint32_t node_of(struct flow_reading *r, uint32_t parent, int32_t bci, uint32_t method)
{
	uint64_t key = (uint64_t)(parent + 1) << (BCI_BITS + METHOD_BITS) |
		       (uint64_t)method << BCI_BITS | (uint32_t)(bci + 1);
	struct flow_node node = { .parent = parent, .bci = bci };
	bool is_new;
	uint32_t *at;

	if (!method || (uint64_t)method * sizeof(node.method) > r->metadata_size || bci < -1 ||
	    bci + 1 >= 1 << BCI_BITS)
		return NONE;
	if (parent != NONE)
		node.depth = r->flow->nodes.data[parent].depth + 1;
	if (node.depth >= HOTSPOT_SCOPES_MAX)
		return NONE;
	memcpy(&node.method, r->metadata + (method - 1) * sizeof(node.method), sizeof(node.method));
	at = intmap_put(&r->by_key, key, &is_new);
	if (is_new) {
		*at = (uint32_t)r->flow->nodes.n;
		vec_push(&r->flow->nodes, node);
	}
	return *at;
}

struct flow_scope {
	uint32_t method;
	int32_t bci;
};

/* The methods of a scope. False: the data is not sound. Callers come before in the data. */
static bool read_scope(struct flow_reading *r, uint32_t at, struct flow_methods *out)
{
	struct flow_scope chain[HOTSPOT_SCOPES_MAX];
	uint32_t n = 0, node = NONE;
	int32_t bci = -1;

	for (uint32_t sender; at; at = sender, n++) {
		struct reader data;

		if (n == HOTSPOT_SCOPES_MAX || at >= r->scopes_size || !spend(r->flow, SCOPE_STEPS))
			return false;
		data = reader_over(r->scopes + at, r->scopes_size - at);
		sender = hotspot_u5(&data, r->h->version);
		chain[n].method = hotspot_u5(&data, r->h->version);
		chain[n].bci = (int32_t)(hotspot_u5(&data, r->h->version) - 1);
		if (data.bad || sender >= at)
			return false;
	}
	while (n-- > 0) {
		node = node_of(r, node, bci, chain[n].method);
		if (node == NONE)
			return false;
		bci = chain[n].bci;
	}
	*out = (struct flow_methods){ node, bci, bci };
	return node != NONE;
}

static uint32_t number_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/*
 * A call, whose place is behind it, or a poll. With DebugNonSafepoints, there are descriptors of
 * other instructions, which name the methods that an instruction came from. Instructions move, so
 * they are in no order.
 */
static bool is_place(const struct flow_reading *r, uint32_t at)
{
	return at < r->flow->size && r->marks[at] & BEGINS &&
	       (r->marks[at] & BEHIND_CALL ||
		hotspot_is_poll(r->h, r->code + at, r->flow->size - at));
}

/* The descriptors are in the order of their offsets; of several at one, the first counts. */
static bool find_places(struct flow_reading *r)
{
	const uint64_t *f = r->h->fields;
	size_t size = f[PC_SIZE];

	if (size < 8 || f[PC_OFFSET] > size - 4 || f[PC_SCOPE] > size - 4)
		return false;
	for (size_t i = 0; i + size <= r->pcs_size; i += size) {
		struct flow_place place = { .at = number_at(r->pcs + i + f[PC_OFFSET]) };
		uint32_t scope = number_at(r->pcs + i + f[PC_SCOPE]);
		const struct flow_place *last =
			r->places.n ? &r->places.data[r->places.n - 1] : NULL;

		if (!scope || !is_place(r, place.at) || (last && place.at == last->at))
			continue;
		if ((last && place.at < last->at) || !read_scope(r, scope, &place.methods))
			return false;
		vec_push(&r->places, place);
		r->marks[place.at] |= CUT;
	}
	return true;
}

static const struct flow_place *place_at(const struct flow_reading *r, uint32_t at)
{
	size_t first = 0;

	for (size_t end = r->places.n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (r->places.data[middle].at < at)
			first = middle + 1;
		else
			end = middle;
	}
	return first < r->places.n && r->places.data[first].at == at ? &r->places.data[first]
								     : NULL;
}

/* ---- exits ---- */

static bool is_trap(struct flow_reading *r, uint64_t addr)
{
	struct hotspot_blob blob;
	bool is;

	for (uint32_t i = 0; i < MIN(r->n_searched, CALLEES_KEPT); i++)
		if (r->callees[i].addr == addr)
			return r->callees[i].is_trap;
	if (!spend(r->flow, CALLEE_STEPS))
		return false;
	is = hotspot_find_blob(r->h, addr, &blob) && !strcmp(blob.name, "UncommonTrapBlob");
	r->callees[r->n_searched % CALLEES_KEPT].addr = addr;
	r->callees[r->n_searched++ % CALLEES_KEPT].is_trap = is;
	return is;
}

#define EXIT_INSNS 40
#define EXIT_NEAR  64 /* bytes: a comparison before the trap may have jumps of its own */

/* AArch64's calls go over a jump behind the method, if the target may be far away. */
static uint64_t callee_of(const struct flow_reading *r, const struct pt_insn *insn, uint32_t at)
{
	uint64_t target = pt_insn_target(insn, r->blob->code + at), off = target - r->blob->code;

	if (off < r->flow->size)
		hotspot_far_jump(r->h, r->code + off, r->flow->size - off, &target);
	return target;
}

/* The methods of the trap that code at `at` leads to, and to nothing else; NULL: it does not. */
static const struct flow_place *trap_behind(struct flow_reading *r, uint32_t at)
{
	bool has_reason = false;
	struct pt_insn insn;
	uint32_t target;

	for (int i = 0; i < EXIT_INSNS && at < r->flow->size && spend(r->flow, 1); i++) {
		const uint8_t *bytes = r->code + at;

		if (!(r->marks[at] & BEGINS) ||
		    !hotspot_insn_read(r->h, bytes, r->flow->size - at, &insn))
			return NULL;
		has_reason |= hotspot_is_trap_reason(r->h, bytes, insn.size);
		target = target_of(r, &insn, at);
		at += insn.size;
		switch (insn.end) {
		case PT_END_FALL:
			break;
		case PT_END_COND:
			if (target == NONE || target < at || target - at > EXIT_NEAR)
				return NULL;
			break;
		case PT_END_JUMP:
			at = target;
			break;
		case PT_END_CALL:
			if (!has_reason || !insn.is_direct ||
			    !is_trap(r, callee_of(r, &insn, at - insn.size)))
				return NULL;
			return place_at(r, at);
		default:
			return NULL;
		}
	}
	return NULL;
}

static void find_exits(struct flow_reading *r)
{
	vec_foreach (&r->branches, b) {
		const struct flow_place *trap = NULL;

		if (b->goes_on && b->target != NONE)
			trap = trap_behind(r, b->target);
		if (!trap)
			continue;
		b->is_exit = true;
		r->marks[b->at] |= CUT;
		vec_push(&r->exits, (struct flow_place){ b->at, trap->methods });
	}
}

/* ---- segments ---- */

#define SEGMENTS_MAX 16384

static uint32_t segment_at(const struct flow_reading *r, uint32_t at)
{
	size_t first = 0;

	for (size_t end = r->segments.n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (r->segments.data[middle].start <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return (uint32_t)first - 1;
}

static bool make_segments(struct flow_reading *r)
{
	const struct flow_methods nothing = { NONE, 0, 0 };

	for (uint32_t at = 0; at < r->flow->size; at++) {
		if (!(r->marks[at] & CUT))
			continue;
		if (!(r->marks[at] & BEGINS) || r->segments.n == SEGMENTS_MAX)
			return false;
		vec_push(&r->segments, (struct flow_segment){ .start = at,
							      .next = { NONE, NONE },
							      .place = nothing,
							      .before = nothing,
							      .behind = nothing });
	}
	vec_foreach (&r->exits, e)
		r->segments.data[segment_at(r, e->at)].place = e->methods;
	vec_foreach (&r->places, p)
		r->segments.data[segment_at(r, p->at)].place = p->methods;
	return true;
}

/* The last instruction of a segment is a branch, or goes on in the next segment. */
static void link_segments(struct flow_reading *r)
{
	for (uint32_t i = 0; i < r->segments.n; i++) {
		bool is_last = i + 1 == r->segments.n;

		r->segments.data[i].next[0] = is_last ? NONE : i + 1;
		r->segments.data[i].leaves = is_last;
	}
	vec_foreach (&r->branches, b) {
		struct flow_segment *s = &r->segments.data[segment_at(r, b->at)];

		if (!b->goes_on)
			s->next[0] = NONE;
		if (b->target == NONE)
			s->leaves = true;
		else if (!b->is_exit)
			s->next[1] = segment_at(r, b->target);
	}
}

/* ---- the ways ---- */

static struct flow_methods caller_of(const struct hotspot_flow *f, const struct flow_methods *m)
{
	const struct flow_node *node = &f->nodes.data[m->node];

	return (struct flow_methods){ node->parent, node->bci, node->bci };
}

/* Goes out in both, until they are in the same method. False: they have none in common. */
static bool find_common(struct hotspot_flow *f, struct flow_methods *a, struct flow_methods *b)
{
	while (a->node != b->node && a->node != NONE && b->node != NONE) {
		uint32_t depth_a = f->nodes.data[a->node].depth;
		uint32_t depth_b = f->nodes.data[b->node].depth;

		if (!spend(f, 1))
			return false;
		if (depth_a >= depth_b)
			*a = caller_of(f, a);
		if (depth_b >= depth_a)
			*b = caller_of(f, b);
	}
	return a->node == b->node && a->node != NONE;
}

/* Adds a way to the others. Returns whether that changed them. */
static bool add_way(struct hotspot_flow *f, struct flow_methods *all, struct flow_methods way)
{
	struct flow_methods old = *all;

	if (way.node == NONE)
		return false;
	if (all->node == NONE)
		*all = way;
	else if (find_common(f, all, &way))
		*all = (struct flow_methods){ way.node, MIN(all->low, way.low),
					      MAX(all->high, way.high) };
	else
		*all = (struct flow_methods){ 0, -1, INT32_MAX };
	return all->node != old.node || all->low != old.low || all->high != old.high;
}

#define ROUNDS_MAX 32

static const struct flow_methods somewhere = { 0, -1, INT32_MAX }; /* in the outermost method */

static bool add_ways_behind(struct flow_reading *r)
{
	bool has_changed = false;

	for (size_t i = r->segments.n; i-- > 0;) {
		struct flow_segment *s = &r->segments.data[i];

		for (size_t k = 0; k < ARRAY_SIZE(s->next); k++) {
			const struct flow_segment *next =
				s->next[k] == NONE ? NULL : &r->segments.data[s->next[k]];

			if (next)
				has_changed |= add_way(r->flow, &s->behind,
						       next->place.node == NONE ? next->behind
										: next->place);
		}
		if (s->leaves)
			has_changed |= add_way(r->flow, &s->behind, somewhere);
	}
	return has_changed;
}

static bool add_ways_before(struct flow_reading *r)
{
	bool has_changed = false;

	vec_foreach (&r->segments, s) {
		const struct flow_methods *from = s->place.node == NONE ? &s->before : &s->place;

		for (size_t k = 0; k < ARRAY_SIZE(s->next); k++)
			if (s->next[k] != NONE)
				has_changed |= add_way(r->flow,
						       &r->segments.data[s->next[k]].before, *from);
	}
	return has_changed;
}

/* False: there are too many ways. The steps of a round are those of its segments. */
static bool follow_ways(struct flow_reading *r)
{
	bool has_changed = true;

	r->segments.data[0].before = somewhere;
	vec_foreach (&r->branches, b)
		if (b->is_exit)
			add_way(r->flow, &r->segments.data[segment_at(r, b->target)].before,
				r->segments.data[segment_at(r, b->at)].place);
	for (int round = 0; has_changed; round++) {
		if (round == ROUNDS_MAX || !spend(r->flow, 4 * (uint32_t)r->segments.n))
			return false;
		has_changed = add_ways_behind(r);
		has_changed |= add_ways_before(r);
	}
	return true;
}

/* ---- the answer ---- */

static struct flow_run run_of(struct hotspot_flow *f, const struct flow_segment *s)
{
	struct flow_methods before = s->place.node == NONE ? s->before : s->place;
	struct flow_methods behind = s->behind;

	if (!find_common(f, &before, &behind))
		return (struct flow_run){ s->start, 0, UINT32_MAX };
	if (before.high >= behind.low) /* a loop is between them */
		while (behind.node)
			behind = caller_of(f, &behind);
	return (struct flow_run){ s->start, behind.node,
				  behind.low < 0 ? UINT32_MAX : (uint32_t)behind.low };
}

static void make_runs(struct flow_reading *r)
{
	vec_foreach (&r->segments, s) {
		struct flow_run run = run_of(r->flow, s);
		const struct flow_run *last =
			r->flow->runs.n ? &r->flow->runs.data[r->flow->runs.n - 1] : NULL;

		if (!last || last->node != run.node || last->bci != run.bci)
			vec_push(&r->flow->runs, run);
	}
}

/* ---- reading ---- */

static uint8_t *read_part(const struct flow_reading *r, uint64_t start, uint64_t end, size_t most,
			  size_t *size)
{
	uint8_t *bytes;

	*size = (size_t)MIN(end - start, (uint64_t)most);
	if (start > end)
		return NULL;
	bytes = xmalloc(*size + 1);
	if (lang_read(&r->h->memory, start, bytes, *size))
		return bytes;
	free(bytes);
	return NULL;
}

static bool read_parts(struct flow_reading *r)
{
	const struct hotspot_blob *b = r->blob;
	size_t size;

	if (b->code >= b->code_end || b->code_end - b->code > CODE_MAX ||
	    b->pcs_end - b->pcs > PCS_MAX || b->scopes_end - b->scopes > SCOPES_MAX)
		return false;
	r->code = read_part(r, b->code, b->code_end, CODE_MAX, &size);
	r->flow->size = (uint32_t)size;
	r->marks = xcalloc(size + 1, 1);
	r->pcs = read_part(r, b->pcs, b->pcs_end, PCS_MAX, &r->pcs_size);
	r->scopes = read_part(r, b->scopes, b->scopes_end, SCOPES_MAX, &r->scopes_size);
	r->metadata = read_part(r, b->metadata, b->metadata_end, METADATA_MAX, &r->metadata_size);
	return r->code && r->pcs && r->scopes && r->metadata;
}

static bool read_flow(struct flow_reading *r)
{
	struct flow_node outermost = { .method = r->blob->method, .parent = NONE };

	if (!read_parts(r) || !find_branches(r) || !find_places(r))
		return false;
	if (!r->flow->nodes.n)
		vec_push(&r->flow->nodes, outermost);
	vec_foreach (&r->flow->nodes, n)
		if (n == r->flow->nodes.data ? n->method != r->blob->method : n->parent == NONE)
			return false; /* the outermost method is that of the code */
	find_exits(r);
	if (!make_segments(r))
		return false;
	link_segments(r);
	if (!follow_ways(r))
		return false;
	make_runs(r);
	return true;
}

struct hotspot_flow *hotspot_flow_new(const struct hotspot *h, const struct hotspot_blob *blob,
				      uint32_t *work)
{
	struct flow_reading r = { .h = h, .blob = blob, .flow = xcalloc(1, sizeof(*r.flow)) };
	bool is_known;

	r.flow->work = *work;
	is_known = read_flow(&r);
	*work = r.flow->work;
	free(r.code);
	free(r.pcs);
	free(r.scopes);
	free(r.metadata);
	free(r.marks);
	intmap_fini(&r.by_key);
	vec_fini(&r.branches);
	vec_fini(&r.places);
	vec_fini(&r.exits);
	vec_fini(&r.segments);
	if (is_known)
		return r.flow;
	hotspot_flow_free(r.flow);
	return NULL;
}

void hotspot_flow_free(struct hotspot_flow *f)
{
	if (!f)
		return;
	vec_fini(&f->nodes);
	vec_fini(&f->runs);
	free(f);
}

size_t hotspot_flow_bytes(const struct hotspot_flow *f)
{
	return f ? sizeof(*f) + f->nodes.cap * sizeof(*f->nodes.data) +
			       f->runs.cap * sizeof(*f->runs.data)
		 : 0;
}

uint32_t hotspot_flow_scopes(const struct hotspot_flow *f, uint64_t off,
			     struct hotspot_scope out[HOTSPOT_SCOPES_MAX])
{
	const struct flow_run *run = f->runs.data;
	size_t first = 0;
	uint32_t n = 0;

	if (off >= f->size)
		return 0;
	for (size_t end = f->runs.n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (f->runs.data[middle].start <= off)
			first = middle + 1;
		else
			end = middle;
	}
	assert(first > 0); /* a run begins with the code */
	run += first - 1;
	out[n].bci = run->bci;
	for (uint32_t node = run->node;; node = f->nodes.data[node].parent) {
		out[n++].method = f->nodes.data[node].method;
		if (f->nodes.data[node].parent == NONE || n == HOTSPOT_SCOPES_MAX)
			return n;
		out[n].bci = (uint32_t)f->nodes.data[node].bci;
	}
}
