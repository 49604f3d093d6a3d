/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From call frame information to a table: find the entry of each address, sort the entries, and
 * turn each program directly into rows.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "elf/elf_code.h"
#include "elf/elf_file.h"
#include "elf/elf_sframe.h"
#include "elf/elf_symbols.h"
#include "elf/elf_trampoline.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

#define PADDING 16 /* functions are aligned to this, or start right behind another */

/* A CIE and the state behind its program. */
struct known_cie {
	struct elf_cie cie;
	struct cfi_state initial;
	const struct elf_frames *frames;
	bool is_usable;
};

/*
 * Go's functions that switch to another stack, which their call frame information leaves out. They
 * keep the frame pointer, which leads back to the goroutine's stack (runtime/asm_amd64.s).
 */
#define BY_FRAME_POINTER                                                                       \
	{                                                                                      \
		.cfa = UNWIND_CFA_FP_OTHER, .off = 2, .saved = UNWIND_FP_AT_CFA, .fp = -16 / 8 \
	}
static const struct stack_switch {
	const char *name;
	uint16_t from; /* where the CFA is this far from the stack pointer, or further */
	struct unwind_rule rule;
} stack_switches[] = {
	{ "runtime.systemstack", 16, BY_FRAME_POINTER },
	{ "runtime.asmcgocall", 16, BY_FRAME_POINTER },
	/* these call the vdso */
	{ "runtime.nanotime1", 16, BY_FRAME_POINTER },
	{ "runtime.walltime", 16, BY_FRAME_POINTER },
	{ "time.now", 16, BY_FRAME_POINTER },
	/* the goroutine stops here, and does not call the thread's next code */
	{ "runtime.mcall", 24, { .cfa = UNWIND_CFA_END } },
	{ "_rt0_amd64_linux", 8, { .cfa = UNWIND_CFA_END } },
	{ "_rt0_amd64", 8, { .cfa = UNWIND_CFA_END } },
	/* the new thread begins behind its return */
	{ "runtime.clone", 8, { .cfa = UNWIND_CFA_END } },
	{ "runtime.morestack", 8, { .cfa = UNWIND_CFA_LEAF, .off = 1 } },
};

#define GO_PROLOGUE   4 /* bytes: push %rbp; mov %rsp, %rbp */
#define LONGEST_CLONE 256
#define RETURN_X86_64 0xc3

struct switch_place {
	uint64_t link_addr;
	const struct stack_switch *changes;
};

#define MAX_SWITCHES 16

/* The source of rules for some addresses: an FDE, or, without a CIE, one rule for all of them. */
struct cover {
	uint64_t file_off, size;
	uint64_t link_addr;
	const uint8_t *program;
	uint32_t program_size;
	uint32_t cie; /* number of the known CIE, or NO_CIE, or OF_SFRAME: program_size is the
			 function's */
	struct unwind_rule rule;
	const struct stack_switch *changes; /* or NULL */
	uint32_t changes_from;              /* an offset in the function */
};

#define NO_CIE          UINT32_MAX
#define OF_SFRAME       (UINT32_MAX - 1)
#define RADIX_BITS      11
#define MAX_SFRAME_ROWS (16u << 20) /* a hostile PLT has a row a byte */
#define RADIX_MASK      ((1u << RADIX_BITS) - 1)
#define MAX_LOADS       64

#define MAX_SIGRETURNS    16 /* of an image; real ones have one or two */
#define LONGEST_SIGRETURN 32 /* with padding */

struct sort_key {
	uint64_t file_off;
	uint32_t cover;
};

/* The sections with call frame information. If they overlap, the last one counts. */
enum { FRAMES_OF_DEBUG_FILE, FRAMES_DEBUG, FRAMES_EH, N_FRAMES };

/* Recently used rules in front of the map of all. */
#define FRONT_SIZE 512

struct builder {
	const struct elf_file *elf, *debug; /* NULL: no debug file */
	const struct cfi_machine *machine;
	struct elf_frames frames[N_FRAMES];
	struct elf_sframe sframe; /* functions by number, if they cover anything */
	struct elf_segment loads[MAX_LOADS];
	uint32_t n_loads, last_load; /* last_load: the segment of the last address */
	VEC(struct known_cie) cies;
	VEC(struct cover) covers;
	struct elf_code code;
	size_t gap_code; /* the range of code of the next gap */

