/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few instructions of AArch64 that the detection of runtimes reads (Arm Architecture Reference
 * Manual, C6.2). An instruction has 4 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Code from a link address on. */
struct aarch64_code {
	const uint8_t *at;
	uint64_t link_addr;
	size_t n; /* instructions */
};

/* At most `size` bytes of the file; n is 0 if the address is not in the file. */
struct aarch64_code aarch64_code_at(const struct elf_file *elf, uint64_t link_addr, size_t size);

/* The i-th instruction, i < n. */
uint32_t aarch64_insn(const struct aarch64_code *code, size_t i);

/* Whether the i-th instruction is a direct branch, which calls with *is_call. */
bool aarch64_branch(const struct aarch64_code *code, size_t i, uint64_t *target, bool *is_call);

/* Whether an instruction jumps to an address in a register (br), or calls it (blr). */
bool aarch64_is_jump(uint32_t insn);
bool aarch64_is_call(uint32_t insn);

/*
 * Whether it calls at all (bl, blr). And whether it never goes on to the next one: b, br, ret,
 * traps, and words that are no instruction.
 */
bool aarch64_calls(uint32_t insn);
bool aarch64_ends_code(uint32_t insn);

/* What a register has, as far as straight code tells. */
enum aarch64_kind {
	AARCH64_UNKNOWN,
	AARCH64_ADDRESS, /* addr: a link address */
	AARCH64_LOADED,  /* the 4 or 8 bytes at the link address addr */
};

struct aarch64_value {
	enum aarch64_kind kind;
	uint64_t addr;
};

struct aarch64_values {
	struct aarch64_value of[32]; /* by register; the last one stays unknown */
	/*
	 * Of a variable of another unit: a word of 8 bytes that is loaded from a known place, as
	 * from the global offset table, is taken for this address. 0: there is no such variable.
	 */
	uint64_t variable;
};

/*
 * Keeps what the i-th instruction does to its registers: adrp, add, mov, and loads. A call leaves
 * x19 to x29 as they are.
 */
void aarch64_follow(struct aarch64_values *values, const struct aarch64_code *code, size_t i);

/* Whether it compares a register with a number (up to 12 bits), or two registers. */
bool aarch64_compares_number(uint32_t insn, uint32_t *reg, uint32_t *number);
bool aarch64_compares(uint32_t insn, uint32_t *left, uint32_t *right);
