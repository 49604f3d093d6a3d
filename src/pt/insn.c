/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opcode maps of x86, as far as the length and the flow need them (Intel SDM, volume 2,
 * appendix A; APX, FRED and AVX10 by their own specifications).
 */
#include "pt/insn.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* What follows an opcode, beside ModRM. */
enum imm {
	IMM_0,
	IMM_8,
	IMM_16,
	IMM_16_8, /* ENTER */
	IMM_32,
	IMM_Z,     /* 2 or 4 bytes, as the operand */
	IMM_V,     /* 2, 4 or 8 */
	IMM_REL,   /* a distance: as IMM_Z, and 4 in 64-bit code */
	IMM_FAR,   /* a selector and IMM_Z */
	IMM_MOFFS, /* as an address */
};

/* The kinds of opcodes, each with its letter in the maps below. */
static const struct form {
	bool is_insn, has_modrm, not_in_64;
	uint8_t imm; /* enum imm */
	uint8_t end; /* enum pt_end */
} forms[128] = {
	['.'] = { .is_insn = true },
	['6'] = { .is_insn = true, .not_in_64 = true },
	['r'] = { .is_insn = true }, /* a REX prefix in 64-bit code */
	['b'] = { .is_insn = true, .imm = IMM_8 },
	['a'] = { .is_insn = true, .imm = IMM_8, .not_in_64 = true },
	['e'] = { .is_insn = true, .imm = IMM_16_8 },
	['z'] = { .is_insn = true, .imm = IMM_Z },
	['v'] = { .is_insn = true, .imm = IMM_V },
	['o'] = { .is_insn = true, .imm = IMM_MOFFS },
	['m'] = { .is_insn = true, .has_modrm = true },
	['7'] = { .is_insn = true, .has_modrm = true, .not_in_64 = true },
	['M'] = { .is_insn = true, .has_modrm = true, .imm = IMM_8 },
	['A'] = { .is_insn = true, .has_modrm = true, .imm = IMM_8, .not_in_64 = true },
	['Z'] = { .is_insn = true, .has_modrm = true, .imm = IMM_Z },
	['t'] = { .is_insn = true, .has_modrm = true, .imm = IMM_8 }, /* TEST alone has it */
	['T'] = { .is_insn = true, .has_modrm = true, .imm = IMM_Z },
	['x'] = { .is_insn = true, .has_modrm = true }, /* VMREAD, EXTRQ, INSERTQ */
	['d'] = { .is_insn = true },                    /* ModRM that names registers alone */
	/* The flow: */
	['c'] = { .is_insn = true, .imm = IMM_8, .end = PT_END_COND },
	['C'] = { .is_insn = true, .imm = IMM_REL, .end = PT_END_COND },
	['j'] = { .is_insn = true, .imm = IMM_8, .end = PT_END_JUMP },
	['J'] = { .is_insn = true, .imm = IMM_REL, .end = PT_END_JUMP },
	['K'] = { .is_insn = true, .imm = IMM_REL, .end = PT_END_CALL },
	['R'] = { .is_insn = true, .end = PT_END_RETURN },
	['Q'] = { .is_insn = true, .imm = IMM_16, .end = PT_END_RETURN },
	['g'] = { .is_insn = true, .imm = IMM_FAR, .end = PT_END_FAR_JUMP, .not_in_64 = true },
	['f'] = { .is_insn = true, .imm = IMM_FAR, .end = PT_END_FAR_CALL, .not_in_64 = true },
	['l'] = { .is_insn = true, .end = PT_END_FAR_RETURN },
	['L'] = { .is_insn = true, .imm = IMM_16, .end = PT_END_FAR_RETURN },
	['n'] = { .is_insn = true, .end = PT_END_INTERRUPT },
	['N'] = { .is_insn = true, .imm = IMM_8, .end = PT_END_INTERRUPT },
	['O'] = { .is_insn = true, .end = PT_END_INTO, .not_in_64 = true },
	['i'] = { .is_insn = true, .end = PT_END_IRET }, /* and RSM */
	['s'] = { .is_insn = true, .end = PT_END_SYSCALL },
	['S'] = { .is_insn = true, .end = PT_END_SYSRET },
	['G'] = { .is_insn = true, .has_modrm = true }, /* group 5: near and far, indirect */
	['V'] = { .is_insn = true, .has_modrm = true }, /* group 7: VMX, FRED, UINTR */
};

