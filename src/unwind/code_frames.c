/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/code_frames.h"

#include <assert.h>
#include <string.h>

#include "pt/insn.h"
#include "unwind/stack_insn.h"

#define FRAMES_MAX (UINT16_MAX - 1) /* different ones of a function */
#define PLACE_MAX  (1 << 23)        /* bytes from the base: a rule has no more */

/* ---- effects ---- */

static int32_t word_of(const struct code_frames *f)
{
	return (int32_t)f->width / 8;
}

/* A place that is further from the base, or CODE_UNKNOWN. */
static int32_t further(int32_t place, int64_t bytes)
{
	int64_t sum = place + bytes;

	return place == CODE_UNKNOWN || sum < -PLACE_MAX || sum > PLACE_MAX ? CODE_UNKNOWN
									    : (int32_t)sum;
}

/* The stack pointer is at another place: the return address stays above it. */
static void move_sp(const struct code_frames *f, struct code_frame *s, int32_t place)
{
	s->sp = place != CODE_UNKNOWN && !s->is_aligned && place < word_of(f) ? CODE_UNKNOWN
									      : place;
}

static void lose_base(struct code_frame *s)
{
	s->sp = s->fp = s->cfa_slot = CODE_UNKNOWN;
	s->fp_saved = s->fp_saved ? CODE_UNKNOWN : 0;
	s->is_aligned = false;
}

static void write_register(struct code_frame *s, uint8_t reg)
{
	if (reg == s->cfa_reg)
		s->cfa_reg = -1;
	if (reg == REG_SP)
		s->sp = CODE_UNKNOWN;
	if (reg != REG_FP)
		return;
	s->fp = CODE_UNKNOWN;
	s->fp_saved = s->fp_saved ? s->fp_saved : CODE_UNKNOWN;
}

static void push(const struct code_frames *f, struct code_frame *s, int reg)
{
	move_sp(f, s, further(s->sp, word_of(f)));
	if (s->sp == CODE_UNKNOWN || reg < 0)
		return;
	if (reg == REG_FP && !s->fp_saved)
		s->fp_saved = s->sp;
	if (reg == s->cfa_reg)
		s->cfa_slot = s->sp;
}

/* A register is read from a place in the frame. */
static void load(struct code_frame *s, uint8_t reg, int32_t place)
{
	bool is_saved = place != CODE_UNKNOWN && place == s->fp_saved && s->fp_saved;

	write_register(s, reg);
	if (place == CODE_UNKNOWN)
		return;
	if (reg == REG_FP && is_saved)
		s->fp_saved = 0;
	if (place == s->cfa_slot)
		s->cfa_reg = reg;
}

static void pop(const struct code_frames *f, struct code_frame *s, uint8_t reg)
{
	int32_t from = s->sp;

	load(s, reg, from);
	move_sp(f, s, reg == REG_SP ? CODE_UNKNOWN : further(from, -word_of(f)));
}

static void leave(const struct code_frames *f, struct code_frame *s)
{
	s->sp = s->fp;
	pop(f, s, REG_FP);
}

/* Without a frame pointer, the caller is found again by a register that has the CFA. */
static void align_sp(struct code_frame *s)
{
	if (s->fp != CODE_UNKNOWN || s->cfa_reg < 0 || s->is_aligned) {
		s->sp = CODE_UNKNOWN;
		return;
	}
	s->is_aligned = true;
	s->sp = 0;
	s->fp_saved = s->fp_saved ? CODE_UNKNOWN : 0;
	s->cfa_slot = CODE_UNKNOWN;
}

/* add, sub, and: of the stack pointer and a constant. */
static void change_sp(const struct code_frames *f, struct code_frame *s,
		      const struct stack_insn *in)
{
	switch (in->reg & 7) {
	case 0:
		move_sp(f, s, further(s->sp, -(int64_t)in->imm));
		break;
	case 4:
		align_sp(s);
		break;
	case 5:
		move_sp(f, s, further(s->sp, in->imm));
		break;
	default:
		break; /* cmp; others hardly exist */
	}
}