	VEC(uint64_t) rules;
	struct intmap rule_of;
	struct {
		uint64_t bits;
		uint32_t rule;
	} front[FRONT_SIZE];

	VEC(uint32_t) pages;
	VEC(uint32_t) rows;
	uint64_t first_page;
	uint32_t last_rule;
	uint32_t n_functions, n_unsupported;
	uint32_t n_sigreturns;
	uint32_t n_halves;       /* places in bare code without a whole frame */
	struct unwind_rule bare; /* of code without call frame information */
	struct switch_place switches[MAX_SWITCHES];
	uint32_t n_switches;
	uint64_t covered_bytes;
	bool is_full;
};

static void builder_fini(struct builder *b)
{
	vec_fini(&b->cies);
	vec_fini(&b->covers);
	elf_code_fini(&b->code);
	vec_fini(&b->rules);
	vec_fini(&b->pages);
	vec_fini(&b->rows);
	intmap_fini(&b->rule_of);
	for (int i = 0; i < N_FRAMES; i++)
		elf_frames_fini(&b->frames[i]);
}

/* ---- sources of each address ---- */

/* The segments that have bytes in the file. */
static void read_loads(struct builder *b)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(b->elf, i, &s) && b->n_loads < MAX_LOADS; i++) {
		if (s.type != PT_LOAD || s.file_off >= b->elf->size)
			continue;
		s.file_size = MIN(s.file_size, b->elf->size - s.file_off);
		b->loads[b->n_loads++] = s;
	}
}

/* From link addresses to file offsets; parts outside of the file are left out. */
static bool place_cover(struct builder *b, uint64_t link_addr, uint64_t *size, uint64_t *file_off)
{
	struct elf_segment *s = &b->loads[b->last_load];

	for (uint32_t i = 0; link_addr - s->link_addr >= s->file_size; i++) {
		if (i == b->n_loads)
			return false;
		b->last_load = i;
		s = &b->loads[i];
	}
	*file_off = s->file_off + (link_addr - s->link_addr);
	*size = MIN(*size, s->file_size - (link_addr - s->link_addr));
	return true;
}

static void cover_with_rule(struct builder *b, uint64_t link_addr, uint64_t size,
			    struct unwind_rule rule)
{
	struct cover c = { .link_addr = link_addr, .size = size, .cie = NO_CIE, .rule = rule };

	if (size && place_cover(b, link_addr, &c.size, &c.file_off))
		vec_push(&b->covers, c);
}

static uint32_t cie_number(struct builder *b, const struct elf_frames *frames,
			   const struct elf_cie *cie)
{
	struct known_cie *known;

	/* CIEs are few, and FDEs of one CIE come in runs */
	for (size_t i = b->cies.n; i-- > 0 && i + 8 >= b->cies.n;)
		if (b->cies.data[i].cie.at == cie->at)
			return (uint32_t)i;
	known = vec_add(&b->cies);
	known->cie = *cie;
	known->frames = frames;
	known->is_usable = cfi_initial(b->machine, frames, &known->cie, &known->initial);
	return (uint32_t)(b->cies.n - 1);
}

/*
 * Go's trampoline has the call frame information of an ordinary function, which is wrong: the
 * signal frame is on the stack. A caller is looked up one byte before its address.
 */
static bool cover_sigreturn(struct builder *b, const struct cover *c)
{
	struct reader code = reader_over(b->elf->base + c->file_off, (size_t)c->size);
	size_t size;

	if (c->size > LONGEST_SIGRETURN ||
	    elf_trampoline_find(ELF_SIGRETURN, b->elf->machine, code, &size) != code.at)
		return false;
	cover_with_rule(b, c->link_addr - 1, c->size + 1, b->machine->signal);
	return true;
}

static const struct stack_switch *changes_at(const struct builder *b, uint64_t link_addr)
{
	for (uint32_t i = 0; i < b->n_switches; i++)
		if (b->switches[i].link_addr == link_addr)
			return b->switches[i].changes;
	return NULL;
}

