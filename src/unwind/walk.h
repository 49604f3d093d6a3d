/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking a user stack: the registers and the stack bytes of a sample become
 * the chain of addresses that led there.
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

/* Text for the reasons of unwind/stop.h. */
extern const char *const unwind_stop_keys[N_UNWIND_STOPS];
extern const char *const unwind_stop_texts[N_UNWIND_STOPS];

/* What is at an address. */
enum unwind_where {
	UNWIND_AT_NOTHING, /* no executable mapping: the chain ends */
	UNWIND_AT_CODE,    /* code without a table (JIT, not built yet): by frame pointer */
	UNWIND_AT_TABLE,
};

struct unwind_place {
	const struct unwind_table *table; /* stays the owner's, and outlives the unwinder */
	uint64_t file_off;                /* of the address */
	/* What is around it and has the same table, by run-time addresses; 0, 0: not told. */
	uint64_t start, end;
};

/* *place is zero before; where there is code without a table it stays so. */
typedef enum unwind_where unwind_find_fn(void *ctx, uint64_t pc, struct unwind_place *place);

struct unwind_input {
	struct unwind_regs regs;
	const uint64_t *other; /* all registers by DWARF number, if the sample has them; or NULL */
	uint32_t n_other;

	const void *stack; /* from regs.sp on; any alignment */
	size_t stack_size;
	bool is_whole; /* the kernel copied less than it was asked for: the stack ends there */

	unwind_find_fn *find;
	void *ctx;

	/*
	 * A number for the address space in its present state: what `find` told is
	 * remembered by it. Another number after every change of its mappings or
	 * tables. 0: nothing is remembered from walk to walk.
	 */
	uint64_t space;
};

/* Innermost first. All addresses but the first and interrupted ones are return addresses. */
struct unwind_chain {
	uint64_t *pcs;
	size_t max;
	size_t n;
	size_t n_by_fp; /* frames found by frame pointer, as no rule was there */
	enum unwind_stop stop;
};

struct unwinder;

struct unwinder *unwinder_new(void);
void unwinder_free(struct unwinder *u); /* NULL is fine */

/*
 * A walk that will come, by its space, its program counter and its stack from `sp` on: fetches the
 * words that it will read if it is like the thread's last, and rows around the address.
 */
void unwinder_expect(struct unwinder *u, uint64_t space, uint64_t pc, uint64_t sp,
		     const void *stack, size_t stack_size);

/* Sets all of the chain but pcs and max. It has at least the first address, if max is not 0. */
void unwind_walk(struct unwinder *u, const struct unwind_input *in, struct unwind_chain *chain);
