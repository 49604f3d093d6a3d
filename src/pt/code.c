/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/code.h"

#include <string.h>
#include <sys/mman.h>

#include <Zydis/Zydis.h>

#include "pt/insn.h"

enum {
	MAX_INSN = 15,
	READ_SIZE = 256,
	MAX_BLOCK_INSNS = 1024,
	RUNS_LOG2 = 10, /* slots at first */
	LARGE_PAGE = 2 << 20,
};

const uint16_t pt_end_flags[N_PT_ENDS] = {
#define X(id, flags) PT_F_BRANCH | (flags),
	PT_ENDS(X)
#undef X
};

struct pt_code *pt_code_new(const struct pt_memory *memory, uint32_t space, unsigned int width,
			    bool all_branches)
{
	struct pt_code *code = xcalloc(1, sizeof(*code));

	code->memory = *memory;
	code->space = space;
	code->width = (uint8_t)width;
	code->all_branches = all_branches;
	code->watched = UINT64_MAX;
	pt_code_forget(code);
	return code;
}

void pt_code_free(struct pt_code *code)
{
	if (!code)
		return;
	intmap_fini(&code->by_start);
	vec_fini(&code->nodes);
	vec_fini(&code->ops);
	free(code->runs);
	free(code);
}

/* Two runs a cache line; where they fill large pages, on such. */
static struct pt_run *new_runs(size_t n)
{
	size_t size = n * sizeof(struct pt_run), align = size < LARGE_PAGE ? 64 : LARGE_PAGE;
	void *runs = xmalloc_aligned(align, size);

	if (align == LARGE_PAGE)
		madvise(runs, size, MADV_HUGEPAGE); /* before the first touch */
	return memset(runs, 0, size);
}

static void clear_runs(struct pt_code *code, unsigned int log2)
{
	code->runs = new_runs(1ULL << log2);
	code->runs_log2 = (uint8_t)log2;
	code->n_runs = 0;
}

void pt_code_forget(struct pt_code *code)
{
	intmap_clear(&code->by_start);
	code->has_unreadable = false;
	memset(code->targets, 0, sizeof(code->targets));
	code->nodes.n = code->ops.n = 0;
	/* Index 0 is none. */
	vec_add(&code->nodes)->end = PT_END_UNREADABLE;
	vec_add(&code->ops);
	if (code->runs && !code->n_runs)
		return;
	free(code->runs);
	clear_runs(code, RUNS_LOG2);
}

uint64_t pt_code_bytes(const struct pt_code *code)
{
	return code->nodes.cap * sizeof(struct pt_node) + code->ops.cap * sizeof(struct pt_op) +
	       (sizeof(struct pt_run) << code->runs_log2) +
	       code->by_start.n_slots * sizeof(struct intmap_slot);
}

/* Reads through a window, as one call per instruction would cost more than decoding it. */
struct code_reader {
	const struct pt_code *code;
	ZydisDecoder decoder;
	uint8_t bytes[READ_SIZE];
	uint64_t at; /* address of bytes[0] */
	size_t n;
};

static void reader_init(struct code_reader *r, const struct pt_code *code, uint64_t addr)
{
	r->code = code;
	r->at = addr;
	r->n = 0;
	ZydisDecoderInit(&r->decoder,
			 code->width == 64   ? ZYDIS_MACHINE_MODE_LONG_64
			 : code->width == 32 ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32
					     : ZYDIS_MACHINE_MODE_LONG_COMPAT_16,
			 code->width == 64   ? ZYDIS_STACK_WIDTH_64
			 : code->width == 32 ? ZYDIS_STACK_WIDTH_32
					     : ZYDIS_STACK_WIDTH_16);
}

static bool read_insn(struct code_reader *r, uint64_t addr, ZydisDecodedInstruction *out)
{
	size_t offset = addr - r->at;

	if (offset >= r->n || r->n - offset < MAX_INSN) {
		r->n = r->code->memory.read(r->code->memory.context, r->code->space, addr, r->bytes,
					    sizeof(r->bytes));
		r->at = addr;
		offset = 0;
	}
	return r->n > offset &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&r->decoder, NULL, r->bytes + offset,
							  r->n - offset, out));
}

