/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/v8_ways.h"

#include <string.h>

#include "base/mem.h"
#include "lang/aarch64.h"

/* ---- x86-64 ---- */

#define PUSH_RBP 0x55
#define RET      0xc3
#define RET_N    0xc2
#define INSN_MAX 4

#define BEFORE_FRAME 32 /* bytes of code: whether it was deoptimised, and the frame's beginning */

/* Whether an address of compiled code is before the instructions that make its frame. */
static bool is_before_frame(const struct v8 *v8, const struct v8_code *code, uint64_t pc)
{
	static const uint8_t frame[] = { PUSH_RBP, 0x48, 0x89, 0xe5 }; /* mov %rsp,%rbp */
	uint64_t n = code ? pc - code->start : UINT64_MAX;
	uint8_t bytes[BEFORE_FRAME];

	return n < BEFORE_FRAME && lang_read(&v8->memory, code->start, bytes, sizeof(bytes)) &&
	       !memmem(bytes, n, frame, 1) && memmem(bytes, sizeof(bytes), frame, sizeof(frame));
}

static enum v8_way way_of_x86(const struct v8 *v8, const struct v8_code *code, uint64_t pc)
{
	static const uint8_t frame_made[] = { 0x48, 0x89, 0xe5 }; /* mov %rsp,%rbp */
	uint8_t bytes[INSN_MAX];

	if (is_before_frame(v8, code, pc))
		return V8_AT_TOP;
	if (!lang_read(&v8->memory, pc, bytes, sizeof(bytes)))
		return V8_BY_FP;
	if (bytes[0] == PUSH_RBP || bytes[0] == RET || bytes[0] == RET_N)
		return V8_AT_TOP;
	return !memcmp(bytes, frame_made, sizeof(frame_made)) ? V8_BEHIND_FP : V8_BY_FP;
}

/* ---- AArch64 ---- */

#define PAGE        4096
#define READ_INSNS  32 /* at a time */
#define STEPS_MAX   64 /* of one way through the code */
#define WAYS_MAX    12
#define LOOK_BEFORE 24

/* Instructions, one behind the other. */
struct insns {
	uint32_t data[READ_INSNS];
	struct aarch64_code code;
};

/* Less at the end of memory. */
static bool read_insns(const struct v8 *v8, uint64_t pc, struct insns *out)
{
	size_t size = sizeof(out->data);

	if (!lang_read(&v8->memory, pc, out->data, size)) {
		size = MIN(size, (size_t)(PAGE - pc % PAGE));
		if (size == sizeof(out->data) || !lang_read(&v8->memory, pc, out->data, size))
			return false;
	}
	out->code = (struct aarch64_code){ (const uint8_t *)out->data, pc, size / 4 };
	return true;
}

#define LDR_FP      0xf94003bd /* ldr x29,[x29] */
#define LDR_LINK    0xf94007be /* ldr x30,[x29,#8] */
#define MOV_SP      0x910003bf /* mov sp,x29 */
#define SAVE_LINK   0xa9bf7bff /* stp xzr,x30,[sp,#-16]!: around calls, without a frame */
#define POP_LINK    0xf94003fe /* ldr x30,[sp]: behind a call of native code */
#define RETURN_INSN 0xd65f03c0

/* ldp x29,x30,[sp…], in all of its forms, and ldp x29,x30,[x29] */
static bool loads_frame_record(uint32_t insn)
{
	return (insn & 0xfe407fff) == 0xa8407bfd || insn == 0xa9407bbd;
}

static bool has_frame(uint32_t insn)
{
	return aarch64_calls(insn) || loads_frame_record(insn) || insn == MOV_SP ||
	       insn == LDR_LINK || insn == LDR_FP;
}

static bool has_link(uint32_t insn)
{
	return (insn & 0xffc003ff) == 0x910003fd /* add x29,sp,… or mov x29,sp */ ||
	       insn == SAVE_LINK || insn == RETURN_INSN;
}

/* Ways through the code that are still to be looked at. */
struct ways {
	uint64_t at[WAYS_MAX];
	uint32_t n;
};

/*
 * The first instruction that concerns the frame, on a way from the address on, says whether the
 * frame is there. Code that calls has one. V8_NO_WAY: none was found.
 */
static enum v8_way follow_way(const struct v8 *v8, uint64_t at, struct ways *others)
{
	struct insns insns = { 0 };

