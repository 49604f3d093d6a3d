/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/packet.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

const char *const pt_type_names[N_PT_TYPES] = {
#define X(id, name) name,
	PT_PACKETS(X)
#undef X
};

/*
 * `n` ≤ 8 bytes as a little-endian number; `left` ≥ n bytes can be read. Without a constant length,
 * memcpy() is a call. That call took a third of the time of reading packets.
 */
static inline uint64_t load(const uint8_t *at, size_t n, size_t left)
{
	uint64_t v = 0;

	if (left < 8) {
		for (size_t i = 0; i < n; i++)
			v |= (uint64_t)at[i] << 8 * i;
		return v;
	}
	memcpy(&v, at, 8);
	return n ? v & ~0ULL >> (64 - 8 * n) : 0;
}

static const uint8_t psb_bytes[PT_PSB_SIZE] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
						2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

/*
 * Packets of two opcode bytes, 0x02 and the index. The payload is all bytes between the opcode and
 * the end, unless finish_extended() changes it. Size 0: no such packet.
 */
struct shape {
	uint8_t type, size;
	bool flag;
};

static const struct shape extended[256] = {
	[0x03] = { PT_CBR, 4 },           [0x12] = { PT_PTWRITE, 6 },
	[0x13] = { PT_CFE, 4 },           [0x22] = { PT_PWRE, 4 },
	[0x23] = { PT_PSBEND, 2 },        [0x32] = { PT_PTWRITE, 10 },
	[0x33] = { PT_BEP, 2 },           [0x43] = { PT_PIP, 8 },
	[0x53] = { PT_EVD, 11 },          [0x62] = { PT_EXSTOP, 2 },
	[0x63] = { PT_BBP, 3 },           [0x73] = { PT_TMA, 7 },
	[0x82] = { PT_PSB, PT_PSB_SIZE }, [0x83] = { PT_TRACESTOP, 2 },
	[0x92] = { PT_PTWRITE, 6, true }, [0xa2] = { PT_PWRX, 7 },
	[0xa3] = { PT_TNT, 8 },           [0xb2] = { PT_PTWRITE, 10, true },
	[0xb3] = { PT_BEP, 2, true },     [0xc2] = { PT_MWAIT, 10 },
	[0xc3] = { PT_MNT, 11 },          [0xc8] = { PT_VMCS, 7 },
	[0xe2] = { PT_EXSTOP, 2, true },  [0xf3] = { PT_OVF, 2 },
};

/* A packet ends a block of items unless it is one of those that may lie inside. */
#define INSIDE_BLOCK                                                                               \
	(1u << PT_PAD | 1u << PT_TSC | 1u << PT_TMA | 1u << PT_MTC | 1u << PT_FUP | 1u << PT_CYC | \
	 1u << PT_CBR | 1u << PT_MNT | 1u << PT_EXSTOP | 1u << PT_PWRE | 1u << PT_PWRX |           \
	 1u << PT_BIP)

/* The directions below the stop bit, which is the highest one, moved up to bit 63. */
static void set_tnt(struct pt_packet *out, uint64_t bits_and_stop)
{
	unsigned int above = bits_and_stop ? (unsigned int)__builtin_clzll(bits_and_stop) : 63;

	out->count = (uint16_t)(63 - above);
	out->payload = above == 63 ? 0 : bits_and_stop << (above + 1);
}

static int finish_extended(const uint8_t *at, struct pt_packet *out)
{
	switch (out->type) {
	case PT_TNT:
		set_tnt(out, out->payload);
		break;
	case PT_PIP:
		out->flag = out->payload & 1;
		out->payload >>= 1;
		break;
	case PT_TMA:
		out->payload = load(at + 2, 2, 2);
		out->count = (uint16_t)(load(at + 5, 2, 2) & 0x1ff);
		out->flag = at[4] || at[6] & 0xfe;
		break;
	case PT_PSB:
		if (memcmp(at, psb_bytes, PT_PSB_SIZE) != 0)
			return -EBADMSG;
		out->payload = 0;
		break;
	case PT_MNT:
		if (at[2] != 0x88)
			return -EBADMSG;
		out->payload = load(at + 3, 8, 8);
		break;
	case PT_BBP:
		out->count = at[2] >> 7;
		out->payload = at[2] & 0x1f;
		break;
	case PT_CFE:
		out->flag = at[2] & 0x80;
		out->count = at[2] & 0x1f;
		out->payload = at[3];
		break;
	case PT_EVD:
		out->count = at[2] & 0x3f;
		out->payload = load(at + 3, 8, 8);
		break;
	default:
		break;
	}
	return out->size;
}

static int read_extended(const uint8_t *at, size_t left, struct pt_packet *out)
{
	const struct shape *shape;

	if (left < 2)
		return -ENODATA;
	shape = &extended[at[1]];
	if (!shape->size || (shape->type == PT_MNT && left > 2 && at[2] != 0x88))
		return -EBADMSG;
	if (left < shape->size)
		return -ENODATA;
	*out = (struct pt_packet){ .type = shape->type, .size = shape->size, .flag = shape->flag };
	out->payload = load(at + 2, shape->size > 10 ? 8 : shape->size - 2u, left - 2);
	return finish_extended(at, out);
}

