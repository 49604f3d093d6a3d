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

#include "base/intmap.h"
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

enum { PT_RUN_RETURNS = 2, PT_RUN_PUSHES = 2 };

struct pt_run {
	uint32_t node;    /* where it begins; 0: an empty slot */
	uint16_t key;     /* the directions it is for, below a 1 */
	uint16_t variant; /* 0: the first that was met; else by a hash of a return address */
	uint32_t to;      /* the block that is reached */
	uint32_t insns;   /* on the way */
	uint32_t ops;
	uint8_t n_ops;
	uint8_t n_bits; /* directions used; 0: none can be, go step by step */
	uint8_t n_returns;
	uint8_t n_pushes; /* PT_RUN_BY_OPS: only the ops tell */
	uint8_t height;   /* room for so many entries more makes the return stack lose none */
	uint8_t depth;    /* it is for return stacks with so many entries at most */
	/* The addresses that it takes off the return stack, the top first, and leaves there. */
	uint64_t returns[PT_RUN_RETURNS];
	uint64_t pushes[PT_RUN_PUSHES];
};
_Static_assert(sizeof(struct pt_run) == 64, "a run is a cache line");

/* A memoised walk from one TIP packet to the next: hop.h. */
enum { PT_HOP_RETURNS = 2 };

struct pt_hop {
	uint64_t addr; /* where it begins; 0: an empty slot */
	uint64_t tnt; /* bytes of TNT packets as they stand in the trace, the first is the lowest */
	/* The addresses that it takes off the return stack, and those that it leaves there. */
	uint64_t returns[PT_HOP_RETURNS]; /* the top first */
	uint64_t push;
	uint32_t more; /* addresses in pt_code.addrs: returns beyond these, then all that is pushed
			*/
	uint32_t insns;
	uint32_t ops, marks;
	uint16_t variant; /* 0: the first that was met; else by a hash of a return address */
	uint8_t n_ops, n_returns, n_pushes;
	uint8_t height; /* how many entries it needs on the return stack at most; PT_NO_HOP */
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
	PT_RUN_HEAT = 2,
	PT_RUN_BY_OPS = 0xff,
	PT_TARGETS = 1 << 11,
	PT_SEEN = 1 << 13,
};

/* What a graph may take; who holds no index forgets all when it is more. */
#define PT_CODE_LIMIT_BYTES (192u << 20)

struct pt_code {
	struct pt_memory memory;
	uint32_t space;
	uint8_t width;       /* 16, 32, 64 */
	uint64_t generation; /* how often it was forgotten: indices are of one generation */
	bool all_branches;   /* ops: every taken branch, not calls and returns alone */
	bool steps_alone;    /* nothing is memoised: what tests hold the rest against */
	uint64_t watched;    /* a branch to there is told in any case; UINT64_MAX: none */
	bool has_unreadable; /* a block ends where nothing can be read, since the last forgetting */
	struct intmap by_start;
	/* The latest targets of indirect branches, by a hash of the address. */
	struct pt_target {
		uint64_t addr;
		uint32_t node; /* 0: none */
	} targets[PT_TARGETS];
	VEC(struct pt_node) nodes;
	VEC(struct pt_op) ops;
	VEC(struct pt_told) told;
	struct pt_run *runs; /* hashed */
	uint32_t n_runs;
	struct pt_hop *hops; /* hashed: hop.h */
	uint32_t n_hops;
	VEC(struct pt_mark) marks; /* of hops, and */
	VEC(uint64_t) addrs;
	uint32_t seen[PT_SEEN];       /* hashes of hops that were met once */
	uint8_t runs_log2, hops_log2; /* of the tables' slots */
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

/* Empty tables of so many slots. */
void pt_code_new_runs(struct pt_code *code, unsigned int log2);
void pt_code_new_hops(struct pt_code *code, unsigned int log2);

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
