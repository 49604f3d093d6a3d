/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/code.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "pt/insn.h"

enum {
	READ_SIZE = 256,
	MAX_BLOCK_INSNS = 1024,
	TABLE_LOG2 = 10, /* slots of runs and hops at first */
	LARGE_PAGE = 2 << 20,
};

struct pt_code *pt_code_new(const struct pt_memory *memory, uint32_t space, unsigned int width,
			    bool all_branches)
{
	struct pt_code *code = xcalloc(1, sizeof(*code));

	assert(width == 16 || width == 32 || width == 64);
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
	vec_fini(&code->told);
	vec_fini(&code->marks);
	vec_fini(&code->addrs);
	free(code->runs);
	free(code->hops);
	free(code);
}

/* Runs and hops are two to a cache line; where they fill large pages, on such. */
static void *new_table(size_t size)
{
	size_t align = size < LARGE_PAGE ? 64 : LARGE_PAGE;
	void *table = xmalloc_aligned(align, size);

	if (align == LARGE_PAGE)
		madvise(table, size, MADV_HUGEPAGE); /* before the first touch */
	return memset(table, 0, size);
}

void pt_code_new_runs(struct pt_code *code, unsigned int log2)
{
	code->runs = new_table(sizeof(struct pt_run) << log2);
	code->runs_log2 = (uint8_t)log2;
	code->n_runs = 0;
}

void pt_code_new_hops(struct pt_code *code, unsigned int log2)
{
	code->hops = new_table(sizeof(struct pt_hop) << log2);
	code->hops_log2 = (uint8_t)log2;
	code->n_hops = 0;
}

void pt_code_forget(struct pt_code *code)
{
	code->generation++;
	intmap_clear(&code->by_start);
	code->has_unreadable = false;
	memset(code->targets, 0, sizeof(code->targets));
	code->nodes.n = code->ops.n = code->told.n = 0;
	/* Index 0 is none. */
	vec_add(&code->nodes)->end = PT_END_UNREADABLE;
	vec_add(&code->ops);
	vec_add(&code->told);
	if (!code->runs || code->n_runs) {
		free(code->runs);
		pt_code_new_runs(code, TABLE_LOG2);
	}
	if (!code->hops || code->n_hops) {
		free(code->hops);
		pt_code_new_hops(code, TABLE_LOG2);
	}
	code->marks.n = code->addrs.n = 0;
	memset(code->seen, 0, sizeof(code->seen));
}

uint64_t pt_code_bytes(const struct pt_code *code)
{
	return code->nodes.cap * sizeof(struct pt_node) + code->ops.cap * sizeof(struct pt_op) +
	       code->told.cap * sizeof(struct pt_told) + code->marks.cap * sizeof(struct pt_mark) +
	       code->addrs.cap * sizeof(uint64_t) + (sizeof(struct pt_run) << code->runs_log2) +
	       (sizeof(struct pt_hop) << code->hops_log2) +
	       code->by_start.n_slots * sizeof(struct intmap_slot);
}

/* Reads through a window, as one call per instruction would cost more than decoding it. */
struct code_reader {
	const struct pt_code *code;
	uint8_t bytes[READ_SIZE];
	uint64_t at; /* address of bytes[0] */
	size_t n;
};

static void reader_init(struct code_reader *r, const struct pt_code *code, uint64_t addr)
{
	r->code = code;
	r->at = addr;
	r->n = 0;
}

static bool read_insn(struct code_reader *r, uint64_t addr, struct pt_insn *out)
{
	size_t offset = addr - r->at;

	if (offset >= r->n || r->n - offset < PT_INSN_MAX) {
		r->n = r->code->memory.read(r->code->memory.context, r->code->space, addr, r->bytes,
					    sizeof(r->bytes));
		r->at = addr;
		offset = 0;
	}
	return r->n > offset && pt_insn_read(r->code->width, r->bytes + offset, r->n - offset, out);
}

static void decode_block(struct pt_code *code, uint64_t addr, struct pt_node *node)
{
	struct code_reader reader;
	struct pt_insn insn;

	reader_init(&reader, code, addr);
	*node = (struct pt_node){ .start = addr, .last = addr, .after = addr };
	while (node->n_insns < MAX_BLOCK_INSNS) {
		if (!read_insn(&reader, node->after, &insn)) {
			node->end = PT_END_UNREADABLE;
			return;
		}
		node->last = node->after;
		node->after += insn.size;
		node->n_insns++;
		node->end = insn.end;
		if (node->end == PT_END_FALL)
			continue;
		if (insn.is_direct)
			node->target = pt_insn_target(&insn, node->last);
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
	struct pt_insn insn;
	int count = 0;

	if (addr < n->start || addr > n->last)
		return -1;
	reader_init(&reader, code, at);
	for (; at < addr; count++) {
		if (!read_insn(&reader, at, &insn))
			return -1;
		at += insn.size;
	}
	return at == addr ? count : -1;
}
