/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/cfi.h"

#include <assert.h>

#include "base/mem.h"

/* Instructions (DWARF 5 table 7.29; GNU ones: LSB Core 5.0 section 10.5.2). */
enum {
	CFA_ADVANCE_LOC = 0x40, /* these three have their operand in the low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE = 0x2d, /* AArch64; SPARC's GNU_window_save */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Operations of expressions (DWARF 5 table 7.9) that known CFA expressions use. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

static const struct unwind_rule unsupported = { .cfa = UNWIND_CFA_UNSUPPORTED };

/* An offset in words, if it is a multiple of a word that fits 16 bits. */
static bool offset_in_words(const struct cfi_machine *m, int64_t bytes, int16_t *words)
{
	int64_t n = bytes / (int64_t)m->word;

	if (bytes % (int64_t)m->word || n != (int16_t)n)
		return false;
	*words = (int16_t)n;
	return true;
}

static enum unwind_cfa cfa_kind(const struct cfi_machine *m, const struct cfi_state *s)
{
	if (s->cfa != UNWIND_CFA_SP)
		return s->cfa;
	return s->reg == m->sp   ? UNWIND_CFA_SP
	       : s->reg == m->fp ? UNWIND_CFA_FP
				 : UNWIND_CFA_REGISTER;
}

static bool put_cfa(const struct cfi_machine *m, const struct cfi_state *s,
		    struct unwind_rule *rule)
{
	enum unwind_cfa kind = cfa_kind(m, s);
	int64_t off = kind == UNWIND_CFA_PLT ? s->expr_off : s->off, word = m->word;
	int16_t words;

	rule->cfa = (uint8_t)kind;
	if (kind == UNWIND_CFA_SP_DEREF || kind == UNWIND_CFA_FP_DEREF ||
	    kind == UNWIND_CFA_SP_OTHER || kind == UNWIND_CFA_SP_OTHER2) {
		if (!offset_in_words(m, s->expr_off, &words))
			return false;
		rule->off = (uint16_t)words;
		return offset_in_words(m, s->aux, &rule->aux);
	}
	if (off < 0 || off % word || off / word >= 1 << 20)
		return false;
	rule->off = (uint16_t)(off / word);
	rule->cfa |= (uint8_t)(off / word >> 16 << 4);
	if (kind == UNWIND_CFA_REGISTER)
		rule->aux = (int16_t)MIN(s->reg, (uint32_t)INT16_MAX);
	else if (kind == UNWIND_CFA_PLT)
		rule->aux = (int16_t)s->aux;
	return true;
}

static bool put_fp(const struct cfi_machine *m, const struct cfi_state *s, struct unwind_rule *rule)
{
	enum unwind_fp kind = UNWIND_FP_LOST;
	int64_t off = s->fp.off;

	if (cfa_kind(m, s) == UNWIND_CFA_SP_OTHER2)
		return s->fp.where == CFI_SAME && offset_in_words(m, s->inner, &rule->fp);
	if (s->fp.where == CFI_SAME)
		kind = UNWIND_FP_SAME;
	else if (s->fp.where == CFI_AT_CFA)
		kind = UNWIND_FP_AT_CFA;
	else if (s->fp.where == CFI_AT_FP)
		kind = UNWIND_FP_AT_FP;
	if (s->fp.where == CFI_AT_SP && cfa_kind(m, s) == UNWIND_CFA_SP) {
		kind = UNWIND_FP_AT_CFA;
		off -= s->off;
	}
	if (kind != UNWIND_FP_SAME && kind != UNWIND_FP_LOST && !offset_in_words(m, off, &rule->fp))
		kind = UNWIND_FP_LOST;
	rule->saved = (uint8_t)kind;
	return true;
}

static bool put_ra(const struct cfi_machine *m, const struct cfi_state *s, struct unwind_rule *rule)
{
	enum unwind_cfa kind = unwind_rule_cfa(*rule);

	if (s->ra.where == CFI_AT_CFA && s->ra.off == -(int64_t)m->word) {
		rule->saved |= UNWIND_RA_BELOW_CFA << 4;
		if (s->bx.where == CFI_AT_CFA && (kind == UNWIND_CFA_SP || kind == UNWIND_CFA_FP) &&
		    !offset_in_words(m, s->bx.off, &rule->aux))
			rule->aux = 0;
		return true;
	}
	if (kind != UNWIND_CFA_SP && kind != UNWIND_CFA_FP)
		return false; /* aux is in use */
	if (s->ra.where == CFI_SAME && m->has_undefined_ra) {
		rule->saved |= (uint8_t)(m->undefined_ra << 4);
		return true;
	}
	if (s->ra.where == CFI_IN_REGISTER && s->ra.off <= INT16_MAX) {
		rule->saved |= UNWIND_RA_REGISTER << 4;
		rule->aux = (int16_t)s->ra.off;
		return true;
	}
	rule->saved |= UNWIND_RA_AT_CFA << 4;
	return s->ra.where == CFI_AT_CFA && offset_in_words(m, s->ra.off, &rule->aux);
}

struct unwind_rule cfi_rule(const struct cfi_machine *m, const struct cfi_state *s)
{
	struct unwind_rule rule = { 0 };