/* The place that memory names, or an address that lea computes. */
static int32_t place_of(const struct code_frame *s, const struct stack_insn *in)
{
	if (!in->has_disp)
		return CODE_UNKNOWN;
	return further(in->rm == REG_SP   ? s->sp
		       : in->rm == REG_FP ? s->fp
					  : CODE_UNKNOWN,
		       -(int64_t)in->disp);
}

/* lea disp(%rcx), %rsp: rcx has the CFA. */
static void sp_from_cfa(const struct code_frames *f, struct code_frame *s,
			const struct stack_insn *in)
{
	int32_t place = in->has_disp ? further(0, -(int64_t)in->disp) : CODE_UNKNOWN;

	if (s->is_aligned) {
		s->is_aligned = false;
		s->fp = s->cfa_slot = CODE_UNKNOWN;
		s->fp_saved = s->fp_saved ? CODE_UNKNOWN : 0;
	}
	move_sp(f, s, place);
}

static void load_address(const struct code_frames *f, struct code_frame *s,
			 const struct stack_insn *in)
{
	int32_t place = place_of(s, in);

	if (in->reg == REG_SP) {
		if (in->rm == s->cfa_reg)
			sp_from_cfa(f, s, in);
		else
			move_sp(f, s, place);
		return;
	}
	write_register(s, in->reg);
	if (in->reg == REG_FP)
		s->fp = place;
	else if (place == 0 && !s->is_aligned)
		s->cfa_reg = in->reg;
}

/* mov from one register to another. */
static void move(const struct code_frames *f, struct code_frame *s, uint8_t from, uint8_t to)
{
	int32_t place = from == REG_SP ? s->sp : from == REG_FP ? s->fp : CODE_UNKNOWN;

	write_register(s, to);
	if (to == REG_SP)
		move_sp(f, s, place);
	else if (to == REG_FP)
		s->fp = place;
}

static void store(struct code_frame *s, const struct stack_insn *in)
{
	int32_t place = place_of(s, in);

	if (place <= 0) /* or CODE_UNKNOWN */
		return;
	if (in->reg == REG_FP && !s->fp_saved)
		s->fp_saved = place;
	if (in->reg == s->cfa_reg)
		s->cfa_slot = place;
}

static void mov(const struct code_frames *f, struct code_frame *s, const struct stack_insn *in)
{
	bool is_load = in->op == 0x8b;

	if (in->has_mem && is_load)
		load(s, in->reg, place_of(s, in));
	else if (in->has_mem)
		store(s, in);
	else
		move(f, s, is_load ? in->rm : in->reg, is_load ? in->reg : in->rm);
}

/* The effect of other instructions: the registers that they write. */
static void write_registers(struct code_frame *s, const struct stack_insn *in)
{
	char kind = stack_insn_writes(in);
	bool writes_reg = kind == 'r' || kind == 'x';
	bool writes_rm = (kind == 'm' || kind == 'x') && !in->has_mem;

	/* Groups: cmp, and test, mul and div, call, jmp and push. */
	if (!in->is_0f && ((in->op == 0x81 || in->op == 0x83) && (in->reg & 7) == 7))
		return;
	if (!in->is_0f && in->op == 0xf7 && (in->reg & 7) != 2 && (in->reg & 7) != 3)
		return;
	if (!in->is_0f && in->op == 0xff && (in->reg & 7) > 1)
		return;
	if (writes_reg)
		write_register(s, in->reg);
	if (writes_rm)
		write_register(s, in->rm);
	if (kind == 'o')
		write_register(s, in->of_op);
}

static bool change_stack_0f(const struct code_frames *f, struct code_frame *s,
			    const struct stack_insn *in)
{
	if (in->op == 0xa0 || in->op == 0xa8) /* push %fs, %gs */
		push(f, s, -1);
	else if (in->op == 0xa1 || in->op == 0xa9)
		move_sp(f, s, further(s->sp, -word_of(f)));
	else
		return false;
	return true;
}

