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

/*
 * Reads code: up to `size` bytes at `addr`. Returns their number (0: nothing is mapped there, or
 * the file can't be read). `space` is the argument of pt_code_new().
 */
struct pt_memory {
	size_t (*read)(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size);
	void *context;
};

/* X(id, flags): how a block ends, and perf's flags for a branch of that kind. */
#define PT_ENDS(X)                                                           \
	X(FALL, 0)         /* goes on: it was cut as too long */             \
	X(COND, PT_F_COND) /* needs a direction */                           \
	X(JUMP, 0)                                                           \
	X(CALL, PT_F_CALL)                                                   \
	X(RETURN, PT_F_RETURN) /* needs a direction (compressed) or a TIP */ \
	X(JUMP_INDIRECT, 0)    /* from here on: needs a TIP */               \
	X(CALL_INDIRECT, PT_F_CALL)                                          \
	X(SYSCALL, PT_F_CALL | PT_F_SYSTEM)                                  \
	X(SYSRET, PT_F_RETURN | PT_F_SYSTEM)                                 \
	X(INTERRUPT, PT_F_CALL | PT_F_INTERRUPT)                             \
	X(IRET, PT_F_RETURN | PT_F_INTERRUPT)                                \
	X(UNREADABLE, 0) /* what comes next can't be read, or is no code */

enum pt_end {
#define X(id, flags) PT_END_##id,
	PT_ENDS(X)
#undef X
		N_PT_ENDS
};

/* The letters of perf's flags ("bcrosyiABExghDt"), a bit each. */
enum pt_flags {
	PT_F_BRANCH = 1 << 0,
	PT_F_CALL = 1 << 1,
	PT_F_RETURN = 1 << 2,
	PT_F_COND = 1 << 3,
	PT_F_SYSTEM = 1 << 4,
	PT_F_ASYNC = 1 << 5,
	PT_F_INTERRUPT = 1 << 6,
	PT_F_TX_ABORT = 1 << 7,
	PT_F_BEGIN = 1 << 8,
	PT_F_END = 1 << 9,
	PT_F_IN_TX = 1 << 10,
	PT_F_INTERRUPTS_OFF = 1 << 13,
	PT_F_INTERRUPTS_CHANGE = 1 << 14,
};

extern const uint16_t pt_end_flags[N_PT_ENDS]; /* with PT_F_BRANCH */

struct pt_node {
	uint64_t start, last; /* addresses of the first and the last instruction */
	uint64_t after;       /* … and of the byte behind the last */
	uint64_t target;      /* of a direct branch */
	uint32_t next, taken; /* nodes there */
	uint16_t n_insns;
	uint8_t end;  /* enum pt_end */
	uint8_t heat; /* visits, up to PT_RUN_HEAT */
};
_Static_assert(sizeof(struct pt_node) == 48, "a node is three quarters of a cache line");

/* A branch of a memoised walk: an event, and its effect on the return stack. */
struct pt_op {
	uint64_t from, to;
	uint32_t insns; /* from the begin through this branch */
	uint32_t next;  /* of a call: the node that it returns to */
	/* Of the event; in its order, so that they are copied as one. */
	uint16_t flags;
	uint8_t kind, end;
	uint8_t size; /* of the instruction; a call returns behind it */
	int8_t depth; /* 1: a call that returns, -1: a return, 0: neither */
};
_Static_assert(sizeof(struct pt_op) == 32, "an op is half a cache line");

struct pt_run {
	uint32_t node;  /* where it begins; 0: an empty slot */
	uint16_t key;   /* the directions it is for, below a 1 */
	uint8_t n_bits; /* directions used; 0: none can be, go step by step */
	uint8_t n_ops;
	uint32_t to;    /* the block that is reached; 0: it ends in a return from … */
	uint32_t insns; /* on the way */
	uint64_t return_from;
	uint32_t ops;
	uint8_t return_size; /* of the instruction there */
};
_Static_assert(sizeof(struct pt_run) == 32, "a run is half a cache line");

enum {
	PT_RUN_BITS = 10,
	PT_RUN_HEAT = 2,
	PT_TARGETS = 1 << 11,
	PT_SEEN = 1 << 13,
};

/* What a graph may take; who holds no index forgets all when it is more. */
#define PT_CODE_LIMIT_BYTES (192u << 20)

struct pt_code {
	struct pt_memory memory;
	uint32_t space;
	uint8_t width;       /* 16, 32, 64 */
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

/*
 * The run from a block with `n` ≤ PT_RUN_BITS directions, at the top of `bits`; NULL while the
 * block is not hot. Valid until the next call.
 */
const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n);

static inline struct pt_node *pt_node(const struct pt_code *code, uint32_t node)
{
	return &code->nodes.data[node];
}

/* The block at the target of an indirect branch; quick when it was met not long ago. */
static inline uint32_t pt_code_indirect(struct pt_code *code, uint64_t addr)
{
	struct pt_target *t = &code->targets[(addr ^ addr >> 11) % PT_TARGETS];

	if (t->addr != addr || !t->node)
		*t = (struct pt_target){ addr, pt_code_at(code, addr) };
	return t->node;
}

static inline uint32_t pt_run_key(uint64_t bits, unsigned int n)
{
	return (uint32_t)(1u << n | bits >> (64 - n));
}

static inline uint32_t pt_run_slot(const struct pt_code *code, uint32_t node, uint32_t key)
{
	return (uint32_t)(((uint64_t)node << 16 | key) * 0x9e3779b97f4a7c15ULL >>
			  (64 - code->runs_log2));
}

static inline bool pt_is_run(const struct pt_run *run, uint32_t node, uint32_t key)
{
	return run->node == node && run->key == key;
}

static inline const struct pt_run *pt_code_run(struct pt_code *code, uint32_t node, uint64_t bits,
					       unsigned int n)
{
	uint32_t key = pt_run_key(bits, n);
	uint32_t slot = pt_run_slot(code, node, key);

	if (pt_is_run(&code->runs[slot], node, key))
		return &code->runs[slot];
	if (pt_is_run(&code->runs[slot ^ 1], node, key)) /* of the same cache line */
		return &code->runs[slot ^ 1];
	return pt_code_make_run(code, node, bits, n);
}