	for (uint32_t steps = 0; steps < STEPS_MAX; steps++) {
		uint64_t i = (at - insns.code.link_addr) / 4, target;
		bool is_call, is_branch;
		uint32_t insn;

		if (i >= insns.code.n) {
			if (!read_insns(v8, at, &insns))
				break;
			i = 0;
		}
		insn = insns.data[i];
		if (has_frame(insn))
			return V8_BY_FP;
		if (has_link(insn))
			return V8_BY_LINK;
		is_branch = aarch64_branch(&insns.code, i, &target, &is_call);
		if (is_branch && !aarch64_ends_code(insn) && others->n < WAYS_MAX)
			others->at[others->n++] = target;
		if (aarch64_ends_code(insn) && !is_branch)
			break;
		at = is_branch && aarch64_ends_code(insn) ? target : at + 4;
	}
	return V8_NO_WAY;
}

/*
 * Code jumps to a place in a register behind a frame that it has taken down. Handlers of bytecodes
 * jump, too, and keep the frame.
 */
static bool was_taken_down(const struct v8 *v8, uint64_t pc)
{
	uint32_t insns[LOOK_BEFORE];

	if (!lang_read(&v8->memory, pc - sizeof(insns), insns, sizeof(insns)))
		return false;
	for (size_t i = LOOK_BEFORE; i-- > 0;) {
		if (loads_frame_record(insns[i]) ||
		    (i && insns[i] == LDR_FP && insns[i - 1] == LDR_LINK))
			return true;
		if (aarch64_ends_code(insns[i]) || has_frame(insns[i]))
			break;
	}
	return false;
}

static enum v8_way way_of_aarch64(const struct v8 *v8, uint64_t pc)
{
	struct ways ways = { { pc }, 1 };

	for (uint32_t i = 0; i < ways.n; i++) {
		enum v8_way way = follow_way(v8, ways.at[i], &ways);

		if (way != V8_NO_WAY)
			return way;
	}
	return was_taken_down(v8, pc) ? V8_BY_LINK : V8_BY_FP;
}

enum v8_way v8_way_of_leaf(const struct v8 *v8, const struct v8_code *code, uint64_t pc)
{
	return v8->is_aarch64 ? way_of_aarch64(v8, pc) : way_of_x86(v8, code, pc);
}

/* ---- words of a frame without a frame pointer ---- */

#define LOOK_AROUND 24     /* instructions */
#define PADDING     0xcccc /* upper half of words between builtins */

static int32_t signed_bits(uint32_t insn, unsigned int low, unsigned int n)
{
	return (int32_t)(insn << (32 - n - low)) >> (32 - n);
}

/* By how many words an instruction moves the stack pointer; 0: it does not, or it is not known. */
static int32_t moved_words(uint32_t insn)
{
	bool is_of_stack = (insn >> 5 & 31) == 31;
	uint32_t size = insn >> 30 | (insn >> 26 & 1) << 2; /* and whether registers are vectors */

	if ((insn & 0xffc003ff) == 0x910003ff || (insn & 0xffc003ff) == 0xd10003ff) /* add, sub */
		return (int32_t)(insn >> 10 & 0xfff) / (insn >> 30 & 1 ? -8 : 8);
	if (!is_of_stack)
		return 0;
	if ((insn & 0x3a800000) == 0x28800000 && (size == 2 || size == 5)) /* stp, ldp */
		return signed_bits(insn, 15, 7);
	if ((insn & 0xffa00400) == 0xf8000400) /* str, ldr */
		return signed_bits(insn, 12, 9) / 8;
	return 0;
}

/* Whether an instruction may move the stack pointer in a way that is not counted. */
static bool moves_unknown(uint32_t insn)
{
	bool is_sum_to_sp = (insn & 0x1f00001f) == 0x1100001f || (insn & 0x1f20001f) == 0x0b20001f;
	bool is_pair = (insn & 0x3a8003e0) == 0x288003e0;
	bool is_single = (insn & 0x3b2007e0) == 0x380007e0;
	bool sets_flags = insn >> 29 & 1; /* cmp and cmn write no register */

	return !moved_words(insn) && ((is_sum_to_sp && !sets_flags) || is_pair || is_single);
}

/* Another way through the code may have pushed others. */
static bool branches(uint32_t insn)
{
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000010) == 0x54000000 ||
	       (insn & 0x7c000000) == 0x34000000;
}

static bool pops(uint32_t insn)
{
	bool is_ldp_of_stack = (insn & 0x3a4003e0) == 0x284003e0;

	return moved_words(insn) > 0 || (is_ldp_of_stack && !moved_words(insn));
}

/* Behind the end of other code, or of its padding, code begins. */
static bool is_before_code(uint32_t insn)
{
	return aarch64_ends_code(insn) || aarch64_calls(insn) || insn >> 16 == PADDING;
}

