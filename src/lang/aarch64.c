/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/aarch64.h"

#include "base/mem.h"
#include "elf/elf_file.h"

#define INSN_SIZE   4
#define NO_REGISTER 31 /* the zero register, or the stack pointer */

#define LAST_SCRATCH  18
#define LINK_REGISTER 30

struct aarch64_code aarch64_code_at(const struct elf_file *elf, uint64_t link_addr, size_t size)
{
	struct reader r = elf_bytes_at(elf, link_addr);

	return (struct aarch64_code){ .at = r.at,
				      .link_addr = link_addr,
				      .n = MIN(reader_left(&r), size) / INSN_SIZE };
}

uint32_t aarch64_insn(const struct aarch64_code *code, size_t i)
{
	uint32_t insn;

	memcpy(&insn, code->at + i * INSN_SIZE, sizeof(insn));
	return insn;
}

/* The bits from `low` on, as a signed number. */
static int64_t signed_bits(uint32_t insn, unsigned int low, unsigned int n)
{
	return (int64_t)((uint64_t)(insn >> low) << (64 - n)) >> (64 - n);
}

bool aarch64_branch(const struct aarch64_code *code, size_t i, uint64_t *target, bool *is_call)
{
	uint32_t insn = aarch64_insn(code, i);
	int64_t words;

	*is_call = false;
	if ((insn & 0x7c000000) == 0x14000000) { /* b, bl */
		words = signed_bits(insn, 0, 26);
		*is_call = insn >> 31;
	} else if ((insn & 0xff000010) == 0x54000000 || /* b.cond */
		   (insn & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
		words = signed_bits(insn, 5, 19);
	} else if ((insn & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		words = signed_bits(insn, 5, 14);
	} else {
		return false;
	}
	*target = code->link_addr + i * INSN_SIZE + (uint64_t)words * INSN_SIZE;
	return true;
}

bool aarch64_is_jump(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xd61f0000;
}

bool aarch64_is_call(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xd63f0000;
}

bool aarch64_calls(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || aarch64_is_call(insn);
}

#define RET 0xd65f0000 /* and retaa, retab; the register is in bits 5 to 9 */

bool aarch64_ends_code(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x14000000 || aarch64_is_jump(insn) ||
	       (insn & 0xfffff000) == RET || insn >> 24 == 0xd4 || !(insn >> 16);
}

/* The value of ldr (immediate, unsigned offset); `size`: bytes. */
static struct aarch64_value loaded(const struct aarch64_values *v, uint32_t insn, uint32_t size)
{
	const struct aarch64_value *base = &v->of[insn >> 5 & 31];
	uint64_t addr = base->addr + (uint64_t)(insn >> 10 & 0xfff) * size;

	if (base->kind != AARCH64_ADDRESS)
		return (struct aarch64_value){ 0 };
	if (size == 8 && v->variable)
		return (struct aarch64_value){ AARCH64_ADDRESS, v->variable };
	return (struct aarch64_value){ AARCH64_LOADED, addr };
}

static struct aarch64_value value_of(const struct aarch64_values *v,
				     const struct aarch64_code *code, size_t i)
{
	uint32_t insn = aarch64_insn(code, i), from = insn >> 5 & 31;
	struct aarch64_value value = { 0 };

	if ((insn & 0x9f000000) == 0x90000000) { /* adrp */
		uint64_t pages = (uint64_t)signed_bits(insn, 5, 19) << 2 | (insn >> 29 & 3);

		value.kind = AARCH64_ADDRESS;
		value.addr = ((code->link_addr + i * INSN_SIZE) & ~UINT64_C(0xfff)) + (pages << 12);
	} else if ((insn & 0xff800000) == 0x91000000) { /* add (immediate) */
		value = v->of[from];
		if (value.kind != AARCH64_ADDRESS)
			return (struct aarch64_value){ 0 };
		value.addr += (uint64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
	} else if ((insn & 0xffe0ffe0) == 0xaa0003e0) { /* mov (register) */
		value = v->of[insn >> 16 & 31];
	} else if ((insn & 0xffc00000) == 0xf9400000) {
		value = loaded(v, insn, 8);
	} else if ((insn & 0xffc00000) == 0xb9400000) {
		value = loaded(v, insn, 4);
	}
	return value;
}

/* Stores, branches and comparisons write no register that counts. */
static bool writes_register(uint32_t insn)
{
	bool is_store = (insn & 0x3a400000) == 0x28000000 || /* of two */
			(insn & 0x3ac00000) == 0x38000000;
	bool is_branch = (insn & 0x1c000000) == 0x14000000;

	return !is_store && !is_branch;
}

static void forget_register(struct aarch64_values *values, uint32_t reg)
{
	values->of[reg] = (struct aarch64_value){ 0 };
}

/* Registers that an instruction changes beside its first one. */
static void forget_others(struct aarch64_values *values, uint32_t insn)
{
	bool is_pair = (insn & 0x3a000000) == 0x28000000;

	if (is_pair && (insn & 0x00400000)) /* ldp: the second one */
		forget_register(values, insn >> 10 & 31);
	/* The base moves before or after the access. */
	if ((is_pair && (insn & 0x00800000)) || (insn & 0x3b200400) == 0x38000400)
		forget_register(values, insn >> 5 & 31);
	/* A call keeps x19 to x29 (Procedure Call Standard for the Arm 64-bit Architecture). */
	if ((insn & 0xfc000000) == 0x94000000 || aarch64_is_call(insn)) {
		for (uint32_t reg = 0; reg <= LAST_SCRATCH; reg++)
			forget_register(values, reg);
		forget_register(values, LINK_REGISTER);
	}
}

void aarch64_follow(struct aarch64_values *values, const struct aarch64_code *code, size_t i)
{
	uint32_t insn = aarch64_insn(code, i), to = insn & 31;

	forget_others(values, insn);
	if (writes_register(insn) && to != NO_REGISTER)
		values->of[to] = value_of(values, code, i);
}

bool aarch64_compares_number(uint32_t insn, uint32_t *reg, uint32_t *number)
{
	*reg = insn >> 5 & 31;
	*number = insn >> 10 & 0xfff;
	return (insn & 0x7fc0001f) == 0x7100001f;
}

bool aarch64_compares(uint32_t insn, uint32_t *left, uint32_t *right)
{
	*left = insn >> 5 & 31;
	*right = insn >> 16 & 31;
	return (insn & 0x7fe0fc1f) == 0x6b00001f;
}
