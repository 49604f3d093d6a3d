/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules and rows, the parts of a table. Freestanding, because BPF programs include it, too.
 *
 * A *rule* leads from a frame to its caller. It gives the canonical frame address (CFA: the
 * caller's stack pointer), and the places of the caller's frame pointer and the return address. An
 * image has a few hundred to a few thousand distinct rules. Rows share them, and a *row* only names
 * one:
 *
 *	 31          20 19                    0
 *	+--------------+-----------------------+
 *	| offset in    | number of the rule    |   struct unwind_table: rows[]
 *	| its page     | in force from there   |
 *	+--------------+-----------------------+
 *
 * Pages are 4 KiB of the image by *file offset*, which is a sample's offset in its mapping.
 * `pages[i] .. pages[i + 1]` are the rows of page first_page + i; the first of them is at offset 0
 * of the page, so that a look-up never leaves the page. A page has at most 4096 rows, and a search
 * at most UNWIND_SEARCH_STEPS steps, because the BPF verifier needs a limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNWIND_PAGE_BITS    12
#define UNWIND_PAGE_SIZE    (1u << UNWIND_PAGE_BITS)
#define UNWIND_SEARCH_STEPS UNWIND_PAGE_BITS
#define UNWIND_RULE_BITS    20
#define UNWIND_MAX_RULES    (1u << UNWIND_RULE_BITS)

static inline uint32_t unwind_row(uint32_t offset_in_page, uint32_t rule)
{
	return offset_in_page << UNWIND_RULE_BITS | rule;
}

static inline uint32_t unwind_row_rule(uint32_t row)
{
	return row & (UNWIND_MAX_RULES - 1);
}

/*
 * The place of the CFA. `off`, `fp` and `aux` are fields of the rule, in words: 8 bytes, or 4 in
 * tables for i386.
 */
enum unwind_cfa {
	UNWIND_CFA_NONE,        /* no table entry covers the address */
	UNWIND_CFA_END,         /* the outermost frame: it has no caller */
	UNWIND_CFA_UNSUPPORTED, /* an expression or register that is not followed */
	UNWIND_CFA_SP,          /* sp + off */
	UNWIND_CFA_FP,          /* fp + off */
	UNWIND_CFA_REGISTER, /* register number aux + off; other than rbx only in the sampled frame
			      */
	UNWIND_CFA_PLT,      /* sp + off, and one word more if (pc & 15) >= aux */
	UNWIND_CFA_SP_DEREF, /* [sp + (int16_t)off] + aux */
	UNWIND_CFA_FP_DEREF, /* [fp + (int16_t)off] + aux: realigned stacks */
	UNWIND_CFA_SIGNAL,   /* registers are in the signal frame: [sp + off] is the stack
				pointer, behind it the pc (on i386, UNWIND_I386_PC words behind);
				fp at [sp + fp], rbx or lr at [sp + aux] */
	/* The caller is on another stack, at any address: fibers, coroutines. */
	UNWIND_CFA_SP_OTHER,  /* [sp + (int16_t)off] + aux */
	UNWIND_CFA_SP_OTHER2, /* [[sp + (int16_t)off] + fp] + aux; the frame pointer is the same */
	UNWIND_CFA_FP_OTHER,  /* fp + off */
	UNWIND_CFA_REGISTER_OTHER, /* as REGISTER */
	UNWIND_CFA_ELSEWHERE, /* the caller is on another stack. aux 0: no rule leads there. Else
				 the registers that Go saved for the thread's goroutine do: */
	UNWIND_CFA_CLONED, /* sp + off; the outermost frame if the system call returned 0, in a new
			      thread */
};

/*
 * UNWIND_CFA_ELSEWHERE in Go. A thread has its `g` at [thread pointer + aux]. That has its thread
 * (`m`), which has the goroutine at `off`. There the scheduler saved the stack pointer, the pc and,
 * at `fp`, the frame pointer. The pc is a return address, or, with UNWIND_RA_BELOW_CFA, the return
 * address is at the stack pointer. These places are the same in Go 1.16 to 1.27 (runtime2.go):
 */
#define UNWIND_GO_STACK 0 /* of a goroutine: its lowest address, and its end */
#define UNWIND_GO_M     48
#define UNWIND_GO_SAVED 56 /* stack pointer, pc */

/* The place of the caller's frame pointer. */
enum unwind_fp {
	UNWIND_FP_SAME,   /* still in its register */
	UNWIND_FP_AT_CFA, /* [CFA + fp] */
	UNWIND_FP_AT_FP,  /* [frame pointer + fp] */
	UNWIND_FP_LOST,
};

/* The place of the return address. */
enum unwind_ra {
	UNWIND_RA_BELOW_CFA, /* a word below the CFA, where a call on x86 puts it. If the CFA is SP
				or FP, the caller's rbx is at [CFA + aux], or, with aux 0, in its
				register
			      */
	UNWIND_RA_AT_CFA,    /* [CFA + aux] */
	UNWIND_RA_LR,        /* in the link register */
	UNWIND_RA_REGISTER,  /* register number aux; known only in the sampled frame (longjmp) */
	UNWIND_RA_AT_FP, /* a word above the frame pointer; the CFA is elsewhere (interpreted Java)
			  */
};

/* In `saved`: no table has the rule. assay guessed the rule from the code, or uses the frame
 * pointer. */
#define UNWIND_GUESSED 8

/*
 * Eight bytes, the same on disk, in memory and in BPF maps. All zero is "no rule". A CFA offset has
 * 20 bits, because frames of more than 512 KiB exist: the low 16 are `off`, the high 4 the high
 * nibble of `cfa`.
 */
struct unwind_rule {
	uint8_t cfa;   /* low nibble: enum unwind_cfa */
	uint8_t saved; /* low bits: enum unwind_fp, UNWIND_GUESSED; high nibble: enum unwind_ra */
	int16_t fp;
	int16_t aux;
	uint16_t off;
};
_Static_assert(sizeof(struct unwind_rule) == 8, "unwind rules are a file format");

static inline enum unwind_cfa unwind_rule_cfa(struct unwind_rule r)
{
	return (enum unwind_cfa)(r.cfa & 15);
}

static inline bool unwind_leaves_stack(struct unwind_rule r)
{
	enum unwind_cfa cfa = unwind_rule_cfa(r);

	return cfa >= UNWIND_CFA_SP_OTHER && cfa <= UNWIND_CFA_REGISTER_OTHER;
}

static inline uint64_t unwind_rule_words(struct unwind_rule r)
{
	return (uint64_t)(r.cfa >> 4) << 16 | r.off;
}

/* In bytes, of a machine of 64 bits. */
static inline uint64_t unwind_rule_offset(struct unwind_rule r)
{
	return unwind_rule_words(r) * 8;
}

static inline enum unwind_fp unwind_rule_fp(struct unwind_rule r)
{
	return (enum unwind_fp)(r.saved & (UNWIND_GUESSED - 1));
}

static inline bool unwind_rule_is_guessed(struct unwind_rule r)
{
	return r.saved & UNWIND_GUESSED;
}

static inline enum unwind_ra unwind_rule_ra(struct unwind_rule r)
{
	return (enum unwind_ra)(r.saved >> 4);
}

/* DWARF numbers. */
#define UNWIND_RETURNED 0 /* rax, eax, and x0: the result of a system call */
#define UNWIND_RBX      3 /* and ebx */

/* struct sigcontext of i386 (asm/sigcontext.h): from the stack pointer to the pc, in words. */
#define UNWIND_I386_PC 7

/* `aux` of UNWIND_CFA_NONE if frame pointers lead from stack to stack (Go). */
#define UNWIND_FP_ANYWHERE 1

static inline bool unwind_saves_bx(struct unwind_rule r)
{
	enum unwind_cfa cfa = unwind_rule_cfa(r);

	return r.aux && unwind_rule_ra(r) == UNWIND_RA_BELOW_CFA &&
	       (cfa == UNWIND_CFA_SP || cfa == UNWIND_CFA_FP);
}
