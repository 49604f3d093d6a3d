/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/code.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/secret.h"
#include "pt/insn.h"

enum {
	MAX_BLOCK_INSNS = 1024,
	INDEX_LOG2 = 10,  /* slots of nodes at first */
	TABLE_LOG2 = 10,  /* of runs and hops, … */
	MIDDLE_LOG2 = 13, /* … then, as most of the cost of a small table is to grow, … */
	LARGE_LOG2 = 15,  /* … and then in large pages */
	LARGE_PAGE = 2 << 20,
};

_Static_assert(sizeof(struct pt_run) << LARGE_LOG2 == LARGE_PAGE, "a large table fills a page");

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
	code->index_log2 = INDEX_LOG2;
	code->index = xcalloc(1ULL << INDEX_LOG2, sizeof(*code->index));
	pt_code_forget(code);
	return code;
}

void pt_code_free(struct pt_code *code)
{
	if (!code)
		return;
	free(code->index);
	vec_fini(&code->nodes);
	vec_fini(&code->ops);
	vec_fini(&code->told);
	vec_fini(&code->marks);
	vec_fini(&code->callers);
	free(code->runs_table.memory);
	free(code->hops_table.memory);
	free(code);
}

/* A zeroed table of runs or hops. One that fills large pages is on such. */
static void *table_new(struct pt_table *table, unsigned int log2)
{
	size_t size = sizeof(struct pt_run) << log2, align = log2 < LARGE_LOG2 ? 64 : LARGE_PAGE;
	uintptr_t at;

	_Static_assert(sizeof(struct pt_run) == sizeof(struct pt_hop), "both have such tables");
	/* Memory that the system gives is zeroed, and not touched before madvise(). */
	table->memory = xcalloc(1, size + align);
	table->log2 = (uint8_t)log2;
	at = ((uintptr_t)table->memory + align - 1) & ~(uintptr_t)(align - 1);
	if (align == LARGE_PAGE)
		madvise((void *)at, size, MADV_HUGEPAGE); /* NOLINT: an address */
	return (void *)at;                                /* NOLINT: an address */
}

static unsigned int table_next(unsigned int log2)
{
	return log2 < MIDDLE_LOG2 ? MIDDLE_LOG2 : log2 < LARGE_LOG2 ? LARGE_LOG2 : log2 + 1;
}

void pt_code_grow_runs(struct pt_code *code)
{
	code->runs = table_new(&code->runs_table, table_next(code->runs_table.log2));
	code->n_runs = 0;
}

void pt_code_grow_hops(struct pt_code *code)
{
	code->hops = table_new(&code->hops_table, table_next(code->hops_table.log2));
	code->n_hops = 0;
}

/* The smallest tables, as at the begin. */
static void empty_tables(struct pt_code *code)
{
	if (!code->runs || code->n_runs) {
		free(code->runs_table.memory);
		code->runs = table_new(&code->runs_table, TABLE_LOG2);
		code->n_runs = 0;
	}
	if (!code->hops || code->n_hops) {
		free(code->hops_table.memory);
		code->hops = table_new(&code->hops_table, TABLE_LOG2);
		code->n_hops = 0;
	}
}

void pt_code_forget(struct pt_code *code)
{
	code->generation++;
	memset(code->index, 0, sizeof(*code->index) << code->index_log2);
	code->window.n = 0;
	code->has_unreadable = false;
	memset(code->targets, 0, sizeof(code->targets));
	code->nodes.n = code->ops.n = code->told.n = 0;
	/* Index 0 is none. */
	vec_add(&code->nodes)->end = PT_END_UNREADABLE;
	vec_add(&code->ops);
	vec_add(&code->told);
	empty_tables(code);
	code->marks.n = code->callers.n = 0;
	memset(code->seen, 0, sizeof(code->seen));
}

uint64_t pt_code_bytes(const struct pt_code *code)
{
	return code->nodes.cap * sizeof(struct pt_node) + code->ops.cap * sizeof(struct pt_op) +
	       code->told.cap * sizeof(struct pt_told) + code->marks.cap * sizeof(struct pt_mark) +
	       code->callers.cap * sizeof(uint32_t) +
	       (sizeof(struct pt_run) << code->runs_table.log2) +
	       (sizeof(struct pt_hop) << code->hops_table.log2) +
	       (sizeof(*code->index) << code->index_log2);
}

/* Reads through a window, as one call per instruction would cost more than decoding it. */
static bool read_insn(struct pt_code *code, uint64_t addr, struct pt_insn *out)
{
	struct pt_code_window *w = &code->window;
	size_t offset = addr - w->at;

	if (offset >= w->n || w->n - offset < PT_INSN_MAX) {
		w->n = code->memory.read(code->memory.context, code->space, addr, w->bytes,
					 sizeof(w->bytes));
		w->at = addr;
		offset = 0;
	}
	return w->n > offset && pt_insn_read(code->width, w->bytes + offset, w->n - offset, out);
}

static void decode_block(struct pt_code *code, uint64_t addr, struct pt_node *node)
{
	struct pt_insn insn;

	*node = (struct pt_node){ .start = addr, .last = addr, .after = addr };
	while (node->n_insns < MAX_BLOCK_INSNS) {
		if (!read_insn(code, node->after, &insn)) {
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

/* The slot of a block, or the empty one where it belongs. */
static uint32_t *index_find(const struct pt_code *code, uint64_t addr)
{
	uint64_t slot = hash_secret_u64(addr) >> (64 - code->index_log2);
	uint64_t mask = (1ULL << code->index_log2) - 1;

	for (;; slot = (slot + 1) & mask) {
		uint32_t *node = &code->index[slot];

		if (!*node || pt_node(code, *node)->start == addr)
			return node;
	}
}

/* It is at most half full. */
static void index_grow(struct pt_code *code)
{
	free(code->index);
	code->index_log2++;
	code->index = xcalloc(1ULL << code->index_log2, sizeof(*code->index));
	for (uint32_t i = 1; i < code->nodes.n; i++)
		*index_find(code, pt_node(code, i)->start) = i;
}

uint32_t pt_code_at(struct pt_code *code, uint64_t addr)
{
	uint32_t *known = index_find(code, addr);
	struct pt_node node;

	if (*known)
		return *known;
	decode_block(code, addr, &node);
	code->has_unreadable |= node.end == PT_END_UNREADABLE;
	*known = (uint32_t)code->nodes.n;
	vec_push(&code->nodes, node);
	if (code->nodes.n >> (code->index_log2 - 1))
		index_grow(code);
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
	struct pt_insn insn;
	int count = 0;

	if (addr < n->start || addr > n->last)
		return -1;
	for (; at < addr; count++) {
		if (!read_insn(code, at, &insn))
			return -1;
		at += insn.size;
	}
	return at == addr ? count : -1;
}
