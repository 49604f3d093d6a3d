/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways out of HotSpot's frames on AArch64.
 *
 * Compiled methods have frames of a known size. The return address comes in the link register. The
 * frame keeps it with the caller's frame pointer in its two highest words.
 *
 *	sub sp,sp,#N                    or, if N is large:  stp x29,x30,[sp,#-16]!
 *	stp x29,x30,[sp,#N-16]                              sub sp,sp,#N-16
 *	…
 *	ldp x29,x30,[sp,#N-16]                              add sp,sp,#N-16
 *	add sp,sp,#N                                        ldp x29,x30,[sp],#16
 *	ldr x8,[x28,…]; cmp sp,x8; b.hi …                   a poll
 *	ret
 *
 * Stubs that keep a frame pointer begin with "stp x29,x30,[sp,#-16]!; mov x29,sp".
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "lang/aarch64.h"
#include "lang/hotspot.h"

#define INSN_SIZE 4

#define PUSH_PAIR    0xa9bf7bfd /* stp x29,x30,[sp,#-16]! */
#define POP_PAIR     0xa8c17bfd /* ldp x29,x30,[sp],#16 */
#define SET_FP       0x910003fd /* mov x29,sp */
#define SP_FROM_FP   0x910003bf /* mov sp,x29 */
#define SENDER_IN_19 0x910003f3 /* mov x19,sp */
#define SENDER_IN_13 0x910003ed /* mov x13,sp: before 18 */

#define ADDRESS_BITS ((UINT64_C(1) << 48) - 1) /* above them, a signature may be */

/* DWARF numbers. */
enum { X13 = 13, X19 = 19, X30 = 30 };

static bool is_stored_pair(uint32_t insn) /* stp x29,x30,[sp,#…] */
{
	return (insn & 0xffc07fff) == 0xa9007bfd;
}

/* A change of sp by a number of bytes, or by x8, whose value is not looked at. */
enum sp_change { SP_STAYS, SP_DOWN, SP_UP };

#define BY_X8 UINT32_MAX

static enum sp_change change_of_sp(uint32_t insn, uint32_t *bytes)
{
	bool is_number = (insn & 0xbf8003ff) == 0x910003ff;
	bool is_register = (insn & 0xbfe0ffff) == 0x8b2063ff;

	if (!is_number && !is_register)
		return SP_STAYS;
	*bytes = is_number ? (insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0) : BY_X8;
	return insn >> 30 & 1 ? SP_DOWN : SP_UP;
}

/* ---- code around an address ---- */

#define AROUND 128 /* instructions before an address, and as many from it on */

struct insns_around {
	uint32_t code[2 * AROUND];
	const uint32_t *pc; /* in them */
	size_t n_before, n;
};

/* Code that can't be read counts as no code. */
static void read_insns(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
		       struct insns_around *out)
{
	uint64_t before = MIN((pc - blob->code) / INSN_SIZE, (uint64_t)AROUND);
	uint64_t behind = MIN((blob->code_end - pc) / INSN_SIZE, (uint64_t)AROUND);

	out->pc = out->code + before;
	out->n_before = before;
	out->n = behind;
	if (!lang_read(&h->memory, pc - before * INSN_SIZE, out->code,
		       (size_t)(before + behind) * INSN_SIZE))
		out->n_before = out->n = 0;
}

static uint32_t insn_before(const struct insns_around *c, size_t i)
{
	return i <= c->n_before ? *(c->pc - i) : 0;
}

/* ---- frames of a known size ---- */

static struct hotspot_leave by_link(uint32_t words)
{
	return (struct hotspot_leave){ HOTSPOT_BY_LINK, words };
}

/* By the i-th instruction before, if that one says it. */
static bool leave_behind(const struct hotspot_blob *blob, const struct insns_around *c, size_t i,
			 struct hotspot_leave *out)
{
	struct hotspot_leave by_size = { HOTSPOT_BY_SIZE, blob->frame_size };
	uint32_t insn = insn_before(c, i), size = blob->frame_size * 8, bytes;
	bool is_large;

	*out = by_size;
	if (insn == POP_PAIR) {
		*out = by_link(0);
		return true;
	}
	if (insn == PUSH_PAIR) {
		out->way = i > 1 && insn_before(c, i - 1) == SET_FP ? HOTSPOT_BY_FP
								    : HOTSPOT_BEHIND_FP;
		return true;
	}
	if (insn == SP_FROM_FP) {
		out->way = HOTSPOT_BEHIND_FP;
		return true;
	}
	switch (change_of_sp(insn, &bytes)) {
	case SP_STAYS:
		return is_stored_pair(insn) || aarch64_calls(insn);
	case SP_DOWN:
		is_large = bytes == BY_X8 || bytes == size - 16;
		*out = is_large ? by_size : by_link(blob->frame_size);
		return is_large || bytes == size;
	case SP_UP:
		is_large = bytes == BY_X8 || bytes == size - 16;
		*out = by_link(0);
		if (is_large)
			out->way = HOTSPOT_BEHIND_FP;
		return is_large || bytes == size;
	}
	return false;
}

#define LOOKED_BACK 32 /* instructions */

/* Whether two instructions are adr x8,…; str x8,[x28,…]. */
static bool notes_poll(uint32_t first, uint32_t second)
{
	return (first & 0x9f00001f) == 0x10000008 && (second & 0xffc003ff) == 0xf9000388;
}

/*
 * Code behind a method, for a poll at its return that found a request: it notes the poll's address,
 * and jumps. The frame has gone.
 */
static bool is_poll_at_return(const struct insns_around *c)
{
	if (c->n > 1 && notes_poll(c->pc[0], c->pc[1]))
		return true;
	for (size_t i = 1; i < 5 && c->n && !aarch64_ends_code(insn_before(c, i)); i++)
		if (notes_poll(insn_before(c, i), c->pc[1 - (ptrdiff_t)i]))
			return true;
	return false;
}

static struct hotspot_leave leave_of_sized(const struct hotspot_blob *blob, uint64_t pc,
					   const struct insns_around *c)
{
	struct hotspot_leave leave;

	for (size_t i = 1; i <= LOOKED_BACK && i <= c->n_before; i++) {
		if (aarch64_ends_code(insn_before(c, i)))
			break;
		if (leave_behind(blob, c, i, &leave))
			return leave;
	}
	if (pc - blob->code < blob->complete || is_poll_at_return(c))
		return by_link(0);
	return (struct hotspot_leave){ HOTSPOT_BY_SIZE, blob->frame_size };
}

/* ---- stubs ---- */

/*
 * Whether code of stubs has made a frame with a frame pointer. The code that it goes on to says so:
 * all ways from here on take the frame away, or none does.
 */
static bool has_made_frame(const struct insns_around *c)
{
	int64_t at = (int64_t)c->n_before, end = (int64_t)(c->n_before + c->n);

	for (int steps = 0; steps < 2 * AROUND && at >= 0 && at < end; steps++) {
		uint32_t insn = c->code[at];

		if (insn == POP_PAIR || insn == SP_FROM_FP)
			return true;
		if (insn == PUSH_PAIR)
			return false;
		if ((insn & 0xfc000000) == 0x14000000)
			at += (int32_t)(insn << 6) >> 6;
		else if (aarch64_ends_code(insn))
			return false;
		else
			at++;
	}
	return false;
}

static uint32_t leaves_of_stubs(const struct insns_around *c,
				struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	out[0] = by_link(0);
	if (insn_before(c, 1) == PUSH_PAIR) {
		out[0].way = HOTSPOT_BEHIND_FP;
		return 1;
	}
	if (has_made_frame(c)) {
		out[0].way = HOTSPOT_BY_FP;
		return 1;
	}
	out[1].way = HOTSPOT_BY_OTHER_FP; /* a part that others call: the frame is theirs */
	return 2;
}

/* Adapters from compiled to interpreted code make room for words, and keep the sender's sp. */
static struct hotspot_leave leave_of_adapter(const struct insns_around *c)
{
	for (size_t i = 1; i <= c->n_before; i++) {
		uint32_t insn = insn_before(c, i);

		if (insn == SENDER_IN_19 || insn == SENDER_IN_13)
			return (struct hotspot_leave){ HOTSPOT_BY_REGISTER,
						       insn == SENDER_IN_19 ? X19 : X13 };
		if (aarch64_ends_code(insn))
			break;
	}
	return by_link(0);
}

/* ---- interpreted frames ---- */

/* stp xzr,x19,[sp,#64]: the last two words of a frame that is being made; before 18, x13. */
#define MAKES_LAST    0xa9044fff
#define MAKES_LAST_13 0xa90437ff
#define MAKING_INSNS  10

/* The new frame is at the frame pointer, and lacks its last words: add x29,sp,… was before. */
static bool is_being_made(const struct insns_around *c)
{
	for (size_t i = 0; i < MAKING_INSNS && i < c->n; i++) {
		if (c->pc[i] == MAKES_LAST || c->pc[i] == MAKES_LAST_13)
			return true;
		if (aarch64_ends_code(c->pc[i]) || (c->pc[i] & 0xffc003ff) == SET_FP)
			return false;
	}
	return false;
}

/* The caller's sp is in a word of the frame, if compiled code called it; else it is not needed. */
static uint32_t leaves_of_interpreted(bool is_made, struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	uint32_t n = 0;

	if (is_made)
		out[n++].way = HOTSPOT_BY_SENDER;
	out[n++].way = HOTSPOT_BY_FP;
	return n;
}

uint32_t hotspot_leaves_aarch64(const struct hotspot *h, const struct hotspot_blob *blob,
				uint64_t pc, bool is_leaf,
				struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	struct insns_around c = { 0 };

	memset(out, 0, sizeof(*out) * HOTSPOT_LEAVES_MAX);
	if (is_leaf)
		read_insns(h, blob, pc, &c);
	switch (blob->kind) {
	case HOTSPOT_INTERPRETER:
		return leaves_of_interpreted(!is_being_made(&c), out);
	case HOTSPOT_STUBS:
		if (is_leaf)
			return leaves_of_stubs(&c, out);
		out[0].way = HOTSPOT_BY_FP;
		return 1;
	case HOTSPOT_FRAMELESS: /* they call nothing */
		if (is_leaf)
			out[0] = leave_of_adapter(&c);
		return is_leaf;
	default:
		out[0] = (struct hotspot_leave){ HOTSPOT_BY_SIZE, blob->frame_size };
		if (is_leaf)
			out[0] = leave_of_sized(blob, pc, &c);
		return 1;
	}
}

/* Behind a call, the caller takes its own sp back, and clears it in the frame. */
static bool has_returned(const struct hotspot *h, uint64_t pc)
{
	static const uint32_t insns[] = {
		0xf85f03b4, /* before 21: ldur x20,[x29,#-16] */
		0xf85f03a8, /* ldur x8,[x29,#-16] */
		0x8b286fb4, /* add x20,x29,x8,uxtx #3 */
		0xf81f03bf, /* stur xzr,[x29,#-16] */
	};
	uint32_t insn;

	if (!lang_read(&h->memory, pc, &insn, sizeof(insn)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++)
		if (insn == insns[i])
			return true;
	return false;
}

/*
 * While a method's frame is not made yet, and when it was left, the link register has the address
 * behind the call. If interpreted code called, then its frame is at the frame pointer.
 */
bool hotspot_is_innermost_aarch64(const struct hotspot *h, uint64_t pc, uint64_t last_sp,
				  const uint64_t *registers, enum hotspot_answer *returned)
{
	struct hotspot_blob blob = { .code = pc, .code_end = pc + MAKING_INSNS * INSN_SIZE };
	struct insns_around c;

	if (!last_sp)
		return true;
	if (*returned == HOTSPOT_NOT_ASKED) {
		read_insns(h, &blob, pc, &c);
		*returned = has_returned(h, pc) || is_being_made(&c) ? HOTSPOT_YES : HOTSPOT_NO;
	}
	return *returned == HOTSPOT_YES || has_returned(h, registers[X30] & ADDRESS_BITS);
}