	if (s->ra.where == CFI_UNDEFINED)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	if (s->cfa == UNWIND_CFA_NONE || s->cfa == UNWIND_CFA_UNSUPPORTED ||
	    !put_cfa(m, s, &rule) || !put_fp(m, s, &rule) || !put_ra(m, s, &rule))
		return unsupported;
	return rule;
}

/* ---- expressions ---- */

/* A small number, pushed as a literal or a constant. */
static bool read_literal(struct reader *r, int64_t *out)
{
	uint8_t op = reader_u8(r);

	if (op >= OP_LIT0 && op <= OP_LIT31)
		*out = op - OP_LIT0;
	else if (op == OP_CONST1U)
		*out = reader_u8(r);
	else if (op == OP_CONST1S)
		*out = (int8_t)reader_u8(r);
	else
		return false;
	return !r->bad;
}

static bool read_register(struct reader *r, uint32_t *reg, int64_t *off)
{
	uint8_t op = reader_u8(r);

	if (r->bad || op < OP_BREG0 || op > OP_BREG31)
		return false;
	*reg = op - OP_BREG0;
	*off = reader_sleb128(r);
	return !r->bad;
}

/* "+ n" in either of its two forms; "+ 0" may be left out. */
static bool read_addend(struct reader *r, int64_t *out)
{
	*out = 0;
	if (!reader_left(r) || *r->at == OP_DEREF)
		return true;
	if (*r->at == OP_PLUS_UCONST) {
		reader_u8(r);
		*out = (int64_t)reader_uleb(r);
		return !r->bad;
	}
	return read_literal(r, out) && reader_u8(r) == OP_PLUS && !r->bad;
}

static bool read_deref(struct reader *r)
{
	if (!reader_left(r) || *r->at != OP_DEREF)
		return false;
	reader_u8(r);
	return true;
}

/*
 * The linkers' rule of a PLT, where the second instruction of a 16-byte entry pushes a word: sp + 8
 * + ((pc & 15) >= N) * 8. `r` is behind sp + 8. On i386, words have 4 bytes.
 */
static bool read_plt(const struct cfi_machine *m, struct reader r, int64_t *threshold)
{
	int64_t off, mask, shift;
	uint32_t reg;

	return read_register(&r, &reg, &off) && reg == m->pc && off == 0 &&
	       read_literal(&r, &mask) && mask == 15 && reader_u8(&r) == OP_AND &&
	       read_literal(&r, threshold) && reader_u8(&r) == OP_GE && read_literal(&r, &shift) &&
	       shift < 4 && 1u << shift == m->word && reader_u8(&r) == OP_SHL &&
	       reader_u8(&r) == OP_PLUS && !r.bad && !reader_left(&r);
}

/*
 * [reg + n] + m, and [[reg + n] + k] + m. If 'S' marks a function as a signal frame, but it is
 * none, its caller is on another stack (OCaml 5's runtime).
 */
static void cfa_in_memory(const struct cfi_machine *m, uint32_t reg, struct reader r,
			  bool is_marked, struct cfi_state *s)
{
	enum unwind_cfa kind = reg == m->sp ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_FP_DEREF;
	int64_t addend;

	if ((reg != m->sp && reg != m->fp) || !read_addend(&r, &addend))
		return;
	if (read_deref(&r)) {
		s->inner = addend;
		if (reg != m->sp || !read_addend(&r, &addend))
			return;
		kind = UNWIND_CFA_SP_OTHER2;
	} else if (is_marked && reg == m->sp) {
		kind = UNWIND_CFA_SP_OTHER;
	}
	s->aux = addend;
	if (!reader_left(&r))
		s->cfa = kind;
}

/* reg + the length of vectors * n + m. `r` is behind reg. */
static bool uses_vector_length(const struct cfi_machine *m, struct reader r)
{
	return reader_left(&r) && reader_u8(&r) == OP_BREGX && reader_uleb(&r) == m->vg && !r.bad;
}

/* The known forms of CFA expressions: reg + n, those in memory, the PLT's. */
static void cfa_expression(const struct cfi_machine *m, struct reader r, bool is_marked,
			   struct cfi_state *s)
{
	int64_t off, addend;
	uint32_t reg;