static uint32_t changes_from(const struct builder *b, const struct cover *c)
{
	const uint8_t *code = b->elf->base + c->file_off, *end;

	if (unwind_rule_cfa(c->changes->rule) == UNWIND_CFA_FP_OTHER)
		return GO_PROLOGUE;
	if (strcmp(c->changes->name, "runtime.clone") != 0)
		return 0;
	end = memchr(code, RETURN_X86_64, (size_t)MIN(c->size, (uint64_t)LONGEST_CLONE));
	return end ? (uint32_t)(end - code) + 1 : UINT32_MAX;
}

/*
 * For programs with .sframe in place of .eh_frame: the C library's start files have a bit of
 * .eh_frame all the same.
 */
static void cover_with_sframe(struct builder *b)
{
	struct elf_sframe_function f;
	struct elf_frames eh;

	if (!elf_sframe_open(&b->sframe, b->elf) ||
	    (elf_frames_eh(b->elf, &eh) && eh.size >= reader_left(&b->sframe.rows)))
		return;
	for (uint32_t i = 0; elf_sframe_function(&b->sframe, i, &f); i++) {
		struct cover c = { .link_addr = f.link_addr, .size = f.size };

		if (!f.n_rows || !f.size || !place_cover(b, f.link_addr, &c.size, &c.file_off))
			continue;
		c.cie = OF_SFRAME;
		c.program_size = i;
		vec_push(&b->covers, c);
		b->n_functions++;
	}
}

static void cover_with_functions(struct builder *b, const struct elf_frames *frames)
{
	const uint8_t *last_cie = NULL;
	struct elf_frames_it it;
	struct elf_fde fde;
	uint32_t cie = 0;

	elf_frames_begin(&it, frames);
	while (elf_frames_next(&it, &fde)) {
		struct cover c = { .link_addr = fde.link_addr, .size = fde.size };

		/* discarded functions (--gc-sections) leave an FDE for address 0 */
		if (!fde.link_addr || !fde.size ||
		    !place_cover(b, fde.link_addr, &c.size, &c.file_off))
			continue;
		if (frames->is_debug && cover_sigreturn(b, &c))
			continue;
		if (fde.cie->at != last_cie) {
			last_cie = fde.cie->at;
			cie = cie_number(b, frames, fde.cie);
		}
		c.cie = cie;
		c.changes = changes_at(b, fde.link_addr);
		c.changes_from = c.changes ? changes_from(b, &c) : 0;
		c.program = fde.program.at;
		c.program_size = (uint32_t)MIN(reader_left(&fde.program), (size_t)UINT32_MAX);
		vec_push(&b->covers, c);
		b->n_functions++;
	}
}

#define SP_PLUS(n)                                               \
	{                                                        \
		.cfa = UNWIND_CFA_SP, .off = (uint16_t)((n) / 8) \
	}

#define IN_LR                                                    \
	{                                                        \
		.cfa = UNWIND_CFA_SP, .saved = UNWIND_RA_LR << 4 \
	}

/*
 * Stubs without call frame information, as lld makes them. On x86-64 the first
 * entry of .plt starts with one word pushed and pushes another; the rest push
 * one in their second instruction. On AArch64 the first entry saves x16 and x30.
 */
static const struct plt_rule {
	uint16_t machine;
	const char *section;
	uint32_t start, end; /* of the section */
	struct unwind_rule rule;
} plt_rules[] = {
	{ EM_X86_64, ".plt", 0, 6, SP_PLUS(16) },
	{ EM_X86_64, ".plt", 6, 16, SP_PLUS(24) },
	{ EM_X86_64, ".plt", 16, UINT32_MAX, { .cfa = UNWIND_CFA_PLT, .off = 1, .aux = 11 } },
	{ EM_X86_64, ".plt.sec", 0, UINT32_MAX, SP_PLUS(8) },
	{ EM_X86_64, ".plt.got", 0, UINT32_MAX, SP_PLUS(8) },
	{ EM_X86_64, ".iplt", 0, UINT32_MAX, SP_PLUS(8) },
	{ EM_AARCH64, ".plt", 0, 4, IN_LR },
	{ EM_AARCH64, ".plt", 4, 32, SP_PLUS(16) },
	{ EM_AARCH64, ".plt", 32, UINT32_MAX, IN_LR },
	{ EM_AARCH64, ".iplt", 0, UINT32_MAX, IN_LR },
};

