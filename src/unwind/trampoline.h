/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython's perf trampoline (-X perf, PYTHONPERFSUPPORT=1; 3.12 and newer).
 *
 * Each Python function is called through a copy of a few instructions, so that a perf map can name
 * it. The copies are in anonymous memory and have no unwind information. The code is always one of
 * these (CPython: Python/asm_trampoline.S):
 *
 *	0  sub $8,%rsp       0  push %rbp          stp x29, x30, [sp, -16]!
 *	4  call *%rcx        1  mov %rsp,%rbp      mov x29, sp
 *	6  add $8,%rsp       4  call *%rcx         blr x3
 *	10 ret               6  pop %rbp           ldp x29, x30, [sp], 16
 *	                     7  ret                ret
 *
 * So the bytes around an address tell its rule. Freestanding, for BPF programs, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rule.h"

/* The rule depends on these bytes. They begin before the address that the walk looks up. */
#define TRAMPOLINE_BYTES          24
#define TRAMPOLINE_BEFORE         10
#define TRAMPOLINE_BEFORE_AARCH64 11

/*
 * Behind the call, it depends on this part of them. The other bytes may be outside of the mapping.
 * Then they are 0.
 */
#define TRAMPOLINE_CALLER_AT(is_aarch64)    ((is_aarch64) ? 0 : 5)
#define TRAMPOLINE_CALLER_BYTES(is_aarch64) ((is_aarch64) ? 20 : 11)

static inline uint64_t trampoline_start(uint64_t lookup_pc, bool is_aarch64)
{
	return lookup_pc - (is_aarch64 ? TRAMPOLINE_BEFORE_AARCH64 : TRAMPOLINE_BEFORE);
}

static inline uint64_t trampoline_word(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	__builtin_memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static inline struct unwind_rule trampoline_rule(uint16_t words, uint8_t saved)
{
	bool has_fp = saved != UNWIND_FP_SAME;

	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
				     .off = words,
				     .saved = saved,
				     .fp = has_fp ? -2 : 0,
				     .aux = saved >> 4 == UNWIND_RA_AT_CFA ? -1 : 0 };
}

/* UNWIND_CFA_NONE: the bytes are other code. */
static inline struct unwind_rule unwind_rule_of_trampoline(const uint8_t *bytes, bool is_aarch64)
{
	if (is_aarch64 && trampoline_word(bytes, 0) == 0x910003fda9bf7bfd &&
	    trampoline_word(bytes, 8) == 0xa8c17bfdd63f0060 &&
	    (uint32_t)trampoline_word(bytes, 16) == 0xd65f03c0)
		return trampoline_rule(2, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA << 4);
	for (uint32_t at = 0; !is_aarch64 && at <= TRAMPOLINE_BEFORE; at++) {
		uint64_t first = trampoline_word(bytes, TRAMPOLINE_BEFORE - at);
		uint64_t rest = trampoline_word(bytes, TRAMPOLINE_BEFORE - at + 3) >> 40;

		if (first == 0xc35dd1ffe5894855 && at <= 7)
			return at && at < 7 ? trampoline_rule(2, UNWIND_FP_AT_CFA)
					    : trampoline_rule(1, UNWIND_FP_SAME);
		if (first == 0x8348d1ff08ec8348 && rest == 0xc308c4)
			return trampoline_rule(at && at < 10 ? 2 : 1, UNWIND_FP_SAME);
	}
	return (struct unwind_rule){ 0 };
}
