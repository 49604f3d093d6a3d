/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an x86 instruction that tell its effect on the stack. Inside unwind/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers by their numbers in code. */
enum { REG_SP = 4, REG_FP = 5 };

/* The parts of an instruction that an effect on the stack needs. */
struct stack_insn {
	uint8_t op;
	bool is_0f, is_16, is_wide; /* is_wide: its operands are words of the stack */
	bool has_mem;               /* its ModRM names memory: at `rm` + disp, if has_disp */
	bool has_disp;
	uint8_t reg, rm; /* of ModRM; rm: the register, or the base of the memory */
	uint8_t of_op;   /* the register in the opcode */
	int32_t disp, imm;
};

/*
 * Of one instruction of `size` bytes, in code of 32 or 64 bits. False: it is a vector instruction,
 * or has prefixes alone. Vector instructions, and those behind 0F 38 and 0F 3A, change neither
 * pointer.
 */
bool stack_insn_read(unsigned int width, const uint8_t *at, size_t size, struct stack_insn *in);

/* The register that it writes: 'm' rm, 'r' reg, 'x' both, 'o' of_op, '.' none that counts. */
char stack_insn_writes(const struct stack_insn *in);

/* Of those that may be before any instruction; REX and VEX are none of them. */
static inline bool is_prefix_x86(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}
