/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways out of HotSpot's frames on x86-64.
 *
 * Compiled methods keep no frame pointer, but have frames of a known size, from the end of their
 * beginning (`complete`) on:
 *
 *	mov %eax,-0x14000(%rsp)     the stack's guard
 *	push %rbp                   or: sub $N,%rsp; mov %rbp,N-16(%rsp)
 *	sub $N,%rsp
 *	…
 *	add $N,%rsp
 *	pop %rbp
 *	cmp …(%r15),%rsp; ja …      a poll: the stack is as at the return
 *	ret
 */
#include <string.h>

#include "base/mem.h"
#include "lang/hotspot.h"

#define BEFORE 16 /* bytes of code before an instruction that are looked at … */
#define BEHIND 16 /* … and from it on */

struct code_around {
	uint8_t bytes[BEFORE + BEHIND];
	const uint8_t *pc; /* in them */
	size_t n_before, n;
};

static void read_around(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			struct code_around *out)
{
	uint64_t start = pc - blob->code > BEFORE ? pc - BEFORE : blob->code;
	uint64_t end = blob->code_end - pc > BEHIND ? pc + BEHIND : blob->code_end;

	memset(out->bytes, 0, sizeof(out->bytes));
	out->n_before = (size_t)(pc - start);
	out->pc = out->bytes + BEFORE;
	out->n = (size_t)(end - pc);
	if (!lang_read(&h->memory, start, out->bytes + BEFORE - out->n_before,
		       (size_t)(end - start)))
		out->n_before = out->n = 0;
}

#define RET      0xc3
#define POP_RBP  0x5d
#define PUSH_RBP 0x55

/* A poll: cmp %rsp with a field of the thread, or a load through a page that can be closed. */
static size_t poll_at(const uint8_t *at, size_t n)
{
	if (n >= 4 && at[0] == 0x49 && at[1] == 0x3b && at[2] == 0x67)
		return 4; /* cmp off8(%r15),%rsp */
	if (n >= 7 && at[0] == 0x49 && at[1] == 0x3b && at[2] == 0xa7)
		return 7; /* cmp off32(%r15),%rsp */
	if (n >= 6 && at[0] == 0x85 && at[1] == 0x05)
		return 6; /* 8: test %eax,off32(%rip) */
	return 0;
}

static bool is_ja(const uint8_t *at, size_t n)
{
	return n >= 7 && at[0] == 0x0f && at[1] == 0x87 && at[6] == RET;
}

/* At the instructions behind `pop %rbp`. */
static bool is_popped(const struct code_around *c)
{
	size_t n = poll_at(c->pc, c->n);

	if (c->n && c->pc[0] == RET)
		return true;
	if (n && c->n_before && c->pc[-1] == POP_RBP)
		return true;
	if (!is_ja(c->pc, c->n))
		return false;
	return (c->n_before >= 5 && c->pc[-5] == POP_RBP && poll_at(c->pc - 4, 4) == 4) ||
	       (c->n_before >= 8 && c->pc[-8] == POP_RBP && poll_at(c->pc - 7, 7) == 7);
}

static bool is_at_pop(const struct code_around *c)
{
	return c->n >= 2 && c->pc[0] == POP_RBP &&
	       (c->pc[1] == RET || poll_at(c->pc + 1, c->n - 1));
}

/* Between `push %rbp` and the end of the beginning: `sub` on %rsp, or `mov %rsp,%rbp` before it. */
static bool is_pushed(const struct code_around *c)
{
	return c->n_before && c->pc[-1] == PUSH_RBP && c->n >= 3 && c->pc[0] == 0x48 &&
	       ((c->pc[1] == 0x81 && c->pc[2] == 0xec) || (c->pc[1] == 0x83 && c->pc[2] == 0xec) ||
		(c->pc[1] == 0x8b && c->pc[2] == 0xec));
}

/* Whether `sub …,%rsp` is among the last instructions before: the frame has its size. */
static bool is_made(const struct code_around *c)
{
	for (size_t i = 4; i <= c->n_before; i++) {
		const uint8_t *at = c->pc - i;

		if (at[0] == 0x48 && at[2] == 0xec && (at[1] == 0x83 || (at[1] == 0x81 && i >= 7)))
			return true;
	}
	return false;
}

static enum hotspot_way likely_way(const struct hotspot_blob *blob, uint64_t pc,
				   const struct code_around *c)
{
	if (is_popped(c))
		return HOTSPOT_AT_TOP;
	if (is_at_pop(c) || is_pushed(c))
		return HOTSPOT_BEHIND_FP;
	if (pc - blob->code >= blob->complete || is_made(c))
		return HOTSPOT_BY_SIZE;
	return HOTSPOT_AT_TOP;
}

static uint32_t leaves_of_method(const struct hotspot *h, const struct hotspot_blob *blob,
				 uint64_t pc, struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	static const enum hotspot_way ways[] = { HOTSPOT_BY_SIZE, HOTSPOT_AT_TOP,
						 HOTSPOT_BEHIND_FP };
	struct code_around c;
	uint32_t n = 1;

	read_around(h, blob, pc, &c);
	out[0] = (struct hotspot_leave){ likely_way(blob, pc, &c), blob->frame_size };
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i] != out[0].way)
			out[n++] = (struct hotspot_leave){ ways[i], blob->frame_size };
	return n;
}

#define LEAVE     0xc9
#define STUB_SEEN 512 /* bytes before an instruction */

