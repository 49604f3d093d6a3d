/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel Processor Trace packets: bytes to struct pt_packet, one at a time.
 *
 * Formats: Intel SDM volume 3, chapter "Intel Processor Trace", section "Packet Definitions".
 * The reader's only state is `enum pt_block`: inside a BBP…BEP block, some bytes that would be TNTs
 * are items. The code that follows the trace expands last-IP compression with pt_last_ip(), because
 * the flow decides when last-IP is reset.
 *
 * Runs of TNT packets, most of a trace's bytes, are better taken with pt_tnt_collect().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* X(id, name): the name is perf's. */
#define PT_PACKETS(X)             \
	X(PAD, "PAD")             \
	X(TNT, "TNT")             \
	X(TIP, "TIP")             \
	X(TIP_PGE, "TIP.PGE")     \
	X(TIP_PGD, "TIP.PGD")     \
	X(FUP, "FUP")             \
	X(PIP, "PIP")             \
	X(VMCS, "VMCS")           \
	X(TSC, "TSC")             \
	X(TMA, "TMA")             \
	X(MTC, "MTC")             \
	X(CYC, "CYC")             \
	X(CBR, "CBR")             \
	X(MODE_EXEC, "MODE.Exec") \
	X(MODE_TSX, "MODE.TSX")   \
	X(PSB, "PSB")             \
	X(PSBEND, "PSBEND")       \
	X(OVF, "OVF")             \
	X(TRACESTOP, "TraceSTOP") \
	X(MNT, "MNT")             \
	X(PTWRITE, "PTWRITE")     \
	X(EXSTOP, "EXSTOP")       \
	X(MWAIT, "MWAIT")         \
	X(PWRE, "PWRE")           \
	X(PWRX, "PWRX")           \
	X(BBP, "BBP")             \
	X(BIP, "BIP")             \
	X(BEP, "BEP")             \
	X(CFE, "CFE")             \
	X(EVD, "EVD")             \
	X(TRIG, "TRIG")

enum pt_type {
#define X(id, name) PT_##id,
	PT_PACKETS(X)
#undef X
		N_PT_TYPES
};

extern const char *const pt_type_names[N_PT_TYPES];

/* The IPBytes field of TIP, TIP.PGE, TIP.PGD and FUP; 5 and 7 are reserved. */
enum pt_ip_form {
	PT_IP_NONE = 0,      /* out of context: no address */
	PT_IP_16 = 1,        /* the low 16 bits; the rest is last-IP's */
	PT_IP_32 = 2,        /* the low 32 bits */
	PT_IP_48_SIGNED = 3, /* 48 bits, sign-extended */
	PT_IP_48 = 4,        /* 48 bits below last-IP's upper 16 */
	PT_IP_64 = 6,
};

/* What the bytes between BBP and BEP are (PEBS records in the trace). */
enum pt_block { PT_NO_BLOCK, PT_BLOCK_4, PT_BLOCK_8 };

enum { PT_PSB_SIZE = 16, PT_PACKET_MAX = 16 };

struct pt_packet {
	uint8_t type; /* enum pt_type */
	uint8_t size; /* in bytes */
	/*
	 * TNT: bits. IP packets: enum pt_ip_form. TMA: the fast counter. BBP: 1 when items have
	 * 4 bytes. BIP: the item's id. CFE, EVD: type. TRIG: TRBV. MODE.Exec: IF.
	 */
	uint16_t count;
	/*
	 * PTWRITE, EXSTOP, BEP, CFE, TRIG: a FUP with its address follows. PIP: non-root (NR).
	 * TMA: reserved bits are set (SKZ84: in guests whose TSC is scaled).
	 */
	bool flag;
	/*
	 * TNT: its bits, the oldest at bit 63, 1 for taken. TMA: CTC. MODE.Exec: 16, 32 or 64.
	 * MODE.TSX: bit 0 InTX, bit 1 TXAbort. PIP: CR3 without its low 5 bits, shifted right
	 * by 5. BBP: type. TRIG: bit 21 MULT, bit 22 ICNT is valid, the low 16 bits ICNT.
	 * The others: the bytes behind the opcode as a number.
	 */
	uint64_t payload;
};

enum { PT_MTC_SIZE = 2, PT_MTC_BYTE = 0x59 };

#define PT_TRIG_MULT  (1u << 21)
#define PT_TRIG_ICNTV (1u << 22)