	s->cfa = UNWIND_CFA_UNSUPPORTED;
	s->is_scalable = false;
	if (!read_register(&r, &reg, &off))
		return;
	if (uses_vector_length(m, r)) {
		s->is_scalable = true;
		return;
	}
	if (reg == m->sp && read_plt(m, r, &addend)) {
		s->cfa = UNWIND_CFA_PLT;
		s->expr_off = off;
		s->aux = addend;
	} else if (read_deref(&r)) {
		s->expr_off = off;
		cfa_in_memory(m, reg, r, is_marked, s);
	} else if (read_addend(&r, &addend) && !reader_left(&r)) {
		s->cfa = UNWIND_CFA_SP;
		s->reg = reg;
		s->off = (int64_t)((uint64_t)off + (uint64_t)addend);
	}
}

/* The place of a saved register, by expression: reg + n for the two registers that are followed. */
static struct cfi_saved saved_expression(const struct cfi_machine *m, struct reader r)
{
	struct cfi_saved saved = { CFI_ELSEWHERE, 0 };
	uint32_t reg;

	if (!read_register(&r, &reg, &saved.off) || reader_left(&r))
		return saved;
	saved.where = reg == m->fp ? CFI_AT_FP : reg == m->sp ? CFI_AT_SP : CFI_ELSEWHERE;
	return saved;
}

/* ---- instructions ---- */

static void set_register(struct cfi_run *run, uint64_t reg, struct cfi_saved saved)
{
	if (reg == run->machine->fp)
		run->state.fp = saved;
	else if (reg == run->machine->ra)
		run->state.ra = saved;
	else if (reg == run->machine->bx)
		run->state.bx = saved;
}

static void restore_register(struct cfi_run *run, uint64_t reg)
{
	static const struct cfi_saved same = { CFI_SAME, 0 };
	const struct cfi_state *initial = run->initial;

	set_register(run, reg,
		     !initial                  ? same
		     : reg == run->machine->fp ? initial->fp
					       : initial->ra);
}

/* Multiplied without overflow: a number out of range is no offset of a rule. */
static int64_t scale_offset(const struct cfi_run *run, int64_t factored)
{
	int64_t off;

	return __builtin_mul_overflow(factored, run->cie->data_align, &off) ? INT64_MAX : off;
}

static int64_t read_offset(struct cfi_run *run)
{
	return scale_offset(run, (int64_t)reader_uleb(&run->program));
}

static int64_t read_signed_offset(struct cfi_run *run)
{
	return scale_offset(run, reader_sleb128(&run->program));
}

static void define_cfa(struct cfi_run *run, uint64_t reg, int64_t off)
{
	run->state.cfa = UNWIND_CFA_SP;
	run->state.reg = (uint32_t)MIN(reg, (uint64_t)UINT32_MAX);
	run->state.off = off;
	run->state.aux = 0;
}

static struct reader read_block(struct reader *r)
{
	uint64_t size = reader_uleb(r);

