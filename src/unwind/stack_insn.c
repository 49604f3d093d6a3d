/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opcodes: Intel SDM, volume 2, appendix A. */
#include "unwind/stack_insn.h"

#include <string.h>

/* The register that an instruction writes: in ModRM's reg or rm (x: both), or in the opcode. */
static const char one_byte_writes[16][17] = {
	/*    0123456789abcdef */
	/* 0 */ ".m.r.....m.r....",
	/* 1 */ ".m.r.....m.r....",
	/* 2 */ ".m.r.....m.r....",
	/* 3 */ ".m.r............",
	/* 4 */ "oooooooooooooooo",
	/* 5 */ "................",
	/* 6 */ "...r.....r.r....",
	/* 7 */ "................",
	/* 8 */ ".m.m...x.m.rmr..",
	/* 9 */ "oooooooo........",
	/* a */ "................",
	/* b */ "........oooooooo",
	/* c */ ".m.....m........",
	/* d */ ".m.m............",
	/* e */ "................",
	/* f */ ".......m.......m",
};

static const char two_byte_writes[16][17] = {
	/*    0123456789abcdef */
	/* 0 */ "..rr............",
	/* 1 */ "................",
	/* 2 */ "mm..........rr..",
	/* 3 */ "................",
	/* 4 */ "rrrrrrrrrrrrrrrr",
	/* 5 */ "r...............",
	/* 6 */ "................",
	/* 7 */ "..............m.",
	/* 8 */ "................",
	/* 9 */ "................",
	/* a */ "....mm.....mmm.r",
	/* b */ ".m.m..rrr.mmrrrr",
	/* c */ ".x...r..oooooooo",
	/* d */ ".......r........",
	/* e */ "................",
	/* f */ "................",
};

char stack_insn_writes(const struct stack_insn *in)
{
	return (in->is_0f ? two_byte_writes : one_byte_writes)[in->op >> 4][in->op & 15];
}

/* Of the instructions that may change a register. */
static bool has_modrm(const struct stack_insn *in)
{
	char kind = stack_insn_writes(in);

	return kind == 'm' || kind == 'r' || kind == 'x';
}

static int32_t int32_at(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The memory of a ModRM: a base and a displacement, or anything else. */
static void read_memory(struct stack_insn *in, const uint8_t *at, const uint8_t *end, uint8_t rex)
{
	uint8_t mod = at[-1] >> 6, base = at[-1] & 7;
	bool has_index = false;

	in->has_mem = true;
	if (base == 4 && at < end) {
		has_index = (*at >> 3 & 7) != 4 || rex & 2;
		base = *at++ & 7;
	}
	in->rm = base | (rex & 1) << 3;
	if (has_index || (!mod && base == 5))
		return;
	in->has_disp = mod == 0 || (mod == 1 ? end - at >= 1 : end - at >= 4);
	if (mod && in->has_disp)
		in->disp = mod == 1 ? (int8_t)*at : int32_at(at);
}

bool stack_insn_read(unsigned int width, const uint8_t *at, size_t size, struct stack_insn *in)
{
	const uint8_t *end = at + size;
	uint8_t rex = 0;

	*in = (struct stack_insn){ 0 };
	for (; at < end && is_prefix_x86(*at); at++)
		in->is_16 |= *at == 0x66;
	if (width == 64 && at < end && *at >> 4 == 4)
		rex = *at++;
	if (at == end)
		return false;
	if ((*at == 0xc4 || *at == 0xc5 || *at == 0x62) &&
	    (width == 64 || (end - at > 1 && at[1] >= 0xc0)))
		return false;
	in->is_0f = *at == 0x0f && end - at > 1;
	at += in->is_0f;
	in->op = *at++;
	in->is_wide = width == 64 ? rex & 8 : !in->is_16;
	in->of_op = (in->op & 7) | (rex & 1) << 3;
	if (at < end && has_modrm(in)) {
		in->reg = (*at >> 3 & 7) | (rex & 4) << 1;
		in->rm = (*at & 7) | (rex & 1) << 3;
		if (*at++ >> 6 != 3)
			read_memory(in, at, end, rex);
	}
	if (in->op == 0x83 && size > 1)
		in->imm = (int8_t)end[-1];
	else if (in->op == 0x81 && size > 4)
		in->imm = int32_at(end - 4);
	return true;
}