static int read_cyc(const uint8_t *at, size_t left, struct pt_packet *out)
{
	uint64_t cycles = at[0] >> 3;
	bool more = at[0] & 4;
	uint8_t size = 1;

	/* Nine bytes more carry 5 + 63 bits: what does not fit in 64 is not a count. */
	for (unsigned int shift = 5; more; shift += 7) {
		if (size > 9)
			return -EBADMSG;
		if (left <= size)
			return -ENODATA;
		cycles |= (uint64_t)(at[size] >> 1) << shift;
		more = at[size++] & 1;
	}
	*out = (struct pt_packet){ .type = PT_CYC, .size = size, .payload = cycles };
	return size;
}

static int read_ip(enum pt_type type, const uint8_t *at, size_t left, struct pt_packet *out)
{
	static const uint8_t bytes[8] = { 0, 2, 4, 6, 6, 0, 8, 0 };
	unsigned int form = at[0] >> 5;

	if (form == 5 || form == 7)
		return -EBADMSG;
	if (left < 1u + bytes[form])
		return -ENODATA;
	*out = (struct pt_packet){ .type = (uint8_t)type,
				   .size = (uint8_t)(1 + bytes[form]),
				   .count = (uint16_t)form,
				   .payload = load(at + 1, bytes[form], left - 1) };
	return out->size;
}

static int read_mode(const uint8_t *at, size_t left, struct pt_packet *out)
{
	static const uint8_t width[] = { 16, 64, 32 };
	unsigned int low;

	if (left < 2)
		return -ENODATA;
	low = at[1] & 3;
	if (low == 3 || at[1] >> 5 > 1)
		return -EBADMSG;
	*out = (struct pt_packet){ .size = 2 };
	if (at[1] >> 5) {
		out->type = PT_MODE_TSX;
		out->payload = low;
	} else {
		out->type = PT_MODE_EXEC;
		out->payload = width[low];
		out->count = at[1] >> 2 & 1;
	}
	return 2;
}

static int read_trig(const uint8_t *at, size_t left, struct pt_packet *out)
{
	uint8_t size;

	if (left < 2)
		return -ENODATA;
	size = at[1] & 0x40 ? 5 : 3;
	if (left < size)
		return -ENODATA;
	*out = (struct pt_packet){ .type = PT_TRIG,
				   .size = size,
				   .count = at[2],
				   .flag = at[1] & 0x80,
				   .payload = (uint64_t)(at[1] & 0x60) << 16 };
	if (size == 5)
		out->payload |= load(at + 3, 2, 2);
	return size;
}

static int read_fixed(enum pt_type type, uint8_t size, const uint8_t *at, size_t left,
		      struct pt_packet *out)
{
	if (left < size)
		return -ENODATA;
	*out = (struct pt_packet){ .type = (uint8_t)type,
				   .size = size,
				   .payload = load(at + 1, size - 1u, left - 1) };
	return size;
}

/* Opcodes of an odd first byte; 0x02 and the TNTs are even. */
static int read_odd(const uint8_t *at, size_t left, struct pt_packet *out)
{
	if (at[0] & 2)
		return read_cyc(at, left, out);
	switch (at[0] & 0x1f) {
	case 0x0d:
		return read_ip(PT_TIP, at, left, out);
	case 0x11:
		return read_ip(PT_TIP_PGE, at, left, out);
	case 0x01:
		return read_ip(PT_TIP_PGD, at, left, out);
	case 0x1d:
		return read_ip(PT_FUP, at, left, out);
	}
	switch (at[0]) {
	case 0x99:
		return read_mode(at, left, out);
	case 0x19:
		return read_fixed(PT_TSC, 8, at, left, out);
	case 0x59:
		return read_fixed(PT_MTC, 2, at, left, out);
	case 0xd9:
		return read_trig(at, left, out);
	}
	return -EBADMSG;
}

static int read_item(const uint8_t *at, size_t left, enum pt_block block, struct pt_packet *out)
{
	int size = read_fixed(PT_BIP, block == PT_BLOCK_4 ? 5 : 9, at, left, out);

	if (size > 0)
		out->count = at[0] >> 3;
	return size;
}

static int read_any(const uint8_t *at, size_t left, enum pt_block block, struct pt_packet *out)
{
	if (block != PT_NO_BLOCK && (at[0] & 7) == 4)
		return read_item(at, left, block, out);
	if (at[0] & 1)
		return read_odd(at, left, out);
	if (at[0] == 2)
		return read_extended(at, left, out);
	*out = (struct pt_packet){ .type = at[0] ? PT_TNT : PT_PAD, .size = 1 };
	if (at[0])
		set_tnt(out, at[0] >> 1);
	return 1;
}