	if (size > reader_left(r)) {
		r->bad = true;
		size = 0;
	}
	return reader_over(reader_bytes(r, (size_t)size), (size_t)size);
}

static void remember_state(struct cfi_run *run)
{
	if (run->n_remembered == CFI_MAX_REMEMBERED)
		run->is_bad = true;
	else
		run->remembered[run->n_remembered++] = run->state;
}

static void restore_state(struct cfi_run *run)
{
	if (run->n_remembered)
		run->state = run->remembered[--run->n_remembered];
	else
		run->is_bad = true;
}

static bool advance_location(struct cfi_run *run, uint64_t delta)
{
	uint64_t scaled_delta;

	if (__builtin_mul_overflow(delta, run->cie->code_align, &scaled_delta) ||
	    __builtin_add_overflow(run->at, scaled_delta, &run->at))
		run->at = UINT64_MAX;
	return scaled_delta != 0;
}

static bool set_location(struct cfi_run *run)
{
	uint64_t addr = elf_frames_address(run->frames, run->cie, &run->program);

	/* locations must ascend */
	if (addr < run->start + run->at) {
		run->is_bad = true;
		return false;
	}
	run->at = addr - run->start;
	return true;
}

static void save_register(struct cfi_run *run, uint64_t reg, int64_t off)
{
	set_register(run, reg, (struct cfi_saved){ CFI_AT_CFA, off });
}

static void in_register(struct cfi_run *run, uint64_t reg, uint64_t other)
{
	set_register(run, reg,
		     (struct cfi_saved){ CFI_IN_REGISTER,
					 (int64_t)MIN(other, (uint64_t)INT64_MAX) });
}

/* Instructions with their operand behind them. True if the instruction moves to another address. */
static bool cfi_run_extended(struct cfi_run *run, uint8_t op)
{
	struct reader *r = &run->program;
	struct cfi_state *s = &run->state;
	struct reader block;
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE: /* signatures are always removed: unwind_plain_address() */
		return false;
	case CFA_SET_LOC:
		return set_location(run);
	case CFA_ADVANCE_LOC1:
		return advance_location(run, reader_u8(r));
	case CFA_ADVANCE_LOC2:
		return advance_location(run, reader_u16(r));
	case CFA_ADVANCE_LOC4:
		return advance_location(run, reader_u32(r));
	case CFA_OFFSET_EXTENDED:
		reg = reader_uleb(r);
		save_register(run, reg, read_offset(run));
		return false;
	case CFA_OFFSET_EXTENDED_SF:
		reg = reader_uleb(r);
		save_register(run, reg, read_signed_offset(run));
		return false;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = reader_uleb(r);
		save_register(run, reg, scale_offset(run, -(int64_t)(reader_uleb(r) & INT64_MAX)));
		return false;
	case CFA_RESTORE_EXTENDED:
		restore_register(run, reader_uleb(r));
		return false;
	case CFA_UNDEFINED:
		set_register(run, reader_uleb(r), (struct cfi_saved){ CFI_UNDEFINED, 0 });
		return false;
	case CFA_SAME_VALUE:
		set_register(run, reader_uleb(r), (struct cfi_saved){ CFI_SAME, 0 });
		return false;
	case CFA_REGISTER:
		reg = reader_uleb(r);
		in_register(run, reg, reader_uleb(r));
		return false;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF: /* the second operand is skipped alike, signed or not */
		reg = reader_uleb(r);
		reader_sleb128(r);
		set_register(run, reg, (struct cfi_saved){ CFI_ELSEWHERE, 0 });
		return false;
	case CFA_EXPRESSION:
		reg = reader_uleb(r);
		block = read_block(r);
		set_register(run, reg, saved_expression(run->machine, block));
		return false;
	case CFA_VAL_EXPRESSION:
		reg = reader_uleb(r);
		read_block(r);
		set_register(run, reg, (struct cfi_saved){ CFI_ELSEWHERE, 0 });
		return false;
	case CFA_REMEMBER_STATE:
		remember_state(run);
		return false;
	case CFA_RESTORE_STATE:
		restore_state(run);
		return false;
	case CFA_DEF_CFA:
		reg = reader_uleb(r);
		define_cfa(run, reg, (int64_t)reader_uleb(r));
		return false;
	case CFA_DEF_CFA_SF:
		reg = reader_uleb(r);
		define_cfa(run, reg, read_signed_offset(run));
		return false;
	case CFA_DEF_CFA_REGISTER:
		define_cfa(run, reader_uleb(r), s->off);
		return false;
	case CFA_DEF_CFA_OFFSET:
		s->off = (int64_t)reader_uleb(r);
		return false;
	case CFA_DEF_CFA_OFFSET_SF:
		s->off = read_signed_offset(run);
		return false;
	case CFA_DEF_CFA_EXPRESSION:
		cfa_expression(run->machine, read_block(r), run->cie->is_signal, s);
		return false;
	case CFA_GNU_ARGS_SIZE:
		reader_uleb(r);
		return false;
	default:
		run->is_bad = true;
		return false;
	}
}

