/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's code as a graph of blocks. It is decoded once and then walked.
 *
 * A block is a row of instructions up to one that may change the flow. Its successors are linked
 * when they are first followed. Repeated walks are memoised as runs. The key of a run is a block,
 * and up to PT_RUN_BITS directions of conditional branches (and compressed returns). Its value is
 * the reached block, and the operations on the way.
 *
 *     block, directions ──hash──► run ──► ops[]: calls, returns (or all branches)
 *
 * The hash table holds the runs themselves. So the step from one run to the next is one load from
 * memory, and the blocks between are not read.
 *
 * A graph is of one address space. After a change of the mappings, call pt_code_forget(). It is not
 * thread-safe: each decoding thread has its own. All indices: 0 is none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "pt/event.h"

/*
 * Reads code: up to `size` bytes at `addr`. Returns their number (0: nothing is mapped there, or
 * the file can't be read). `space` is the argument of pt_code_new().
 */
struct pt_memory {
	size_t (*read)(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size);
	void *context;
	/*
	 * Whether something may be mapped at `addr`, readable or not: where nothing is, nothing
	 * can have run. NULL: it is not known.
	 */
	bool (*covers)(void *context, uint32_t space, uint64_t addr);
};

struct pt_node {
	uint64_t start, last; /* addresses of the first and the last instruction */
	uint64_t after;       /* … and of the byte behind the last */
	uint64_t target;      /* of a direct branch */
	uint32_t next, taken; /* nodes there */
	uint16_t n_insns;
	uint8_t end;   /* enum pt_end */
	uint8_t heat;  /* visits, up to PT_RUN_HEAT */
	uint32_t told; /* the latest branch at its end that a memoised walk passes */
};
_Static_assert(sizeof(struct pt_node) == 48, "a node is three quarters of a cache line");

/* A branch that memoised walks pass. Many pass it, so it is kept once. */
struct pt_told {
	struct pt_branch branch; /* as its event has it */
	uint32_t next;           /* of a call that returns: the node that it returns to; else 0 */
	uint32_t other;          /* the same node's branch to elsewhere, made before this one */
};
_Static_assert(sizeof(struct pt_told) == 32, "a branch is half a cache line");

/* A branch of a memoised walk. */
struct pt_op {
	uint32_t told;  /* in pt_code.told */
	uint32_t insns; /* from the begin through this branch */
};

enum {
	PT_STACK = 64, /* return addresses: returns.h */
	/* The entries of the return stack that a memoised walk has in itself. */
	PT_WALK_RETURNS = 2, /* that it takes off */
	PT_WALK_PUSHES = 4,  /* that it leaves */
	PT_NO_WALK = PT_STACK + 1,
};

struct pt_run {
	uint64_t id;    /* of the begin and the directions: pt_run_id(); 0: an empty slot */
	uint32_t to;    /* the block that is reached */
	uint32_t insns; /* on the way */
	uint32_t ops;
	uint8_t n_ops;
	uint8_t n_bits; /* directions used; 0: none can be, go step by step */
	uint8_t n_returns;
	uint8_t n_pushes;
	/* Room for so many entries more makes the return stack lose none. PT_RUN_BY_OPS: only the
	 * ops tell. */
	uint8_t height;
	uint8_t room; /* it is for return stacks with so many entries besides n_returns */
	/* The blocks that it takes off the return stack, the top last, and leaves there. */
	uint32_t returns[PT_WALK_RETURNS], pushes[PT_WALK_PUSHES];
	uint32_t unused[2];
};
_Static_assert(sizeof(struct pt_run) == 64, "a run is a cache line");

/* A memoised walk from one TIP packet to the next: hop.h. */
struct pt_hop {
	uint64_t addr; /* where it begins; 0: an empty slot */
	uint64_t tnt; /* bytes of TNT packets as they stand in the trace, the first is the lowest */
	/* The blocks that it takes off the return stack, the top last, and leaves there. */
	uint32_t returns[PT_WALK_RETURNS], pushes[PT_WALK_PUSHES];
	/*
	 * In pt_code.callers: returns beyond these, from the top on, and if there are more pushes,
	 * all of them.
	 */
	uint32_t more;
	uint32_t insns;
	uint32_t ops, marks;
	uint16_t variant; /* 0: the first that was met; else by a hash of a caller */
	uint8_t n_ops;
	uint8_t n_returns; /* PT_NO_WALK: there is no hop */
	uint8_t n_pushes;
	uint8_t room;   /* it is for return stacks with so many entries besides n_returns */
	bool tells_tip; /* the last op is the branch that the second TIP is for */
	bool is_return; /* that is one, not compressed */
};
_Static_assert(sizeof(struct pt_hop) == 64, "a hop is a cache line");

