/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers that a stack walk needs, as PERF_SAMPLE_REGS_USER names them (asm/perf_regs.h of
 * the kernel, x86 and arm64), and their DWARF numbers (System V psABIs).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

/* "AX", "R8", "XMM0"; "x0", "lr"; NULL for a number without a name. */
const char *register_name(uint32_t bit, bool is_aarch64);
/* The bit is the second of its name: an XMM register's upper half. */
bool register_is_upper_half(uint32_t bit, bool is_aarch64);

#define DWARF_REGISTERS 33

#if defined(__x86_64__)
#define UNWIND_PERF_REGS 0xff01ffULL /* ax bx cx dx si di bp sp ip, r8 to r15 */
#elif defined(__aarch64__)
#define UNWIND_PERF_REGS 0x1ffffffffULL /* x0 to x30, sp, pc */
#endif

struct dwarf_registers {
	uint64_t value[DWARF_REGISTERS]; /* by DWARF number; on x86-64 16 is rip, on AArch64 32 is
					    pc */
	bool is_aarch64;
	bool is_i386; /* of a 32-bit program on x86-64: with the numbers of x86-64 */
};

/* The stack pointer and program counter alone; false as below, or if one of them is missing. */
bool registers_place(const struct sample_registers *regs, bool is_aarch64, uint64_t *sp,
		     uint64_t *pc);

/* False for a sample without any, or of a 32-bit program on AArch64. `is_aarch64`: of its machine.
 */
bool registers_by_dwarf(const struct sample_registers *regs, bool is_aarch64,
			struct dwarf_registers *out);
