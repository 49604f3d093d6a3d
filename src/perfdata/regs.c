/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/regs.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"

#define NONE 0xff

/* enum perf_event_x86_regs to DWARF: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8… */
static const uint8_t x86_64[] = { 0,    3,    2,    1,    4, 5, 6,  7,  16, NONE, NONE, NONE,
				  NONE, NONE, NONE, NONE, 8, 9, 10, 11, 12, 13,   14,   15 };

static const char *const x86_names[] = { "AX", "BX",    "CX",  "DX",  "SI",  "DI",  "BP",  "SP",
					 "IP", "FLAGS", "CS",  "SS",  "DS",  "ES",  "FS",  "GS",
					 "R8", "R9",    "R10", "R11", "R12", "R13", "R14", "R15" };
static const char *const aarch64_names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",  "pc",
};

/* From bit 32 on, two a register, its low half first. */
static const char *const xmm_names[] = { "XMM0",  "XMM1",  "XMM2",  "XMM3", "XMM4",  "XMM5",
					 "XMM6",  "XMM7",  "XMM8",  "XMM9", "XMM10", "XMM11",
					 "XMM12", "XMM13", "XMM14", "XMM15" };

bool register_is_upper_half(uint32_t bit, bool is_aarch64)
{
	return !is_aarch64 && bit >= 32 && bit % 2;
}

const char *register_name(uint32_t bit, bool is_aarch64)
{
	if (is_aarch64)
		return bit < ARRAY_SIZE(aarch64_names) ? aarch64_names[bit] : NULL;
	if (bit >= 32 && bit < 64)
		return xmm_names[(bit - 32) / 2];
	return bit < ARRAY_SIZE(x86_names) ? x86_names[bit] : NULL;
}

static uint8_t regs_dwarf_number(uint32_t bit, bool is_aarch64)
{
	if (is_aarch64)
		return bit < DWARF_REGISTERS ? (uint8_t)bit : NONE;
	return bit < ARRAY_SIZE(x86_64) ? x86_64[bit] : NONE;
}

bool registers_by_dwarf(const struct sample_registers *regs, bool is_aarch64,
			struct dwarf_registers *out)
{
	bool is_i386 = regs->abi == PERF_SAMPLE_REGS_ABI_32 && !is_aarch64;
	uint32_t n = 0;

	if (regs->abi != PERF_SAMPLE_REGS_ABI_64 && !is_i386)
		return false;
	memset(out, 0, sizeof(*out));
	out->is_i386 = is_i386;
	out->value[0] = UINT64_MAX; /* rax, x0: 0 would mean a new thread (unwind/step.h) */
	out->is_aarch64 = is_aarch64;
	for (uint32_t bit = 0; bit < 64 && n < regs->n_values; bit++) {
		uint8_t number;

		if (!(regs->mask >> bit & 1))
			continue;
		number = regs_dwarf_number(bit, is_aarch64);
		if (number != NONE)
			out->value[number] = regs->values[n];
		n++;
	}
	return true;
}

static bool regs_value_of(const struct sample_registers *regs, uint32_t bit, uint64_t *out)
{
	uint32_t at = (uint32_t)__builtin_popcountll(regs->mask & ((1ull << bit) - 1));

	if (!(regs->mask >> bit & 1) || at >= regs->n_values)
		return false;
	*out = regs->values[at];
	return true;
}

bool registers_place(const struct sample_registers *regs, bool is_aarch64, uint64_t *sp,
		     uint64_t *pc)
{
	return regs->abi == PERF_SAMPLE_REGS_ABI_64 &&
	       regs_value_of(regs, is_aarch64 ? 31 : 7, sp) &&
	       regs_value_of(regs, is_aarch64 ? 32 : 8, pc);
}