/* Where a hop stands after so many directions: a time packet may come between any two. */
struct pt_mark {
	uint32_t node;
	uint32_t insns;
	uint32_t insns_ahead; /* before the branch that the next direction (or the TIP) is for */
	uint8_t op, op_ahead; /* how many came before here, and before that branch */
	bool has_direct;      /* there are direct branches before that one */
};

enum {
	PT_RUN_BITS = 10,
	PT_SPARE_OPS = 2, /* of a run or hop, so many may be read in any case */
	PT_RUN_HEAT = 2,
	PT_RUN_BY_OPS = 0xff,
	PT_TARGETS = 1 << 11,
	PT_SEEN = 1 << 13,
};

/* What a graph may take; who holds no index forgets all when it is more. */
#define PT_CODE_LIMIT_BYTES (192u << 20)

/* The bytes that were read last. A block is read through it, and the next one often, too. */
struct pt_code_window {
	uint8_t bytes[256];
	uint64_t at; /* address of bytes[0] */
	size_t n;
};

/* A table of cache lines that grows. */
struct pt_table {
	void *memory; /* to be freed */
	uint8_t log2; /* of its slots */
};

struct pt_code {
	struct pt_memory memory;
	uint32_t space;
	uint8_t width;       /* 16, 32, 64 */
	uint64_t generation; /* how often it was forgotten: indices are of one generation */
	bool all_branches;   /* ops: every taken branch, not calls and returns alone */
	bool steps_alone;    /* nothing is memoised: what tests hold the rest against */
	uint64_t watched;    /* a branch to there is told in any case; UINT64_MAX: none */
	bool has_unreadable; /* a block ends where nothing can be read, since the last forgetting */
	uint32_t *index;     /* hashed: nodes by their first address; 0: an empty slot */
	uint8_t index_log2;
	struct pt_code_window window;
	/* The latest targets of indirect branches, by a hash of the address. */
	struct pt_target {
		uint64_t addr;
		uint32_t node; /* 0: none */
	} targets[PT_TARGETS];
	VEC(struct pt_node) nodes;
	VEC(struct pt_op) ops;
	VEC(struct pt_told) told;
	struct pt_run *runs; /* hashed */
	struct pt_table runs_table;
	uint32_t n_runs;
	struct pt_hop *hops; /* hashed: hop.h */
	struct pt_table hops_table;
	uint32_t n_hops;
	VEC(struct pt_mark) marks; /* of hops, and */
	VEC(uint32_t) callers;
	uint32_t seen[PT_SEEN]; /* hashes of hops that were met once */
};

struct pt_code *pt_code_new(const struct pt_memory *memory, uint32_t space, unsigned int width,
			    bool all_branches);
void pt_code_free(struct pt_code *code); /* NULL is fine */

/* Forgets everything that was decoded; every index is void. */
void pt_code_forget(struct pt_code *code);

/* The block that begins at an address, decoded if need be. */
uint32_t pt_code_at(struct pt_code *code, uint64_t addr);

/* Successors, linked when first asked for. */
uint32_t pt_code_next(struct pt_code *code, uint32_t node);
uint32_t pt_code_taken(struct pt_code *code, uint32_t node);

/* How many of the block's instructions are before `addr`; -1 when none begins there. */
int pt_code_insns_before(struct pt_code *code, uint32_t node, uint64_t addr);

/* An empty table in place of the old one, whose memory the caller frees: larger than that. */
void pt_code_grow_runs(struct pt_code *code);
void pt_code_grow_hops(struct pt_code *code);

/* Memory that the graph takes. */
uint64_t pt_code_bytes(const struct pt_code *code);

static inline struct pt_node *pt_node(const struct pt_code *code, uint32_t node)
{
	return &code->nodes.data[node];
}

static inline const struct pt_told *pt_told(const struct pt_code *code, const struct pt_op *op)
{
	return &code->told.data[op->told];
}

/* The block at the target of an indirect branch; quick when it was met not long ago. */
static inline uint32_t pt_code_indirect(struct pt_code *code, uint64_t addr)
{
	struct pt_target *t = &code->targets[(addr ^ addr >> 11) % PT_TARGETS];

	if (t->addr != addr || !t->node)
		*t = (struct pt_target){ addr, pt_code_at(code, addr) };
	return t->node;
}
