/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking a user stack: the registers and the stack bytes of a sample become its chain of callers'
 * addresses.
 *
 *	struct unwinder *u = unwinder_new();
 *	struct unwind_input in = {
 *		.regs = unwind_regs_sampled(rip, rsp, rbp, 0, false),
 *		.stack = bytes, .stack_size = n,	// PERF_SAMPLE_STACK_USER
 *		.find = find_in_my_maps, .ctx = &maps,
 *		.space = 1,
 *	};
 *	struct unwind_chain chain = { .max = 512, .pcs = pcs };
 *
 *	unwind_walk(u, &in, &chain);	// chain.n addresses, chain.stop
 *
 * An unwinder belongs to one thread. A walk allocates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/regs.h"
#include "unwind/stop.h"
#include "unwind/table.h"

/* Words for the reasons of unwind/stop.h, for tests and benchmarks. */
extern const char *const unwind_stop_keys[N_UNWIND_STOPS];

/* The kind of code at an address. */
enum unwind_where {
	UNWIND_AT_NOTHING, /* no executable mapping: the chain ends */
	UNWIND_AT_CODE,    /* code without a table (JIT): by frame pointer */
	UNWIND_AT_LATE,    /* code whose table is not built yet: the chain ends (UNWIND_NO_RULE) */
	UNWIND_AT_TABLE,
	UNWIND_AT_RUNTIME, /* code that a language's runtime made: `runtime` has its rule */
};

struct unwind_place {
	const struct unwind_table *table; /* stays the owner's, and outlives the unwinder */
	uint64_t file_off;                /* of the address */
	/* of a range around it with the same table, by run-time addresses; 0, 0: not known */
	uint64_t start, end;
};

/* *place is zero at the call; code without a table leaves it so. */
typedef enum unwind_where unwind_find_fn(void *ctx, uint64_t pc, struct unwind_place *place);

/* The rule of the chain's `at`-th frame. It may read the stack (unwind/user_ctx.h). */
struct unwind_ctx;
typedef struct unwind_rule unwind_runtime_fn(void *ctx, uint32_t at, const struct unwind_regs *regs,
					     struct unwind_ctx *stack);

struct unwind_input {
	struct unwind_regs regs;
	const uint64_t *other; /* all registers by DWARF number, if the sample has them; or NULL */
	uint32_t n_other;

	const void *stack; /* from regs.sp on; any alignment */
	size_t stack_size;
	bool is_whole; /* the kernel copied less than requested: the stack ends there */

	unwind_find_fn *find;
	unwind_runtime_fn *runtime; /* NULL: `find` finds no runtimes */
	void *ctx;

	/*
	 * A number for the address space in its present state; the results of `find` are cached by
	 * it. It must change with every change of the mappings or tables. 0: no cache between
	 * walks.
	 */
	uint64_t space;
};

/* Innermost first. All addresses except the first and interrupted ones are return addresses. */
struct unwind_chain {
	uint64_t *pcs;
	size_t max;
	size_t n;
	size_t n_by_fp;  /* frames found by frame pointer, without a rule */
	bool is_guessed; /* a guessed rule found some frame */
	/* The end is a frame pointer of 0 in code without a rule, and none led to a frame. */
	bool is_bare_end;
	enum unwind_stop stop;
};

struct unwinder;

struct unwinder *unwinder_new(void);
void unwinder_free(struct unwinder *u); /* NULL is fine */

/*
 * Prepares a later walk, given its space, its program counter and its stack from `sp` on. Fetches
 * the words that it will read if it is like the thread's last walk, and rows around the address.
 */
void unwinder_expect(struct unwinder *u, uint64_t space, uint64_t pc, uint64_t sp,
		     const void *stack, size_t stack_size);

/* A runtime's rule for the vdso of i386 programs (unwind/vdso_i386.h). */
struct unwind_rule unwind_rule_in_vdso_i386(const struct unwind_regs *regs,
					    struct unwind_ctx *stack, bool is_in_kernel);

/* Sets all of the chain except pcs and max. It has at least the first address, if max is not 0. */
void unwind_walk(struct unwinder *u, const struct unwind_input *in, struct unwind_chain *chain);
