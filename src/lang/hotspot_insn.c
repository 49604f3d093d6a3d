/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/hotspot_insn.h"

#include <string.h>

#include "lang/aarch64.h"
#include "lang/hotspot.h"

#define HLT 0xf4

static bool is_trap_of_x86(const struct pt_insn *insn, const uint8_t *bytes)
{
	return bytes[0] == HLT || (insn->size > 1 && bytes[0] == 0x0f && bytes[1] == 0x0b);
}

/* 0: there is none. */
static uint32_t insn_at(const uint8_t *bytes, size_t n)
{
	uint32_t insn = 0;

	if (n >= sizeof(insn))
		memcpy(&insn, bytes, sizeof(insn));
	return insn;
}

static enum pt_end end_of_aarch64(uint32_t insn, bool is_direct)
{
	if (aarch64_calls(insn))
		return is_direct ? PT_END_CALL : PT_END_CALL_INDIRECT;
	if (!aarch64_ends_code(insn))
		return is_direct ? PT_END_COND : PT_END_FALL;
	if (aarch64_is_jump(insn))
		return PT_END_JUMP_INDIRECT;
	return is_direct ? PT_END_JUMP : PT_END_RETURN;
}

static bool read_aarch64(const uint8_t *bytes, size_t n, struct pt_insn *out)
{
	const struct aarch64_code code = { bytes, 0, 1 };
	uint64_t target;
	bool is_call;

	*out = (struct pt_insn){ .size = sizeof(uint32_t), .ip_bits = 64 };
	if (n < out->size)
		return false;
	out->is_direct = aarch64_branch(&code, 0, &target, &is_call);
	if (out->is_direct)
		out->distance = target - out->size;
	out->end = (uint8_t)end_of_aarch64(insn_at(bytes, n), out->is_direct);
	return true;
}

bool hotspot_insn_read(const struct hotspot *h, const uint8_t *bytes, size_t n, struct pt_insn *out)
{
	if (h->is_aarch64)
		return read_aarch64(bytes, n, out);
	if (!pt_insn_read(64, bytes, n, out))
		return false;
	if (is_trap_of_x86(out, bytes))
		out->end = PT_END_RETURN;
	return true;
}

#define LOAD_OF_NOTHING 0xb940001f /* ldr wzr,[x0]; the base is in bits 5 to 9 */

bool hotspot_is_poll(const struct hotspot *h, const uint8_t *bytes, size_t n)
{
	size_t at = n && bytes[0] == 0x41; /* of r8 to r15 */

	if (h->is_aarch64)
		return (insn_at(bytes, n) & ~(31u << 5)) == LOAD_OF_NOTHING;
	return n >= at + 2 && bytes[at] == 0x85 && !(bytes[at + 1] & 0x38) && bytes[at + 1] < 0xc0;
}

#define MOV_ESI 0xbe
#define MOVN_W1 0x12800001 /* the number is in bits 5 to 20 */

bool hotspot_is_trap_reason(const struct hotspot *h, const uint8_t *insn, size_t size)
{
	if (h->is_aarch64)
		return (insn_at(insn, size) & 0xffe0001f) == MOVN_W1;
	return size == 5 && insn[0] == MOV_ESI && insn[4] & 0x80;
}

#define LOAD_NEXT 0x58000048 /* ldr x8,.+8 */
#define JUMP_TO_8 0xd61f0100 /* br x8, and behind it the address */

bool hotspot_far_jump(const struct hotspot *h, const uint8_t *bytes, size_t n, uint64_t *target)
{
	if (!h->is_aarch64 || n < 16 || insn_at(bytes, 4) != LOAD_NEXT ||
	    insn_at(bytes + 4, 4) != JUMP_TO_8)
		return false;
	memcpy(target, bytes + 8, sizeof(*target));
	return true;
}