/*
 * Whether code of stubs has made a frame with a frame pointer. Then the top of the stack is room of
 * its own, and may have an old return address. An end of code before the instruction says nothing.
 */
static bool has_made_frame(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc)
{
	static const uint8_t makes[] = { 0x48, 0x8b, 0xec }, same[] = { 0x48, 0x89, 0xe5 };
	uint64_t n = MIN(pc - blob->code, (uint64_t)STUB_SEEN);
	uint8_t bytes[STUB_SEEN + 1];

	if (!lang_read(&h->memory, pc - n, bytes, n + 1) || bytes[n] == RET)
		return false;
	for (size_t i = n; i-- > 0;) {
		const uint8_t *at = bytes + i + 1;

		if (bytes[i] == PUSH_RBP && n - i > sizeof(makes) &&
		    (!memcmp(at, makes, sizeof(makes)) || !memcmp(at, same, sizeof(same))))
			return true;
		if ((bytes[i] == LEAVE || bytes[i] == POP_RBP) && *at == RET)
			return false;
	}
	return false;
}

static uint32_t leaves_of_leaf(const struct hotspot *h, const struct hotspot_blob *blob,
			       uint64_t pc, struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	bool has_frame;

	switch (blob->kind) {
	case HOTSPOT_COMPILED:
	case HOTSPOT_NATIVE:
		return leaves_of_method(h, blob, pc, out);
	case HOTSPOT_INTERPRETER:
		out[0].way = HOTSPOT_BY_SENDER;
		return 1;
	case HOTSPOT_FRAMELESS:
		out[0].way = HOTSPOT_AT_TOP;
		return 1;
	case HOTSPOT_STUBS:
		has_frame = has_made_frame(h, blob, pc);
		out[0].way = has_frame ? HOTSPOT_BY_FP : HOTSPOT_AT_TOP;
		out[1].way = has_frame ? HOTSPOT_AT_TOP : HOTSPOT_BEHIND_FP;
		out[2].way = has_frame ? HOTSPOT_BEHIND_FP : HOTSPOT_BY_FP;
		return 3;
	case HOTSPOT_STUB:
		break;
	}
	out[0] = (struct hotspot_leave){ HOTSPOT_BY_SIZE, blob->frame_size };
	out[1].way = HOTSPOT_AT_TOP;
	out[2].way = HOTSPOT_BEHIND_FP;
	out[3].way = HOTSPOT_BY_FP;
	return 4;
}

uint32_t hotspot_leaves(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			bool is_leaf, struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	if (h->is_aarch64)
		return hotspot_leaves_aarch64(h, blob, pc, is_leaf, out);
	if (is_leaf)
		return leaves_of_leaf(h, blob, pc, out);
	switch (blob->kind) {
	case HOTSPOT_INTERPRETER:
		out[0].way = HOTSPOT_BY_SENDER;
		return 1;
	case HOTSPOT_STUBS:
		out[0].way = HOTSPOT_BY_FP;
		return 1;
	case HOTSPOT_FRAMELESS: /* they call nothing */
		return 0;
	default:
		out[0] = (struct hotspot_leave){ HOTSPOT_BY_SIZE, blob->frame_size };
		return 1;
	}
}

/* ---- interpreted frames ---- */

/* Registers by DWARF number. */
enum { RBX = 3, RBP = 6, RSP = 7, R11 = 11, R13 = 13 };

#define FRAME_MAX ((uint64_t)1 << 24) /* bytes; a method has 65,535 variables at most */

/* The instruction behind a call that sets the stack pointer to last_sp, by version. */
static bool has_returned(const struct hotspot *h, uint64_t pc)
{
	static const uint8_t before_21[] = { 0x48, 0x8b, 0x65, 0xf0 }; /* mov -16(%rbp),%rsp */
	static const uint8_t load[] = { 0x48, 0x8b, 0x4d, 0xf0 };      /* mov -16(%rbp),%rcx … */
	static const uint8_t set[] = { 0x48, 0x8d, 0x64, 0xcd, 0x00 }; /* lea (%rbp,%rcx,8),%rsp */
	uint8_t bytes[sizeof(set)];

	return lang_read(&h->memory, pc, bytes, sizeof(bytes)) &&
	       (!memcmp(bytes, before_21, sizeof(before_21)) ||
		!memcmp(bytes, load, sizeof(load)) || !memcmp(bytes, set, sizeof(set)));
}

/*
 * A frame that calls a method has its stack pointer at the call in last_sp: since 21 in words from
 * the frame pointer. It clears it after the call. The method has the number in r13 until its frame
 * is made, and in rbx or, if it is native, in r11 when it has left the frame; then it is in rsp.
 */
bool hotspot_is_innermost(const struct hotspot *h, uint64_t pc, uint64_t last_sp,
			  const uint64_t *registers, enum hotspot_answer *returned)
{
	static const uint8_t numbers[] = { R13, RBX, R11, RSP };

	if (h->is_aarch64)
		return hotspot_is_innermost_aarch64(h, pc, last_sp, registers, returned);
	if (!last_sp)
		return true;
	if (-last_sp < FRAME_MAX / 8)
		last_sp = registers[RBP] + last_sp * 8;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (registers[numbers[i]] == last_sp)
			return true;
	if (*returned == HOTSPOT_NOT_ASKED)
		*returned = has_returned(h, pc) ? HOTSPOT_YES : HOTSPOT_NO;
	return *returned == HOTSPOT_YES;
}