static void cover_plt(struct builder *b)
{
	struct elf_section s;

	for (size_t i = 0; i < ARRAY_SIZE(plt_rules); i++) {
		const struct plt_rule *p = &plt_rules[i];

		if (p->machine != b->elf->machine || !elf_section_named(b->elf, p->section, &s) ||
		    !(s.flags & SHF_EXECINSTR) || s.size <= p->start)
			continue;
		cover_with_rule(b, s.link_addr + p->start, MIN(s.size, p->end) - p->start, p->rule);
	}
}

/* Sorts by file offset, by radix. Covers of one start keep their order: the last counts. */
static struct sort_key *sort_covers(const struct builder *b)
{
	struct sort_key *keys = xcalloc(b->covers.n + 1, sizeof(*keys));
	struct sort_key *other = xcalloc(b->covers.n + 1, sizeof(*other)), *swap;
	uint64_t highest = 0;

	for (size_t i = 0; i < b->covers.n; i++) {
		keys[i] = (struct sort_key){ b->covers.data[i].file_off, (uint32_t)i };
		highest = MAX(highest, keys[i].file_off);
	}
	for (unsigned int shift = 0; shift < 64 && highest >> shift; shift += RADIX_BITS) {
		size_t starts[(1 << RADIX_BITS) + 1] = { 0 };

		for (size_t i = 0; i < b->covers.n; i++)
			starts[(keys[i].file_off >> shift & RADIX_MASK) + 1]++;
		for (size_t i = 0; i < RADIX_MASK; i++)
			starts[i + 1] += starts[i];
		for (size_t i = 0; i < b->covers.n; i++)
			other[starts[keys[i].file_off >> shift & RADIX_MASK]++] = keys[i];
		swap = keys;
		keys = other;
		other = swap;
	}
	free(other);
	return keys;
}

/* ---- rows ---- */

static uint32_t rule_number(struct builder *b, struct unwind_rule rule)
{
	uint64_t bits;
	uint32_t slot, *number;
	bool is_new;

	memcpy(&bits, &rule, sizeof(bits));
	slot = (uint32_t)(bits * 0x9e3779b97f4a7c15ull >> 55);
	if (b->front[slot].bits == bits && bits)
		return b->front[slot].rule;
	number = intmap_put(&b->rule_of, bits, &is_new);
	if (is_new) {
		if (b->rules.n == UNWIND_MAX_RULES) {
			b->is_full = true;
			return 0;
		}
		*number = (uint32_t)b->rules.n;
		vec_push(&b->rules, bits);
	}
	b->front[slot].bits = bits;
	b->front[slot].rule = *number;
	return *number;
}

/* Opens the pages up to the one of `file_off`, each with the rule that continues into it. */
static void open_pages(struct builder *b, uint64_t file_off)
{
	uint64_t page = file_off >> UNWIND_PAGE_BITS;

	if (!b->pages.n)
		b->first_page = page;
	while (b->pages.n <= page - b->first_page) {
		vec_push(&b->pages, (uint32_t)b->rows.n);
		vec_push(&b->rows, unwind_row(0, b->last_rule));
	}
}

/* The rule from here on. Offsets ascend; of two rows at one place the second counts. */
static void emit_row(struct builder *b, uint64_t file_off, uint32_t rule)
{
	uint32_t *last, low = file_off & (UNWIND_PAGE_SIZE - 1);

	if (rule == b->last_rule)
		return;
	if (file_off >> UNWIND_PAGE_BITS >= b->first_page + b->pages.n || !b->pages.n)
		open_pages(b, file_off);
	last = &b->rows.data[b->rows.n - 1];
	if (*last >> UNWIND_RULE_BITS == low)
		*last = unwind_row(low, rule);
	else
		vec_push(&b->rows, unwind_row(low, rule));
	b->last_rule = rule;
}

/* The first place in [offset, next) of a function with this rule where it runs on another stack. */
static uint64_t change_in(const struct cover *c, uint64_t offset, uint64_t next,
			  struct unwind_rule rule)
{
	uint64_t at = MAX(offset, (uint64_t)c->changes_from);

	if (!c->changes || unwind_rule_cfa(rule) != UNWIND_CFA_SP ||
	    unwind_rule_offset(rule) < c->changes->from)
		return UINT64_MAX;
	return at < next ? at : UINT64_MAX;
}

/*
 * Go's call frame information leaves the frame pointer out. Functions with a frame save it first.
 */