static uint64_t target_of(const struct pt_code *code, const ZydisDecodedInstruction *i,
			  uint64_t addr)
{
	uint64_t target = addr + i->length + i->raw.imm[0].value.u;

	return code->width == 64 ? target : target & (code->width == 32 ? 0xffffffff : 0xffff);
}

static void decode_block(struct pt_code *code, uint64_t addr, struct pt_node *node)
{
	struct code_reader reader;
	ZydisDecodedInstruction insn;

	reader_init(&reader, code, addr);
	*node = (struct pt_node){ .start = addr, .last = addr, .after = addr };
	while (node->n_insns < MAX_BLOCK_INSNS) {
		if (!read_insn(&reader, node->after, &insn)) {
			node->end = PT_END_UNREADABLE;
			return;
		}
		node->last = node->after;
		node->after += insn.length;
		node->n_insns++;
		node->end = (uint8_t)pt_end_of(&insn);
		if (node->end == PT_END_FALL)
			continue;
		if (insn.raw.imm[0].is_relative)
			node->target = target_of(code, &insn, node->last);
		return;
	}
}

uint32_t pt_code_at(struct pt_code *code, uint64_t addr)
{
	bool is_new;
	uint32_t *known;
	struct pt_node node;

	known = intmap_put(&code->by_start, addr, &is_new);
	if (!is_new)
		return *known;
	*known = (uint32_t)code->nodes.n;
	decode_block(code, addr, &node);
	code->has_unreadable |= node.end == PT_END_UNREADABLE;
	vec_push(&code->nodes, node);
	return (uint32_t)code->nodes.n - 1;
}

uint32_t pt_code_next(struct pt_code *code, uint32_t node)
{
	uint32_t next = pt_node(code, node)->next;

	if (!next) {
		next = pt_code_at(code, pt_node(code, node)->after);
		pt_node(code, node)->next = next;
	}
	return next;
}

uint32_t pt_code_taken(struct pt_code *code, uint32_t node)
{
	uint32_t taken = pt_node(code, node)->taken;

	if (!taken) {
		taken = pt_code_at(code, pt_node(code, node)->target);
		pt_node(code, node)->taken = taken;
	}
	return taken;
}

int pt_code_insns_before(struct pt_code *code, uint32_t node, uint64_t addr)
{
	const struct pt_node *n = pt_node(code, node);
	uint64_t at = n->start;
	struct code_reader reader;
	ZydisDecodedInstruction insn;
	int count = 0;

	if (addr < n->start || addr > n->last)
		return -1;
	reader_init(&reader, code, at);
	for (; at < addr; count++) {
		if (!read_insn(&reader, at, &insn))
			return -1;
		at += insn.length;
	}
	return at == addr ? count : -1;
}

/* A run that is being made: it ends where directions or knowledge do. */
struct run_maker {
	struct pt_code *code;
	struct pt_run run;
	uint32_t node;
	uint64_t bits;
	unsigned int n;
	uint32_t calls[PT_RUN_OPS]; /* nodes to return to, of calls of this run */
	unsigned int n_calls, n_free;
};

static bool add_op(struct run_maker *m, uint64_t to, uint32_t next)
{
	const struct pt_node *node = pt_node(m->code, m->node);
	bool is_call = pt_end_flags[node->end] & (PT_F_CALL | PT_F_RETURN);
	struct pt_op op = { .from = node->last,
			    .to = to,
			    .insns = m->run.insns + node->n_insns,
			    .next = next,
			    .end = node->end,
			    .size = (uint8_t)(node->after - node->last) };

	if (!is_call && !m->code->all_branches && to != m->code->watched)
		return true;
	if (m->run.n_ops == PT_RUN_OPS)
		return false;
	vec_push(&m->code->ops, op);
	m->run.n_ops++;
	return true;
}

static void go(struct run_maker *m, uint32_t to)
{
	m->run.insns += pt_node(m->code, m->node)->n_insns;
	m->node = to;
}

static bool next_bit(struct run_maker *m)
{
	bool bit = m->bits >> 63;

	m->bits <<= 1;
	m->n--;
	m->run.n_bits++;
	return bit;
}