/* "p": a prefix; "-": none, or the way to another map. */
static const char one_byte[16][17] = {
	/*    0123456789abcdef */
	/* 0 */ "mmmmbz66mmmmbz6-",
	/* 1 */ "mmmmbz66mmmmbz66",
	/* 2 */ "mmmmbzp6mmmmbzp6",
	/* 3 */ "mmmmbzp6mmmmbzp6",
	/* 4 */ "rrrrrrrrrrrrrrrr",
	/* 5 */ "................",
	/* 6 */ "667mppppzZbM....",
	/* 7 */ "cccccccccccccccc",
	/* 8 */ "MZAMmmmmmmmmmmmm",
	/* 9 */ "..........f.....",
	/* a */ "oooo....bz......",
	/* b */ "bbbbbbbbvvvvvvvv",
	/* c */ "MMQR77MZe.LlnNOi",
	/* d */ "mmmmaa6.mmmmmmmm",
	/* e */ "ccccbbbbKJgj....",
	/* f */ "pnpp..tT......mG",
};

/* Behind 0F. */
static const char two_byte[16][17] = {
	/*    0123456789abcdef */
	/* 0 */ "mVmm-s.S..-.-m.M",
	/* 1 */ "mmmmmmmmmmmmmmmm",
	/* 2 */ "dddd----mmmmmmmm",
	/* 3 */ "....sS-.--------",
	/* 4 */ "mmmmmmmmmmmmmmmm",
	/* 5 */ "mmmmmmmmmmmmmmmm",
	/* 6 */ "mmmmmmmmmmmmmmmm",
	/* 7 */ "MMMMmmm.xm--mmmm",
	/* 8 */ "CCCCCCCCCCCCCCCC",
	/* 9 */ "mmmmmmmmmmmmmmmm",
	/* a */ "...mMmmm..imMmmm",
	/* b */ "mmmmmmmmmmMmmmmm",
	/* c */ "mmMmMMMm........",
	/* d */ "mmmmmmmmmmmmmmmm",
	/* e */ "mmmmmmmmmmmmmmmm",
	/* f */ "mmmmmmmmmmmmmmmm",
};

/* An instruction that is being read. */
struct insn_reader {
	const uint8_t *bytes;
	unsigned int n;  /* of them, PT_INSN_MAX at most */
	unsigned int at; /* the next of them; above n: there are too few */
	unsigned int width;
	uint8_t rex; /* the prefix right before the opcode; 0: none */
	uint8_t rep; /* the last of F2 and F3 */
	bool has_66, has_67;
	bool forbids_vex; /* a prefix that none of VEX's kind follows */
	bool is_wide;     /* REX.W or its like */
	uint8_t modrm;
	uint8_t imm_size; /* bytes behind the rest */
};

static uint8_t next_byte(struct insn_reader *r)
{
	if (r->at < r->n)
		return r->bytes[r->at++];
	r->at = PT_INSN_MAX + 1;
	return 0;
}

static char one_byte_kind(uint8_t op)
{
	return one_byte[op >> 4][op & 15];
}

static char two_byte_kind(uint8_t op)
{
	return two_byte[op >> 4][op & 15];
}

/* The first byte behind the prefixes. */
static uint8_t read_prefixes(struct insn_reader *r)
{
	for (;;) {
		uint8_t op = next_byte(r);
		char kind = one_byte_kind(op);

		if (kind == 'r' && r->width == 64) {
			r->rex = op;
			continue;
		}
		if (kind != 'p') {
			r->is_wide = r->rex & 8;
			return op;
		}
		r->rex = 0;
		r->has_66 |= op == 0x66;
		r->has_67 |= op == 0x67;
		r->forbids_vex |= op == 0x66 || op >= 0xf0;
		if (op >= 0xf2)
			r->rep = op;
	}
}

static unsigned int address_size(const struct insn_reader *r)
{
	return r->width == 64 ? 8u >> r->has_67 : (r->width == 32) != r->has_67 ? 4 : 2;
}

static bool is_16_bit(const struct insn_reader *r)
{
	return !r->is_wide && (r->width == 16) != r->has_66;
}

static void read_modrm(struct insn_reader *r)
{
	unsigned int mod, base;

	r->modrm = next_byte(r);
	mod = r->modrm >> 6;
	base = r->modrm & 7;
	if (mod == 3)
		return;
	if (address_size(r) == 2) {
		r->at += mod ? mod : base == 6 ? 2 : 0;
		return;
	}
	if (base == 4)
		base = next_byte(r) & 7; /* SIB */
	r->at += mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
}