static void add_go_fp(struct unwind_rule *rule)
{
	if (unwind_rule_cfa(*rule) != UNWIND_CFA_SP || unwind_rule_offset(*rule) < 16 ||
	    unwind_rule_fp(*rule) != UNWIND_FP_SAME)
		return;
	rule->saved |= UNWIND_FP_AT_CFA;
	rule->fp = -2;
}

static void emit_function(struct builder *b, const struct cover *c, uint64_t end)
{
	const struct known_cie *known = &b->cies.data[c->cie];
	struct elf_fde fde = {
		.cie = &known->cie,
		.link_addr = c->link_addr,
		.size = end - c->file_off,
		.program = reader_over(c->program, c->program_size),
	};
	struct unwind_rule rule, last = { 0 };
	struct cfi_run run;
	uint32_t number = 0;
	uint64_t offset;

	if (!known->is_usable) {
		emit_row(b, c->file_off,
			 rule_number(b, (struct unwind_rule){ UNWIND_CFA_UNSUPPORTED }));
		b->n_unsupported++;
		return;
	}
	cfi_begin(&run, b->machine, known->frames, &fde, &known->initial);
	while (cfi_next_row(&run, &offset, &rule)) {
		uint64_t next = run.is_over ? run.size : run.at;
		uint64_t change = change_in(c, offset, next, rule);

		if (change == offset)
			rule = c->changes->rule;
		else if (b->bare.aux && known->frames->is_debug)
			add_go_fp(&rule);
		if (offset && !memcmp(&rule, &last, sizeof(rule)))
			continue;
		last = rule;
		number = rule_number(b, rule);
		emit_row(b, c->file_off + offset, number);
		b->n_unsupported += unwind_rule_cfa(rule) == UNWIND_CFA_UNSUPPORTED;
		if (change > offset && change < next) {
			last = c->changes->rule;
			emit_row(b, c->file_off + change, rule_number(b, last));
		}
	}
}

static struct unwind_rule rule_of_sframe(const struct builder *b, const struct elf_sframe_row *row)
{
	struct cfi_state state = {
		.cfa = UNWIND_CFA_SP, /* any register */
		.reg = row->is_by_fp ? b->machine->fp : b->machine->sp,
		.off = row->cfa,
	};

	if (row->is_end)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	if (row->has_ra)
		state.ra = (struct cfi_saved){ CFI_AT_CFA, row->ra };
	if (row->has_fp)
		state.fp = (struct cfi_saved){ CFI_AT_CFA, row->fp };
	return cfi_rule(b->machine, &state);
}

/* The rows of a function, or of each of its pieces. Offsets ascend, or the rest is left out. */
static void emit_sframe(struct builder *b, const struct cover *c, uint64_t end)
{
	uint64_t size = end - c->file_off, piece = 0;
	struct elf_sframe_function f;
	struct elf_sframe_row row;

	elf_sframe_function(&b->sframe, c->program_size, &f);
	do {
		struct elf_sframe_function rows = f;
		uint64_t least = 0, limit = f.repeat ? MIN(size, piece + f.repeat) : size;

		while (elf_sframe_next(&b->sframe, &rows, &row)) {
			uint64_t at = piece + row.offset;
			struct unwind_rule rule = rule_of_sframe(b, &row);

			if (row.offset < least || at >= limit)
				break;
			emit_row(b, c->file_off + at, rule_number(b, rule));
			b->n_unsupported += unwind_rule_cfa(rule) == UNWIND_CFA_UNSUPPORTED;
			least = row.offset + 1ull;
		}
		piece += f.repeat;
	} while (f.repeat && piece < size && b->rows.n < MAX_SFRAME_ROWS);
}

/* Of bare code that keeps frame pointers: behind the push, and without a frame. */
static const struct unwind_rule no_frame = { .cfa = UNWIND_CFA_SP, .off = 1 };
static const struct unwind_rule half_a_frame = {
	.cfa = UNWIND_CFA_SP, .off = 2, .saved = UNWIND_FP_AT_CFA, .fp = -16 / 8
};

#define MAX_HALVES (1u << 20) /* a hostile image may have one every two bytes */

/* Also jumps to other functions: a jump inside a function does not follow pop %rbp. */
static bool leaves_the_function(uint8_t op)
{
	return op == RETURN_X86_64 || op == 0xe9 || op == 0xeb;
}

