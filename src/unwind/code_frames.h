/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from code: the place of the caller at each instruction of a function that no table has.
 *
 * The instructions of x86 that change the stack pointer and the frame pointer are followed from the
 * function's start, along its branches. Each place of the code is visited once, so the time is
 * linear.
 *
 *	struct code_frames f = { .width = 64, .code = bytes, .n = size };
 *
 *	code_frames_begin(&f);
 *	code_frames_follow(&f, 0);
 *	code_frames_follow_rest(&f, is_one_function);
 *	for (uint32_t i = 0; i < f.n; i++)
 *		... code_frames_rule(&f, i, &rule) ...
 *	code_frames_fini(&f);
 *
 * The result is a guess. Compilers write code whose frames are found so; other code may get wrong
 * rules. The code is not trusted: at most CODE_FRAMES_MAX bytes are followed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "unwind/rule.h"

struct pt_insn;

#define CODE_FRAMES_MAX (1u << 18) /* bytes of a function */
#define CODE_UNKNOWN    INT32_MIN  /* of a place in a frame */

/*
 * Places in a frame are counted downwards from its base, in bytes. The base is the CFA. If the
 * stack was aligned before there was a frame pointer, the base is the aligned address, and the CFA
 * is in a register or in a slot.
 */
struct code_frame {
	int32_t sp;       /* the stack pointer, or CODE_UNKNOWN */
	int32_t fp;       /* the frame pointer, if it is one of this frame, or CODE_UNKNOWN */
	int32_t fp_saved; /* the caller's frame pointer; 0: in its register; or CODE_UNKNOWN */
	int32_t cfa_slot; /* a slot with the address of the CFA, or CODE_UNKNOWN */
	int16_t cfa_reg;  /* the register with that address, by its number in code, or -1 */
	int16_t is_aligned;
};

/* Code behind a call, which may not return: other ways to the code count first. */
struct code_return {
	uint32_t at;
	uint16_t frame; /* number + 1 */
};

struct code_frames {
	unsigned int width; /* 32 or 64 */
	const uint8_t *code;
	uint32_t n; /* bytes: at most CODE_FRAMES_MAX */
	/* The rest is private. */
	uint16_t
		*at; /* of each byte: the number of its frame + 1; 0: no instruction begins there */
	VEC(struct code_frame) frames;
	VEC(uint32_t) to_follow;
	VEC(struct code_return) returns; /* a heap: the lowest place is the first */
};

void code_frames_begin(struct code_frames *f);
void code_frames_fini(struct code_frames *f);

/* From the start of a function on. */
void code_frames_follow(struct code_frames *f, uint32_t start);

/*
 * Then the code that no branch leads to: cases of a switch, which have the frame of its indirect
 * jump, and, unless the code is one function, other functions.
 */
void code_frames_follow_rest(struct code_frames *f, bool is_one_function);

/* False: no instruction begins there, or its frame is not known. The rule is a guessed one. */
bool code_frames_rule(const struct code_frames *f, uint32_t at, struct unwind_rule *rule);

/* Whether an instruction fills the place between functions: nop and int3 of all sizes. */
bool code_is_padding(unsigned int width, const uint8_t *code, const struct pt_insn *insn);

/* The place behind the instruction that begins there, or else the next byte. */
uint32_t code_frames_next(const struct code_frames *f, uint32_t at);