/* Instructions whose effect on the pointers is known. False: another one. */
static bool change_stack(const struct code_frames *f, struct code_frame *s,
			 const struct stack_insn *in)
{
	uint8_t op = in->op;

	if (in->is_0f)
		return change_stack_0f(f, s, in);
	if (op >> 3 == 0x50 >> 3) {
		push(f, s, in->of_op);
	} else if (op >> 3 == 0x58 >> 3) {
		pop(f, s, in->of_op);
	} else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && (in->reg & 7) == 6)) {
		push(f, s, -1);
	} else if (op == 0x9d || op == 0x8f) {
		move_sp(f, s, further(s->sp, -word_of(f)));
	} else if (op == 0xc9) {
		leave(f, s);
	} else if (op == 0xc8 || (op == 0x60 && f->width == 32) ||
		   (op == 0x61 && f->width == 32)) { /* enter, pusha, popa: hardly used */
		lose_base(s);
	} else if ((op == 0x81 || op == 0x83) && !in->has_mem && in->rm == REG_SP && in->is_wide) {
		change_sp(f, s, in);
	} else if (op == 0x8d && in->is_wide) {
		load_address(f, s, in);
	} else if ((op == 0x89 || op == 0x8b) && in->is_wide) {
		mov(f, s, in);
	} else {
		return false;
	}
	return true;
}

static void apply(const struct code_frames *f, struct code_frame *s, const uint8_t *at,
		  const struct pt_insn *insn)
{
	struct stack_insn in;

	if (insn->end == PT_END_CALL && !insn->distance) { /* i386: the place of the code */
		push(f, s, -1);
		return;
	}
	if (!stack_insn_read(f->width, at, insn->size, &in))
		return;
	if (!change_stack(f, s, &in))
		write_registers(s, &in);
	else if (in.is_16 && in.op != 0x8d)
		s->sp = CODE_UNKNOWN; /* half a word was pushed or popped */
}

/* ---- following ---- */

void code_frames_begin(struct code_frames *f)
{
	assert(f->n <= CODE_FRAMES_MAX && (f->width == 32 || f->width == 64));
	f->at = xcalloc(f->n + 1, sizeof(*f->at));
}

void code_frames_fini(struct code_frames *f)
{
	free(f->at);
	vec_fini(&f->frames);
	vec_fini(&f->to_follow);
	vec_fini(&f->returns);
}

/* Its number + 1; 0: there are too many. */
static uint16_t frame_number(struct code_frames *f, const struct code_frame *s)
{
	/* Most frames were met shortly before. */
	for (size_t i = f->frames.n; i-- > 0 && i + 16 >= f->frames.n;)
		if (!memcmp(&f->frames.data[i], s, sizeof(*s)))
			return (uint16_t)(i + 1);
	if (f->frames.n >= FRAMES_MAX)
		return 0;
	vec_push(&f->frames, *s);
	return (uint16_t)f->frames.n;
}

static void reach(struct code_frames *f, uint64_t at, uint16_t frame)
{
	if (at >= f->n || f->at[at] || !frame)
		return;
	f->at[at] = frame;
	vec_push(&f->to_follow, (uint32_t)at);
}

static void push_return(struct code_frames *f, uint32_t at, uint16_t frame)
{
	size_t i = f->returns.n;

	if (at >= f->n || f->at[at] || !frame)
		return;
	vec_push(&f->returns, (struct code_return){ at, frame });
	for (; i && f->returns.data[(i - 1) / 2].at > at; i = (i - 1) / 2)
		f->returns.data[i] = f->returns.data[(i - 1) / 2];
	f->returns.data[i] = (struct code_return){ at, frame };
}

static struct code_return pop_return(struct code_frames *f)
{
	struct code_return first = f->returns.data[0], last = f->returns.data[--f->returns.n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < f->returns.n; i = child) {
		if (child + 1 < f->returns.n &&
		    f->returns.data[child + 1].at < f->returns.data[child].at)
			child++;
		if (f->returns.data[child].at >= last.at)
			break;
		f->returns.data[i] = f->returns.data[child];
	}
	if (f->returns.n)
		f->returns.data[i] = last;
	return first;
}

/* hlt, ud2, int3: behind a call that does not return. */
static bool is_trap(const uint8_t *at, const struct pt_insn *insn)
{
	return *at == 0xf4 || *at == 0xcc || (insn->size == 2 && at[0] == 0x0f && at[1] == 0x0b);
}