/*
 * A function with a frame pointer has no frame before the end of its "push %rbp; mov %rsp, %rbp",
 * nor where it returns or jumps to another function. These places have their own rows.
 */
static void emit_bare(struct builder *b, const uint8_t *at, const uint8_t *end)
{
	static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5 };
	uint32_t bare = rule_number(b, b->bare), none = rule_number(b, no_frame),
		 half = rule_number(b, half_a_frame);

	emit_row(b, (uint64_t)(at - b->elf->base), bare);
	if (b->elf->machine != EM_X86_64 || unwind_rule_cfa(b->bare) != UNWIND_CFA_NONE)
		return;
	for (; end - at >= 2 && b->n_halves < MAX_HALVES; at++) {
		uint64_t off = (uint64_t)(at - b->elf->base);

		if (at[0] == 0x41) { /* REX.B: the next byte would push another register */
			at++;
		} else if (at[0] == prologue[0] && end - at >= (ptrdiff_t)sizeof(prologue) &&
			   !memcmp(at, prologue, sizeof(prologue))) {
			emit_row(b, off, none);
			emit_row(b, off + 1, half);
			emit_row(b, off + sizeof(prologue), bare);
			b->n_halves++;
		} else if (at[0] == 0x5d && leaves_the_function(at[1])) { /* behind pop %rbp */
			emit_row(b, off + 1, none);
			emit_row(b, off + 2, bare);
			b->n_halves++;
		}
	}
}

/*
 * Code without call frame information. Its rule is the frame pointer, except in trampolines, which
 * are found by their instructions (elf/elf_trampoline.h). A trampoline's address is looked up one
 * byte before.
 */
static void emit_bare_code(struct builder *b, struct reader code)
{
	const uint8_t *found;
	size_t size;

	while (b->n_sigreturns < MAX_SIGRETURNS &&
	       (found = elf_trampoline_find(ELF_SIGRETURN, b->elf->machine, code, &size)) != NULL) {
		uint64_t at = (uint64_t)(found - b->elf->base);

		if (found > code.at)
			emit_bare(b, code.at, found - 1);
		emit_row(b, found > code.at ? at - 1 : at, rule_number(b, b->machine->signal));
		code.at = found + size;
		b->n_sigreturns++;
	}
	emit_bare(b, code.at, code.end);
	emit_row(b, (uint64_t)(code.end - b->elf->base), 0);
}

/* Adds rows for code that no table covers, from one file offset to another. */
static void emit_gap(struct builder *b, uint64_t from, uint64_t to)
{
	emit_row(b, from, 0);
	for (; b->gap_code < b->code.n; b->gap_code++) {
		const struct elf_code_range *r = &b->code.data[b->gap_code];
		uint64_t start = MAX(from, r->file_off), end = MIN(to, r->file_off + r->size);

		if (start < end)
			emit_bare_code(b, reader_over(b->elf->base + start, (size_t)(end - start)));
		if (to < r->file_off + r->size)
			return; /* the next gap may lie in this range, too */
	}
}

static bool is_padding(uint64_t from, uint64_t to)
{
	return to - from < PADDING && to % PADDING == 0;
}

static void emit_all(struct builder *b, const struct sort_key *keys)
{
	uint64_t covered = 0;

	for (size_t i = 0; i < b->covers.n; i++) {
		const struct cover *c = &b->covers.data[keys[i].cover];
		uint64_t end = c->file_off + c->size;

		if (i + 1 < b->covers.n)
			end = MIN(end, keys[i + 1].file_off);
		if (end <= c->file_off)
			continue;
		if (c->file_off > covered && !is_padding(covered, c->file_off))
			emit_gap(b, covered, c->file_off);
		else if (c->file_off > covered)
			b->covered_bytes += c->file_off - covered;
		b->covered_bytes += end - c->file_off;
		if (c->cie == NO_CIE)
			emit_row(b, c->file_off, rule_number(b, c->rule));
		else if (c->cie == OF_SFRAME)
			emit_sframe(b, c, end);
		else
			emit_function(b, c, end);
		covered = end;
		/* Row numbers have 32 bits. */
		b->is_full = b->is_full || b->rows.n > UINT32_MAX / 2;
		if (b->is_full)
			return;
	}
	emit_gap(b, covered, UINT64_MAX);
}