int pt_packet_read(const uint8_t *at, const uint8_t *end, enum pt_block *block,
		   struct pt_packet *out)
{
	int size;

	if (at >= end)
		return -ENODATA;
	size = read_any(at, (size_t)(end - at), *block, out);
	if (size < 0)
		return size;
	if (out->type == PT_BBP)
		*block = out->count ? PT_BLOCK_4 : PT_BLOCK_8;
	else if (!(INSIDE_BLOCK >> out->type & 1))
		*block = PT_NO_BLOCK;
	return size;
}

/*
 * Packets before a PSB may end with its first bytes: a CYC with 02, and a TNT of 82. So of a row of
 * such pairs, the last ones are the PSB. Of three PSBs in a row, any place is as good.
 */
static const uint8_t *skip_pairs_before(const uint8_t *psb, const uint8_t *end)
{
	enum { PAIRS = PT_PSB_SIZE / 2 };
	const uint8_t *behind = psb + PT_PSB_SIZE;
	size_t n = 0;

	for (; n < 2 * PAIRS && end - behind >= 2 && !memcmp(behind, psb_bytes, 2); n++)
		behind += 2;
	return n < 2 * PAIRS ? psb + 2 * (n % PAIRS) : psb;
}

const uint8_t *pt_find_psb(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *found =
		at < end ? memmem(at, (size_t)(end - at), psb_bytes, sizeof(psb_bytes)) : NULL;

	return found ? skip_pairs_before(found, end) : end;
}

const uint8_t *pt_find_psb_begin(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *psb = pt_find_psb(at, end);

	if (psb < end)
		return psb;
	psb -= MIN((size_t)(end - at), sizeof(psb_bytes) - 1);
	while (memcmp(psb, psb_bytes, (size_t)(end - psb)) != 0)
		psb++;
	return psb;
}

/*
 * Reads the full short TNTs (six directions a byte) at the begin of the next eight bytes. Busy
 * loops give such TNTs. The first byte becomes the highest, and the groups of 6, 12 and 24 bits
 * move together: the bits are then in the order of time. No step depends on the number of TNTs, so
 * the processor mispredicts only the end of a run. Returns how many.
 */
static uint32_t full_tnts(const uint8_t *at, uint64_t *bits)
{
	uint64_t v, other;
	uint32_t n;

	memcpy(&v, at, 8);
	other = (v & 0x8181818181818181ULL) ^ 0x8080808080808080ULL;
	n = other ? (uint32_t)__builtin_ctzll(other) / 8 : 8;
	v = __builtin_bswap64(v) >> 1 & 0x3f3f3f3f3f3f3f3fULL;
	v = (v & 0x003f003f003f003fULL) | (v & 0x3f003f003f003f00ULL) >> 2;
	v = (v & 0x00000fff00000fffULL) | (v & 0x0fff00000fff0000ULL) >> 4;
	v = (v & 0x0000000000ffffffULL) | (v & 0x00ffffff00000000ULL) >> 8;
	*bits = v << 16 & ~(~0ULL >> 6 * n);
	return n;
}

static void append(struct pt_tnt *tnt, uint64_t bits, uint32_t count)
{
	if (count)
		tnt->bits |= bits >> tnt->n;
	tnt->n += count;
}

static uint32_t short_tnt_count(uint8_t byte)
{
	return pt_is_short_tnt(byte) ? 30 - (uint32_t)__builtin_clz(byte) : 0;
}

/*
 * Full TNTs and the one behind them that is not: a TNT is flushed partly filled when another packet
 * is to follow. Returns whether there was one.
 */
static bool take_eight(const uint8_t **at, struct pt_tnt *tnt)
{
	uint64_t bits;
	uint32_t n = full_tnts(*at, &bits), count;

	tnt->bits |= bits >> tnt->n;
	tnt->n += 6 * n;
	*at += n;
	if (n == 8)
		return true;
	count = short_tnt_count(**at);
	append(tnt, count ? (uint64_t) * *at << (63 - count) : 0, count);
	*at += count != 0;
	return count;
}

const uint8_t *pt_tnt_collect(const uint8_t *at, const uint8_t *end, struct pt_tnt *out)
{
	struct pt_tnt tnt = *out; /* in registers */
	struct pt_packet p;

	while (at < end && tnt.n <= PT_TNT_ROOM) {
		uint32_t count;

		if (*at & 1)
			break;
		if (end - at > 8 && take_eight(&at, &tnt))
			continue;
		if (tnt.n > PT_TNT_ROOM)
			break;
		count = short_tnt_count(*at);
		if (count) {
			append(&tnt, (uint64_t)*at << (63 - count), count);
			at++;
		} else if (*at == 0) {
			at++;
		} else {
			if (*at != 2 || end - at < 8 || at[1] != 0xa3)
				break;
			read_extended(at, 8, &p);
			append(&tnt, p.payload, p.count);
			at += 8;
		}
	}
	*out = tnt;
	return at;
}