/* Runs to the next change of address, or to the end. */
static void cfi_run_row(struct cfi_run *run)
{
	while (run->program.at < run->program.end) {
		uint8_t op = *run->program.at++;
		bool moved = false;

		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			moved = advance_location(run, op & 0x3f);
			break;
		case CFA_OFFSET:
			save_register(run, op & 0x3f, read_offset(run));
			break;
		case CFA_RESTORE:
			restore_register(run, op & 0x3f);
			break;
		default:
			moved = cfi_run_extended(run, op);
			break;
		}
		if (run->is_bad || run->program.bad)
			break;
		if (moved)
			return;
	}
	run->is_bad = run->is_bad || run->program.bad;
	run->is_over = true;
}

bool cfi_initial(const struct cfi_machine *m, const struct elf_frames *frames,
		 const struct elf_cie *cie, struct cfi_state *out)
{
	struct cfi_run run = {
		.machine = m,
		.frames = frames,
		.cie = cie,
		.program = cie->program,
	};

	if (cie->return_register != m->ra)
		return false;
	cfi_run_row(&run);
	*out = run.state;
	return !run.is_bad && run.at == 0;
}

void cfi_begin(struct cfi_run *run, const struct cfi_machine *m, const struct elf_frames *frames,
	       const struct elf_fde *fde, const struct cfi_state *initial)
{
	/* not the remembered states, which are large and written before they are read */
	run->machine = m;
	run->frames = frames;
	run->cie = fde->cie;
	run->initial = initial;
	run->state = *initial;
	run->program = fde->program;
	run->start = fde->link_addr;
	run->size = fde->size;
	run->at = 0;
	run->record_at = 0;
	run->is_over = run->is_bad = false;
	run->n_remembered = 0;
}

/*
 * In a kernel's signal frame, all registers of the interrupted code are saved. A marked function
 * that is no signal frame has its return address where a call puts it.
 */
static bool is_signal_frame(const struct cfi_run *run)
{
	const struct cfi_saved *ra = &run->state.ra;

	return run->cie->is_signal &&
	       !(run->machine->has_marked_functions && ra->where == CFI_AT_CFA && ra->off == -8);
}

static bool has_record_of_sve(const struct cfi_state *s)
{
	return s->cfa == UNWIND_CFA_UNSUPPORTED && s->is_scalable && s->fp.where == CFI_AT_SP;
}

static struct unwind_rule rule_of_row(struct cfi_run *run, uint64_t offset, bool had_record)
{
	static const struct unwind_rule by_fp = { .cfa = UNWIND_CFA_NONE };
	enum { INSTRUCTION = 4 };

	if (run->is_bad)
		return unsupported;
	if (is_signal_frame(run))
		return cfi_signal_rule(run->machine, &run->state);
	if (!has_record_of_sve(&run->state))
		return cfi_rule(run->machine, &run->state);
	if (had_record)
		return by_fp;
	run->record_at = offset + INSTRUCTION < MIN(run->at, run->size) ? offset + INSTRUCTION : 0;
	return unsupported;
}

bool cfi_next_row(struct cfi_run *run, uint64_t *offset, struct unwind_rule *rule)
{
	bool had_record = run->state.fp.where == CFI_AT_SP;

	if (run->record_at) {
		*offset = run->record_at;
		*rule = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
		run->record_at = 0;
		return true;
	}
	if (run->is_over || run->at >= run->size)
		return false;
	*offset = run->at;
	cfi_run_row(run);
	assert(run->is_over || run->at > *offset);
	*rule = rule_of_row(run, *offset, had_record);
	return true;
}