/* ---- the block ---- */

static uint64_t code_bytes(const struct builder *b)
{
	uint64_t sum = 0;

	vec_foreach (&b->code, r)
		sum += r->size;
	return sum;
}

/*
 * OCaml's compiler keeps its stack in rbx around calls of C on the other stack. The runtime's
 * functions have a mark for that, but these do not. So in such an image, all frames that count from
 * rbx may be on any stack.
 */
static void free_registers(struct builder *b)
{
	bool leaves = false;

	vec_foreach (&b->rules, bits) {
		enum unwind_cfa cfa = (enum unwind_cfa)(*bits & 15);

		leaves |= cfa == UNWIND_CFA_SP_OTHER || cfa == UNWIND_CFA_SP_OTHER2;
	}
	vec_foreach (&b->rules, bits) {
		if (leaves && (*bits & 15) == UNWIND_CFA_REGISTER)
			*bits = (*bits & ~15ull) | UNWIND_CFA_REGISTER_OTHER;
	}
}

/* ---- Haskell ---- */

static bool is_go(const struct elf_file *elf)
{
	struct elf_section s;

	return elf_section_named(elf, ".gopclntab", &s) ||
	       elf_section_named(elf, ".data.rel.ro.gopclntab", &s);
}

/* GHC's code has its stack in the heap, at rbp, and call frame information only with -g. */
static const struct unwind_rule on_heap_stack = { .cfa = UNWIND_CFA_LEAF };

static bool has_symbol(const struct elf_file *elf, uint32_t table, const char *name)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	if (elf_symbols_begin(&it, elf, table))
		while (elf_symbols_next(&it, &symbol))
			if (!strcmp(symbol.name, name))
				return true;
	return false;
}

/* An image with much code without rules, whose functions GHC's runtime enters. */
static bool is_of_ghc(const struct builder *b)
{
	static const char name[] = "stg_upd_frame_info";
	uint64_t covered = 0, code = code_bytes(b);

	vec_foreach (&b->covers, c)
		covered += c->size;
	return b->elf->machine == EM_X86_64 && covered < code - code / 16 && !is_go(b->elf) &&
	       (has_symbol(b->elf, SHT_SYMTAB, name) || has_symbol(b->elf, SHT_DYNSYM, name));
}

/* GHC's rules: the return address is at rbp, or above. No other compiler has them. */
static void mark_heap_stacks(struct builder *b)
{
	vec_foreach (&b->rules, bits) {
		struct unwind_rule rule;

		memcpy(&rule, bits, sizeof(rule));
		if (unwind_rule_cfa(rule) == UNWIND_CFA_FP &&
		    unwind_rule_ra(rule) == UNWIND_RA_AT_CFA && rule.aux >= 0)
			memcpy(bits, &on_heap_stack, sizeof(on_heap_stack));
	}
}

static struct unwind_header *pack_block(const struct builder *b)
{
	size_t rules = b->rules.n * 8, pages = b->pages.n * 4, rows = b->rows.n * 4;
	size_t size = sizeof(struct unwind_header) + rules + pages + 4 + rows;
	struct unwind_header *h = xmalloc(size);
	uint32_t end = (uint32_t)b->rows.n;
	uint8_t *at = (uint8_t *)(h + 1);

	*h = (struct unwind_header){
		.version = UNWIND_VERSION,
		.machine = b->elf->machine,
		.size = size,
		.first_page = (uint32_t)b->first_page,
		.n_pages = (uint32_t)b->pages.n,
		.n_rows = end,
		.n_rules = (uint32_t)b->rules.n,
		.n_functions = b->n_functions,
		.n_unsupported = b->n_unsupported,
		.code_bytes = code_bytes(b),
	};
	h->bare_bytes = h->code_bytes - MIN(h->code_bytes, b->covered_bytes);
	memcpy(h->magic, UNWIND_MAGIC, sizeof(h->magic));
	elf_build_id(b->elf, &h->build_id);
	at = mempcpy(at, b->rules.data, rules);
	if (pages)
		at = mempcpy(at, b->pages.data, pages);
	at = mempcpy(at, &end, sizeof(end));
	if (rows)
		memcpy(at, b->rows.data, rows);
	return h;
}