static bool goes_on(const uint8_t *at, const struct pt_insn *insn)
{
	switch (insn->end) {
	case PT_END_JUMP:
	case PT_END_RETURN:
	case PT_END_JUMP_INDIRECT:
	case PT_END_SYSRET:
	case PT_END_IRET:
	case PT_END_FAR_JUMP:
	case PT_END_FAR_RETURN:
		return false;
	default:
		return !is_trap(at, insn);
	}
}

/* The instructions from one place on, until the code is known or does not go on. */
static void follow_run(struct code_frames *f, uint32_t at)
{
	struct pt_insn insn;

	while (at < f->n && pt_insn_read(f->width, f->code + at, f->n - at, &insn)) {
		struct code_frame s = f->frames.data[f->at[at] - 1];
		uint16_t frame;

		apply(f, &s, f->code + at, &insn);
		frame = frame_number(f, &s);
		if (insn.end == PT_END_COND || insn.end == PT_END_JUMP)
			reach(f, at + insn.size + insn.distance, frame);
		at += insn.size;
		if (insn.end == PT_END_CALL_INDIRECT ||
		    (insn.end == PT_END_CALL && insn.distance)) {
			push_return(f, at, frame);
			return;
		}
		if (!goes_on(f->code + at - insn.size, &insn) || at >= f->n || f->at[at] || !frame)
			return;
		f->at[at] = frame;
	}
}

static void follow_all(struct code_frames *f)
{
	while (f->to_follow.n || f->returns.n) {
		struct code_return r;

		if (f->to_follow.n) {
			follow_run(f, f->to_follow.data[--f->to_follow.n]);
			continue;
		}
		r = pop_return(f);
		reach(f, r.at, r.frame);
	}
}

/* lea 0(%esi), %esi or lea 0(%esi,%eiz), %esi, of any register and size of the displacement. */
static bool is_lea_nop(const uint8_t *code, size_t n)
{
	uint8_t mod = code[1] >> 6, base = code[1] & 7;
	size_t at = 2;

	if (code[0] != 0x8d || mod == 3)
		return false;
	if (base == REG_SP) {
		if (n < 3 || (code[2] >> 3 & 7) != REG_SP) /* an index */
			return false;
		base = code[at++] & 7;
	}
	if (base != (code[1] >> 3 & 7) || (mod == 0 && base == REG_FP)) /* an address alone */
		return false;
	while (at < n && !code[at])
		at++;
	return at == n;
}

bool code_is_padding(unsigned int width, const uint8_t *code, const struct pt_insn *insn)
{
	bool is_pause = false;
	uint32_t i = 0;

	for (; i + 1u < insn->size && is_prefix_x86(code[i]); i++)
		is_pause |= code[i] == 0xf3;
	if (code[i] == 0x90 || code[i] == 0xcc)
		return !is_pause;
	if (i + 1u >= insn->size)
		return false;
	if (width == 32 && (is_lea_nop(code + i, insn->size - i) ||
			    (code[i] == 0x89 && code[i + 1] == 0xf6))) /* mov %esi, %esi */
		return true;
	return code[i] == 0x0f && code[i + 1] == 0x1f;
}

static uint32_t padding_size(const struct code_frames *f, uint32_t at)
{
	struct pt_insn insn;

	if (!f->code[at])
		return 1;
	return pt_insn_read(f->width, f->code + at, f->n - at, &insn) &&
			       code_is_padding(f->width, f->code + at, &insn)
		       ? insn.size
		       : 0;
}

void code_frames_follow(struct code_frames *f, uint32_t start)
{
	const struct code_frame first = {
		.sp = word_of(f),
		.fp = CODE_UNKNOWN,
		.cfa_slot = CODE_UNKNOWN,
		.cfa_reg = -1,
	};

	uint32_t padding;

	/* There is no function yet, or room for a patch of it. */
	while (start < f->n && !f->at[start] && (padding = padding_size(f, start)) != 0)
		start += padding;
	reach(f, start, frame_number(f, &first));
	follow_all(f);
}

/* The size of the instruction at a place; 1: there is none. */
static uint32_t size_at(const struct code_frames *f, uint32_t at)
{
	struct pt_insn insn;

	return pt_insn_read(f->width, f->code + at, f->n - at, &insn) ? insn.size : 1;
}