static unsigned int imm_size(const struct insn_reader *r, enum imm imm)
{
	unsigned int z = is_16_bit(r) ? 2 : 4;

	switch (imm) {
	case IMM_0:
		return 0;
	case IMM_8:
		return 1;
	case IMM_16:
		return 2;
	case IMM_16_8:
		return 3;
	case IMM_32:
		return 4;
	case IMM_Z:
		return z;
	case IMM_V:
		return r->is_wide ? 8 : z;
	case IMM_REL:
		return r->width == 64 ? 4 : z;
	case IMM_FAR:
		return 2 + z;
	case IMM_MOFFS:
		return address_size(r);
	}
	return 0;
}

/* ---- VEX, EVEX, XOP: none of them changes the flow ---- */

/* Those of APX that were in the first map, or behind 0F. */
static enum imm promoted_imm(const struct insn_reader *r, uint8_t op)
{
	bool is_test = (r->modrm >> 3 & 7) < 2;

	switch (op) {
	case 0x24: /* SHLD */
	case 0x2c: /* SHRD */
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
		return IMM_8;
	case 0x69:
	case 0x81:
		return IMM_Z;
	case 0xf6:
		return is_test ? IMM_8 : IMM_0;
	case 0xf7:
		return is_test ? IMM_Z : IMM_0;
	default:
		return IMM_0;
	}
}

/* Behind the prefix, which named a map: the rest. False: there is no such map. */
static bool read_vector(struct insn_reader *r, unsigned int map)
{
	/* What each map has behind ModRM. The first: see below; XOP's are 8 to 10. */
	static const uint8_t imms[] = { [3] = IMM_8, [7] = IMM_32, [8] = IMM_8, [10] = IMM_32 };
	uint8_t op = next_byte(r);
	enum imm imm;

	if (!map || map >= ARRAY_SIZE(imms))
		return false;
	if (map == 1 && op == 0x77) /* VZEROUPPER */
		return true;
	read_modrm(r);
	imm = imms[map];
	if (map == 1 && two_byte_kind(op) == 'M')
		imm = IMM_8;
	if (map == 4)
		imm = promoted_imm(r, op);
	r->at += imm_size(r, imm);
	return true;
}

static bool read_evex(struct insn_reader *r)
{
	unsigned int map = next_byte(r) & 7;
	uint8_t second = next_byte(r);

	r->has_66 = (second & 3) == 1;
	r->is_wide = second >> 7;
	next_byte(r);
	return read_vector(r, map);
}

/* With three bytes; XOP is the same, with other maps. */
static bool read_vex(struct insn_reader *r, bool is_xop)
{
	unsigned int map = next_byte(r) & 31;

	next_byte(r);
	return (map >= 8) == is_xop && read_vector(r, map);
}

/*
 * Whether a prefix of that kind is at hand. The second byte tells it from LDS, LES and BOUND, which
 * 64-bit code does not have, and from POP.
 */
static bool is_vector(const struct insn_reader *r, uint8_t op)
{
	uint8_t second = r->at < r->n ? r->bytes[r->at] : 0;

	if (op == 0x8f)
		return (second & 31) >= 8;
	return (op == 0x62 || op == 0xc4 || op == 0xc5) && (r->width == 64 || second >= 0xc0);
}

static bool read_vector_of(struct insn_reader *r, uint8_t op)
{
	if (r->forbids_vex || r->rex)
		return false;
	switch (op) {
	case 0x62:
		return read_evex(r);
	case 0xc5:
		next_byte(r);
		return read_vector(r, 1);
	default:
		return read_vex(r, op == 0x8f);
	}
}

/* ---- */

/* Behind REX2; '-': none. A JMPABS has an absolute target, and a TIP all the same. */
static char rex2_kind(struct insn_reader *r, struct pt_insn *out)
{
	uint8_t prefix = next_byte(r), op = next_byte(r);
	bool is_second = prefix >> 7;

	if (r->rex)
		return '-';
	r->is_wide = prefix & 8;
	if (is_second)
		return op >> 4 == 3 || op >> 4 == 8 ? '-' : two_byte_kind(op);
	if (op == 0xa1 && !r->is_wide) {
		r->at += 8;
		out->end = PT_END_JUMP_INDIRECT;
		return '.';
	}
	return op >> 4 == 4 || op >> 4 == 7 || op >> 4 == 10 || op >> 4 == 14 ? '-'
									      : one_byte_kind(op);
}