/* ---- code on another stack than its caller ---- */

static const struct stack_switch *switch_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(stack_switches); i++) {
		size_t n = strlen(stack_switches[i].name);

		/* assembly of another calling convention has a mark */
		if (!strncmp(name, stack_switches[i].name, n) &&
		    (!name[n] || !strcmp(name + n, ".abi0")))
			return &stack_switches[i];
	}
	return NULL;
}

static void find_switches(struct builder *b)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	if (b->elf->machine != EM_X86_64 || !is_go(b->elf))
		return;
	b->bare.aux = UNWIND_FP_ANYWHERE;
	if (!elf_symbols_begin(&it, b->elf, SHT_SYMTAB))
		return;
	while (b->n_switches < MAX_SWITCHES && elf_symbols_next(&it, &symbol)) {
		const struct stack_switch *changes = switch_named(symbol.name);

		if (changes)
			b->switches[b->n_switches++] =
				(struct switch_place){ symbol.link_addr, changes };
	}
}

#define MANY_SYMBOLS 16384 /* of a table; libc has 3,000 */

/* Whether it has makecontext(3): the C library, or a static program. */
static bool has_contexts(const struct elf_file *elf)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	if (!elf_symbols_begin(&it, elf, SHT_DYNSYM))
		return true;
	for (int i = 0; i < MANY_SYMBOLS && elf_symbols_next(&it, &symbol); i++)
		if (!strcmp(symbol.name, "makecontext") && symbol.section != SHN_UNDEF)
			return true;
	return false;
}

/*
 * The call frame information of a context's first frame describes a caller, but there is none. Its
 * caller's address is looked up one byte before.
 */
static void cover_start_context(struct builder *b)
{
	static const struct unwind_rule end = { .cfa = UNWIND_CFA_END };
	size_t size;

	if (b->elf->machine != EM_X86_64 || !has_contexts(b->elf))
		return;
	vec_foreach (&b->code, r) {
		struct reader code = reader_over(b->elf->base + r->file_off, (size_t)r->size);
		const uint8_t *found =
			elf_trampoline_find(ELF_START_CONTEXT, b->elf->machine, code, &size);

		if (!found)
			continue;
		cover_with_rule(b, r->link_addr + (uint64_t)(found - code.at) - 1, 1, end);
		cover_with_rule(b, r->link_addr + (uint64_t)(found - code.at), size, end);
	}
}

static void collect_covers(struct builder *b)
{
	read_loads(b);
	elf_code_find(b->elf, &b->code);
	find_switches(b);
	/* of two covers at one place the later counts: real entries over known forms */
	cover_plt(b);
	cover_with_sframe(b);
	if (b->debug && elf_frames_debug(b->debug, &b->frames[FRAMES_OF_DEBUG_FILE]))
		cover_with_functions(b, &b->frames[FRAMES_OF_DEBUG_FILE]);
	if (elf_frames_debug(b->elf, &b->frames[FRAMES_DEBUG]))
		cover_with_functions(b, &b->frames[FRAMES_DEBUG]);
	if (elf_frames_eh(b->elf, &b->frames[FRAMES_EH]))
		cover_with_functions(b, &b->frames[FRAMES_EH]);
	cover_start_context(b);
	if (is_of_ghc(b))
		b->bare = on_heap_stack;
}

int unwind_build(const struct elf_file *elf, const struct elf_file *debug,
		 struct unwind_header **out, struct error *err)
{
	struct builder b = {
		.elf = elf,
		.debug = debug,
		.machine = cfi_machine_of(elf->machine),
	};
	struct sort_key *keys;
	int r = 0;

	if (!b.machine || !elf->is_64)
		return error_set(err, -ENOTSUP, "stacks of this processor (ELF machine %u) %s",
				 elf->machine, "are not walked; only x86-64 and AArch64 are");
	rule_number(&b, (struct unwind_rule){ 0 });
	collect_covers(&b);
	keys = sort_covers(&b);
	emit_all(&b, keys);
	free(keys);
	free_registers(&b);
	mark_heap_stacks(&b);
	if (b.is_full || b.first_page + b.pages.n > UINT32_MAX)
		r = error_set(err, -EFBIG, "more unwind rows or rules than a table can name");
	else
		*out = pack_block(&b);
	builder_fini(&b);
	return r;
}