/*
 * Reads the packet at `at`. Returns its size. -EBADMSG: the bytes are no packet. -ENODATA: the
 * packet goes on beyond `end`, or at == end. *out and *block are set only on success.
 */
int pt_packet_read(const uint8_t *at, const uint8_t *end, enum pt_block *block,
		   struct pt_packet *out);

/*
 * The same of an MTC alone, outside of a BBP block. Returns its size; 0: there is another packet.
 * Most packets that are neither TNTs nor TIPs are MTCs.
 */
static inline int pt_mtc_read(const uint8_t *at, const uint8_t *end, struct pt_packet *out)
{
	if (end - at < PT_MTC_SIZE || *at != PT_MTC_BYTE)
		return 0;
	*out = (struct pt_packet){ .type = PT_MTC, .payload = at[1] };
	return PT_MTC_SIZE;
}

/*
 * Whether the second byte of a CYC packet is an OVF's first, whose second byte then reads as
 * another CYC: PT_ERRATUM_OVF_IN_CYC. Elsewhere, two CYCs follow each other only where the counter
 * is full.
 */
static inline bool pt_cyc_has_ovf(const uint8_t *at, const uint8_t *end)
{
	return end - at > 2 && (at[0] & 7) == 7 && at[1] == 0x02 && at[2] == 0xf3;
}

/* The first PSB at or behind `at`, or `end`. The SDM's way to (re)gain synchronisation. */
const uint8_t *pt_find_psb(const uint8_t *at, const uint8_t *end);

/* The same where bytes follow: also the first of the last bytes before `end` that may begin one. */
const uint8_t *pt_find_psb_begin(const uint8_t *at, const uint8_t *end);

/* The address that an IP packet means, given the last one; unchanged for PT_IP_NONE. */
static inline uint64_t pt_last_ip(uint64_t last_ip, unsigned int form, uint64_t payload)
{
	switch (form) {
	case PT_IP_16:
		return (last_ip & ~0xffffULL) | payload;
	case PT_IP_32:
		return (last_ip & ~0xffffffffULL) | payload;
	case PT_IP_48_SIGNED:
		return (uint64_t)((int64_t)(payload << 16) >> 16);
	case PT_IP_48:
		return (last_ip & 0xffff000000000000ULL) | payload;
	case PT_IP_64:
		return payload;
	default:
		return last_ip;
	}
}

enum { PT_TIP_ROOM = 9 };

/*
 * Reads the TIP at `at`, where PT_TIP_ROOM bytes can be read: the address becomes *last_ip. Returns
 * its size; 0: there is another packet, or a TIP without an address. No jump depends on its form.
 */
static inline size_t pt_tip_read(const uint8_t *at, uint64_t *last_ip)
{
	static const struct {
		uint64_t mask;
		uint8_t size, sign;
	} forms[8] = { [PT_IP_16] = { 0xffff, 3, 0 },
		       [PT_IP_32] = { 0xffffffff, 5, 0 },
		       [PT_IP_48_SIGNED] = { 0xffffffffffff, 7, 16 },
		       [PT_IP_48] = { 0xffffffffffff, 7, 0 },
		       [PT_IP_64] = { UINT64_MAX, 9, 0 } };
	unsigned int form = *at ^ 0x0d;
	uint64_t payload;

	if (form & 0x1f)
		return 0;
	form >>= 5;
	memcpy(&payload, at + 1, sizeof(payload));
	payload = *last_ip ^ ((*last_ip ^ payload) & forms[form].mask);
	*last_ip = (uint64_t)((int64_t)(payload << forms[form].sign) >> forms[form].sign);
	return forms[form].size;
}

/* Up to 64 branches' directions, the oldest at bit 63; the bits below `n` are zero. */
struct pt_tnt {
	uint64_t bits;
	uint32_t n;
};

static inline bool pt_is_short_tnt(uint8_t byte)
{
	return !(byte & 1) && byte > 2;
}

/* While no more bits than these are there, any TNT packet, and eight full short ones, fit. */
enum { PT_TNT_ROOM = 16 };

/*
 * Appends the TNT packets that follow until more than PT_TNT_ROOM bits are there, and steps over
 * PADs among them. Returns where it stopped: there, at another packet, at a cut one, or at
 * `end`. Not to be used inside a BBP block.
 */
const uint8_t *pt_tnt_collect(const uint8_t *at, const uint8_t *end, struct pt_tnt *tnt);