static bool run_jump(struct run_maker *m)
{
	const struct pt_node *node = pt_node(m->code, m->node);
	bool is_call = node->end == PT_END_CALL && node->after != node->target;
	uint64_t target = node->target;
	uint32_t to = pt_code_taken(m->code, m->node), next = 0;

	if (is_call) {
		if (m->n_calls == PT_RUN_OPS)
			return false;
		next = pt_code_next(m->code, m->node);
	}
	if (!add_op(m, target, next))
		return false;
	if (is_call)
		m->calls[m->n_calls++] = next;
	go(m, to);
	return true;
}

static bool run_return(struct run_maker *m)
{
	const struct pt_node *node = pt_node(m->code, m->node);
	uint32_t to;

	if (!(m->bits >> 63))
		return false;
	if (!m->n_calls) {
		/* Of a call from before the run, which ends here. */
		next_bit(m);
		m->run.insns += node->n_insns;
		m->run.return_from = node->last;
		m->node = m->n = 0;
		return true;
	}
	to = m->calls[m->n_calls - 1];
	if (!add_op(m, pt_node(m->code, to)->start, 0))
		return false;
	m->n_calls--;
	next_bit(m);
	go(m, to);
	return true;
}

static bool run_cond(struct run_maker *m)
{
	bool taken = m->bits >> 63;
	uint32_t to = taken ? pt_code_taken(m->code, m->node) : pt_code_next(m->code, m->node);

	if (taken && !add_op(m, pt_node(m->code, m->node)->target, 0))
		return false;
	next_bit(m);
	go(m, to);
	return true;
}

static bool run_step(struct run_maker *m)
{
	switch (pt_node(m->code, m->node)->end) {
	case PT_END_COND:
		return run_cond(m);
	case PT_END_RETURN:
		return run_return(m);
	case PT_END_JUMP:
	case PT_END_CALL:
		return run_jump(m);
	case PT_END_FALL:
		go(m, pt_code_next(m->code, m->node));
		return true;
	default:
		return false;
	}
}

/*
 * A run ends right behind the last direction or a return to a place from before it, or before the
 * first block that it can't pass: where walking step by step would stand, too.
 */
static struct pt_run run_of(struct pt_code *code, uint32_t node, uint64_t bits, unsigned int n)
{
	struct run_maker m = { .code = code, .node = node, .bits = bits, .n = n };
	uint32_t steps = 0;

	m.run.node = m.run.to = node;
	m.run.key = (uint16_t)pt_run_key(bits, n);
	m.run.ops = (uint32_t)code->ops.n;
	while (m.n && steps++ < 4 * PT_RUN_OPS && run_step(&m))
		m.run.to = m.node;
	return m.run;
}

/* The run's slot, or the empty one where it belongs. */
static struct pt_run *run_find(const struct pt_code *code, uint32_t node, uint32_t key)
{
	uint32_t slot = pt_run_slot(code, node, key), mask = (1u << code->runs_log2) - 1;

	/* Both of a cache line before the next line. */
	for (uint32_t i = 0;; i++) {
		struct pt_run *run = &code->runs[((slot + (i & ~1u)) & mask) ^ (i & 1)];

		if (!run->node || pt_is_run(run, node, key))
			return run;
	}
}

static void runs_grow(struct pt_code *code)
{
	struct pt_run *old = code->runs, *end = old + (1ULL << code->runs_log2);
	uint32_t n = code->n_runs;

	clear_runs(code, code->runs_log2 + 1u);
	for (struct pt_run *run = old; run < end; run++)
		if (run->node)
			*run_find(code, run->node, run->key) = *run;
	code->n_runs = n;
	free(old);
}

const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n)
{
	struct pt_run *run = run_find(code, node, pt_run_key(bits, n));

	if (run->node)
		return run;
	if (pt_node(code, node)->heat < PT_RUN_HEAT) {
		pt_node(code, node)->heat++;
		return NULL;
	}
	if (code->n_runs / 3 >> (code->runs_log2 - 2)) {
		runs_grow(code);
		run = run_find(code, node, pt_run_key(bits, n));
	}
	*run = run_of(code, node, bits, n);
	code->n_runs++;
	return run;
}