static bool read_around(const struct v8 *v8, uint64_t pc, uint32_t insns[2 * LOOK_AROUND])
{
	size_t size = LOOK_AROUND * sizeof(*insns);

	return lang_read(&v8->memory, pc - size, insns, 2 * size);
}

bool v8_pushed_words(const struct v8 *v8, uint64_t pc, uint16_t *out)
{
	uint32_t insns[2 * LOOK_AROUND];
	int32_t words = 0;
	size_t i = LOOK_AROUND;

	if (!read_around(v8, pc, insns))
		return false;
	while (i < 2 * LOOK_AROUND && pops(insns[i]))
		words += moved_words(insns[i++]);
	if (i < 2 * LOOK_AROUND && insns[i] == RETURN_INSN) {
		*out = (uint16_t)words;
		return true;
	}
	words = 0;
	for (i = LOOK_AROUND; i-- > 0 && !is_before_code(insns[i]);) {
		if (moves_unknown(insns[i]) || branches(insns[i]))
			return false;
		words -= moved_words(insns[i]);
	}
	*out = (uint16_t)words;
	return i < LOOK_AROUND && words >= 0;
}

/* ---- rules ---- */

#define ENTRY           2 /* (1 << 1): StackFrame::ENTRY */
#define CONSTRUCT_ENTRY 4

bool v8_is_entry(uint64_t marker)
{
	return marker == ENTRY || marker == CONSTRUCT_ENTRY;
}

/*
 * What native code calls saves x19 to x30, and an entry also d8 to d15. Since Node 18, x29 and x30
 * are at the frame pointer. Before, the others are, behind a word of its own in an entry.
 */
static struct unwind_rule rule_of_called(const struct v8 *v8, enum v8_way way)
{
	int16_t words = way == V8_BY_ENTRY ? 20 : 12, record = words;

	if (!v8->forms->has_entry_record) {
		record = way == V8_BY_ENTRY ? 10 : 2;
		words += way == V8_BY_ENTRY;
	}
	return (struct unwind_rule){ .cfa = UNWIND_CFA_FP,
				     .saved = UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA << 4,
				     .off = (uint16_t)words,
				     .fp = (int16_t)-record,
				     .aux = (int16_t)(1 - record) };
}

static bool read_insn(const struct v8 *v8, uint64_t pc, uint32_t *out)
{
	return lang_read(&v8->memory, pc, out, sizeof(*out));
}

/* Where the jump leads to that code begins with. */
static bool read_entry(const struct v8 *v8, uint64_t start, uint64_t *entry)
{
	uint32_t insn;
	struct aarch64_code code = { (const uint8_t *)&insn, start, 1 };
	bool is_call;

	return read_insn(v8, start, &insn) && aarch64_branch(&code, 0, entry, &is_call);
}

/* Their code begins with a jump to instructions with which no function begins. */
bool v8_is_regexp(const struct v8 *v8, const struct v8_code *code)
{
	uint32_t saves = v8->forms->has_entry_record ? 0xa9be6bf9 : 0xa9be73fb, insn;
	uint64_t entry;

	return code && !code->shared && !code->bytecode && read_entry(v8, code->start, &entry) &&
	       read_insn(v8, entry, &insn) && insn == saves;
}

bool v8_is_call_of_c(const struct v8 *v8, uint64_t pc)
{
	uint32_t insn;

	return read_insn(v8, pc, &insn) && insn == POP_LINK;
}

struct unwind_rule v8_rule_of(const struct v8 *v8, enum v8_way way)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP, .saved = UNWIND_FP_AT_CFA, .fp = -2, .off = 2
	};

	switch (way) {
	case V8_AT_TOP:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
					     .saved = UNWIND_FP_SAME,
					     .off = 1 };
	case V8_BY_LINK:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
					     .saved = UNWIND_FP_SAME | UNWIND_RA_LR << 4 };
	case V8_BY_ENTRY:
	case V8_BY_REGEXP:
		return rule_of_called(v8, way);
	case V8_BEHIND_FP:
		break;
	case V8_BY_FP:
		rule.cfa = UNWIND_CFA_FP;
		break;
	case V8_BY_TOP_WORD:
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
					     .saved = UNWIND_FP_SAME | UNWIND_RA_AT_CFA << 4,
					     .off = 1,
					     .aux = -1 };
	case V8_NO_WAY:
		rule.cfa = UNWIND_CFA_UNSUPPORTED;
		break;
	}
	return rule;
}