/* The kind of an opcode; what is special about it in addition to its form is done. */
static char read_opcode(struct insn_reader *r, uint8_t op, struct pt_insn *out)
{
	if (op == 0xd5 && r->width == 64)
		return rex2_kind(r, out);
	if (op != 0x0f)
		return one_byte_kind(op);
	op = next_byte(r);
	if (op != 0x38 && op != 0x3a)
		return two_byte_kind(op);
	next_byte(r);
	return op == 0x38 ? 'm' : 'M';
}

/* False: it is undefined. */
static bool end_of_group_5(const struct insn_reader *r, struct pt_insn *out)
{
	static const uint8_t ends[8] = { [2] = PT_END_CALL_INDIRECT,
					 [3] = PT_END_FAR_CALL,
					 [4] = PT_END_JUMP_INDIRECT,
					 [5] = PT_END_FAR_JUMP };

	out->end = ends[r->modrm >> 3 & 7];
	return r->modrm < 0xf8 &&
	       !(r->modrm >= 0xc0 && (out->end == PT_END_FAR_CALL || out->end == PT_END_FAR_JUMP));
}

static enum pt_end end_of_group_7(const struct insn_reader *r)
{
	bool is_vm_entry = r->modrm == 0xc2 || r->modrm == 0xc3; /* VMLAUNCH, VMRESUME */
	bool is_eret = r->modrm == 0xca && r->rep;               /* ERETU, ERETS */
	bool is_uiret = r->modrm == 0xec && r->rep == 0xf3;
	/* SEAMCALL and SEAMRET enter and leave the TDX module, which is not traced. */
	bool is_seam = (r->modrm == 0xcf || r->modrm == 0xcd) && r->has_66 && !r->rep;

	if (is_seam && r->width == 64)
		return PT_END_VM_ENTRY;
	if (is_vm_entry && !r->rep && !r->has_66)
		return PT_END_VM_ENTRY;
	return r->width == 64 && (is_eret || is_uiret) ? PT_END_IRET : PT_END_FALL;
}

/* All behind the opcode. False: it is undefined. */
static bool read_operands(struct insn_reader *r, char kind, struct pt_insn *out)
{
	const struct form *form = &forms[(unsigned char)kind];
	unsigned int imm;

	if (!form->is_insn || (form->not_in_64 && r->width == 64))
		return false;
	if (form->has_modrm)
		read_modrm(r);
	imm = imm_size(r, form->imm);
	if (form->end)
		out->end = form->end;
	switch (kind) {
	case 't':
	case 'T':
		imm = (r->modrm >> 3 & 7) < 2 ? imm : 0;
		break;
	case 'x':
		imm = r->has_66 || r->rep == 0xf2 ? 2 : 0;
		break;
	case 'd':
		next_byte(r);
		break;
	case 'G':
		if (!end_of_group_5(r, out))
			return false;
		break;
	case 'V':
		out->end = (uint8_t)end_of_group_7(r);
		break;
	default:
		break;
	}
	r->at += imm;
	r->imm_size = (uint8_t)imm;
	out->is_direct =
		form->end == PT_END_COND || form->end == PT_END_JUMP || form->end == PT_END_CALL;
	return true;
}

static uint64_t read_distance(const struct insn_reader *r)
{
	const uint8_t *at = r->bytes + r->at - r->imm_size;
	int16_t word;
	int32_t dword;

	switch (r->imm_size) {
	case 1:
		return (uint64_t)(int8_t)*at;
	case 2:
		memcpy(&word, at, sizeof(word));
		return (uint64_t)word;
	default:
		memcpy(&dword, at, sizeof(dword));
		return (uint64_t)dword;
	}
}

bool pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *out)
{
	struct insn_reader r = { .bytes = bytes,
				 .n = (unsigned int)MIN(n, PT_INSN_MAX),
				 .width = width };
	struct pt_insn insn = { .end = PT_END_FALL };
	uint8_t op = read_prefixes(&r);

	assert(width == 16 || width == 32 || width == 64);
	if (is_vector(&r, op) ? !read_vector_of(&r, op)
			      : !read_operands(&r, read_opcode(&r, op, &insn), &insn))
		return false;
	if (r.at > r.n)
		return false;
	insn.size = (uint8_t)r.at;
	assert(insn.size && insn.size <= n);
	if (insn.is_direct) {
		insn.distance = read_distance(&r);
		insn.ip_bits = width == 64 ? 64 : is_16_bit(&r) ? 16 : 32;
	}
	*out = insn;
	return true;
}