static bool is_switch(const struct code_frames *f, uint32_t at)
{
	struct pt_insn insn;

	return f->at[at] && pt_insn_read(f->width, f->code + at, f->n - at, &insn) &&
	       insn.end == PT_END_JUMP_INDIRECT;
}

void code_frames_follow_rest(struct code_frames *f, bool is_one_function)
{
	uint16_t of_switch = 0; /* the frame of the last indirect jump before */
	bool is_padded = false;

	for (uint32_t at = 0; at < f->n;) {
		uint32_t padding = f->at[at] ? 0 : padding_size(f, at);

		if (padding) {
			is_padded = true;
			at += padding;
			continue;
		}
		if (!f->at[at] && of_switch && (is_one_function || !is_padded)) {
			reach(f, at, of_switch);
			follow_all(f);
		} else if (!f->at[at] && !is_one_function) {
			of_switch = 0;
			code_frames_follow(f, at);
		}
		if (is_switch(f, at))
			of_switch = f->at[at];
		is_padded = false;
		at += size_at(f, at);
	}
}

uint32_t code_frames_next(const struct code_frames *f, uint32_t at)
{
	return at + (f->at[at] ? size_at(f, at) : 1);
}

/* ---- rules ---- */

static bool in_words(const struct code_frames *f, int64_t bytes, int64_t min, int64_t max,
		     int64_t *words)
{
	*words = bytes / word_of(f);
	return !(bytes % word_of(f)) && *words >= min && *words <= max;
}

static bool set_cfa(struct unwind_rule *rule, enum unwind_cfa cfa, int64_t words)
{
	rule->cfa = (uint8_t)((unsigned int)cfa | (unsigned int)(words >> 16) << 4);
	rule->off = (uint16_t)words;
	return true;
}

/* The caller's frame pointer, given a place in the frame and the kind that counts from there. */
static void set_fp(const struct code_frames *f, const struct code_frame *s, int32_t from,
		   enum unwind_fp kind, struct unwind_rule *rule)
{
	int64_t words;

	rule->saved = UNWIND_GUESSED | UNWIND_FP_SAME;
	if (!s->fp_saved)
		return;
	rule->saved = UNWIND_GUESSED | UNWIND_FP_LOST;
	if (s->fp_saved == CODE_UNKNOWN || from == CODE_UNKNOWN ||
	    !in_words(f, (int64_t)from - s->fp_saved, INT16_MIN, INT16_MAX, &words))
		return;
	rule->saved = (uint8_t)(UNWIND_GUESSED | kind);
	rule->fp = (int16_t)words;
}

static bool rule_of_aligned(const struct code_frames *f, const struct code_frame *s,
			    struct unwind_rule *rule)
{
	static const int16_t dwarf_64[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	int64_t slot;

	set_fp(f, s, s->fp, UNWIND_FP_AT_FP, rule);
	if (s->fp != CODE_UNKNOWN && s->cfa_slot != CODE_UNKNOWN &&
	    in_words(f, (int64_t)s->fp - s->cfa_slot, INT16_MIN, INT16_MAX, &slot))
		return set_cfa(rule, UNWIND_CFA_FP_DEREF, slot & 0xffff);
	if (s->cfa_reg < 0)
		return false;
	rule->aux = f->width == 64 && s->cfa_reg < 8 ? dwarf_64[s->cfa_reg] : s->cfa_reg;
	return set_cfa(rule, UNWIND_CFA_REGISTER, 0);
}

bool code_frames_rule(const struct code_frames *f, uint32_t at, struct unwind_rule *rule)
{
	const struct code_frame *s = f->at[at] ? &f->frames.data[f->at[at] - 1] : NULL;
	int64_t words;

	if (!s)
		return false;
	*rule = (struct unwind_rule){ 0 };
	if (s->is_aligned)
		return rule_of_aligned(f, s, rule);
	set_fp(f, s, 0, UNWIND_FP_AT_CFA, rule);
	if (s->fp != CODE_UNKNOWN && in_words(f, s->fp, 1, (1 << 20) - 1, &words))
		return set_cfa(rule, UNWIND_CFA_FP, words);
	return s->sp != CODE_UNKNOWN && in_words(f, s->sp, 1, (1 << 20) - 1, &words) &&
	       set_cfa(rule, UNWIND_CFA_SP, words);
}
