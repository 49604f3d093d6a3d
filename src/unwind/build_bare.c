/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/build_bare.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "elf/elf_file.h"
#include "elf/elf_links.h"
#include "elf/elf_symbols.h"
#include "pt/insn.h"
#include "unwind/code_frames.h"

#define PADDING     16         /* functions are aligned to this, or start right behind another */
#define STARTS_MAX  (1u << 20) /* of a file, and of a piece of code */
#define SMALL_PIECE 256 /* bytes. The compiler's start files have such ones in each program, */
#define FEW_SYMBOLS (1u << 15) /* so their symbols are read only where that takes no time */

bool builder_is_padding(const struct builder *b, uint64_t from, uint64_t to)
{
	uint8_t first = from < b->elf->size ? b->elf->base[from] : 0;
	bool is_x86 = b->elf->machine == EM_X86_64 || b->elf->machine == EM_386;

	/* nop, int3, and the first bytes of longer nops */
	return to - from < PADDING && to % PADDING == 0 &&
	       (!is_x86 || !first || first == 0x90 || first == 0xcc || first == 0x66 ||
		first == 0x0f || first == 0x2e || first == 0x8d);
}

/* ---- starts of functions ---- */

static bool is_function(const struct elf_symbol *s)
{
	if (!s->link_addr || s->section == SHN_UNDEF || s->section >= SHN_LORESERVE)
		return false;
	/* Assembly may not declare the type. Its other labels are local. */
	return s->type == STT_FUNC || s->type == STT_GNU_IFUNC ||
	       (s->type == STT_NOTYPE && s->bind == STB_GLOBAL);
}

static void add_starts(struct builder *b, const struct elf_file *symbols, uint32_t table,
		       bool is_small)
{
	struct elf_symbols it;
	struct elf_symbol symbol;
	struct bare_start start;

	if (!symbols || !elf_symbols_begin(&it, symbols, table) || (is_small && it.n > FEW_SYMBOLS))
		return;
	while (elf_symbols_next(&it, &symbol) && b->starts_of_bare.n < STARTS_MAX) {
		if (!is_function(&symbol) ||
		    !elf_file_off(b->elf, symbol.link_addr, &start.file_off))
			continue;
		start.size = symbol.size;
		vec_push(&b->starts_of_bare, start);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct bare_start *x = a, *y = b;

	if (x->file_off != y->file_off)
		return x->file_off < y->file_off ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

/* For a piece of code. Most files have no large one. */
static void find_starts(struct builder *b, bool is_small)
{
	if (b->has_starts || (is_small && b->has_few_starts))
		return;
	b->has_few_starts = is_small;
	b->has_starts = !is_small;
	b->starts_of_bare.n = 0;
	add_starts(b, b->elf, SHT_SYMTAB, is_small);
	add_starts(b, b->elf, SHT_DYNSYM, is_small);
	add_starts(b, b->debug, SHT_SYMTAB, is_small);
	if (b->starts_of_bare.n)
		qsort(b->starts_of_bare.data, b->starts_of_bare.n, sizeof(struct bare_start),
		      by_place);
}

/* The first start at or behind a place. */
static size_t first_start(const struct builder *b, uint64_t file_off)
{
	size_t low = 0, high = b->starts_of_bare.n;

	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (b->starts_of_bare.data[half].file_off < file_off)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

/* ---- a piece of code ---- */

struct piece {
	struct builder *b;
	unsigned int width;
	uint64_t from, to;             /* file offsets */
	VEC(struct bare_start) starts; /* the first one is at `from` */
	uint64_t entry;                /* file offset */
};

static void add_start(struct piece *p, uint64_t file_off, uint64_t size)
{
	if (file_off >= p->from && file_off < p->to && p->starts.n < STARTS_MAX)
		vec_push(&p->starts, (struct bare_start){ file_off, MIN(size, p->to - file_off) });
}

/* Whether code looks like the start of a function: endbr, or registers are saved. */
static bool is_prologue(const uint8_t *code, size_t n, unsigned int width)
{
	static const struct {
		uint8_t n, bytes[4];
		unsigned int width; /* 0: any */
	} forms[] = {
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfa }, 64 },
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfb }, 32 },
		{ 1, { 0x55 }, 0 },
		{ 1, { 0x53 }, 0 },
		{ 1, { 0x56 }, 32 },
		{ 1, { 0x57 }, 32 },
		{ 2, { 0x41, 0x54 }, 64 },
		{ 2, { 0x41, 0x55 }, 64 },
		{ 2, { 0x41, 0x56 }, 64 },
		{ 2, { 0x41, 0x57 }, 64 },
		{ 3, { 0x48, 0x83, 0xec }, 64 },
		{ 3, { 0x48, 0x81, 0xec }, 64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if ((!forms[i].width || forms[i].width == width) && n >= forms[i].n &&
		    !memcmp(code, forms[i].bytes, forms[i].n))
			return true;
	return false;
}

/*
 * Functions without symbols: the piece calls them, or their code looks so, at a place where a
 * function may start. `n`: the symbols, sorted.
 */
static void add_found(struct piece *p, size_t n)
{
	const uint8_t *base = p->b->elf->base;
	uint64_t symbol_end = 0;
	bool may_end = false; /* the last instruction, apart from padding */
	struct pt_insn insn;
	size_t next = 0;

	for (uint64_t at = p->from; at < p->to; at += insn.size) {
		size_t left = (size_t)(p->to - at);

		for (; next < n && p->starts.data[next].file_off <= at; next++)
			symbol_end = MAX(symbol_end,
					 p->starts.data[next].file_off + p->starts.data[next].size);
		if (may_end && at % PADDING == 0 && at >= symbol_end &&
		    is_prologue(base + at, left, p->width))
			add_start(p, at, 0);
		if (!pt_insn_read(p->width, base + at, left, &insn)) {
			insn = (struct pt_insn){ .size = 1 };
			continue;
		}
		if (insn.end == PT_END_CALL && insn.distance)
			add_start(p, at + insn.size + insn.distance, 0);
		if (!code_is_padding(p->width, base + at, &insn))
			may_end = insn.end != PT_END_FALL && insn.end != PT_END_COND;
	}
}

static void sort_starts(struct piece *p)
{
	size_t n = 0;

	qsort(p->starts.data, p->starts.n, sizeof(*p->starts.data), by_place);
	/* Of several at one place, the longest is the first. */
	for (size_t i = 0; i < p->starts.n; i++)
		if (!n || p->starts.data[n - 1].file_off != p->starts.data[i].file_off)
			p->starts.data[n++] = p->starts.data[i];
	p->starts.n = n;
}

static void find_starts_of_piece(struct piece *p)
{
	struct builder *b = p->b;

	find_starts(b, p->to - p->from < SMALL_PIECE);
	add_start(p, p->from, 0);
	add_start(p, p->entry, 0);
	for (size_t i = first_start(b, p->from); i < b->starts_of_bare.n; i++) {
		const struct bare_start *s = &b->starts_of_bare.data[i];

		if (s->file_off >= p->to)
			break;
		add_start(p, s->file_off, s->size);
	}
	sort_starts(p);
	add_found(p, p->starts.n);
	sort_starts(p);
}

static void emit_frames(struct builder *b, const struct code_frames *f, uint64_t file_off)
{
	uint32_t bare = builder_rule_number(b, b->bare);
	struct unwind_rule rule;

	for (uint32_t at = 0; at < f->n; at = code_frames_next(f, at)) {
		bool has_rule = b->n_bare_rows < BARE_ROWS_MAX && code_frames_rule(f, at, &rule);
		size_t n = b->rows.n;

		builder_emit_row(b, file_off + at, has_rule ? builder_rule_number(b, rule) : bare);
		b->n_bare_rows += (uint32_t)(b->rows.n - n);
	}
}

/*
 * The stretch of a start. With a known size, it is one function, and other starts in it are
 * functions of its own. Returns the number of the next start.
 */
static size_t emit_stretch(struct piece *p, size_t i)
{
	const struct bare_start *start = &p->starts.data[i];
	bool is_last = i + 1 == p->starts.n;
	uint64_t end = start->size ? start->file_off + start->size
				   : (is_last ? p->to : p->starts.data[i + 1].file_off);
	struct code_frames f = {
		.width = p->width,
		.code = p->b->elf->base + start->file_off,
		.n = (uint32_t)MIN(end - start->file_off, (uint64_t)CODE_FRAMES_MAX),
	};

	if (start->file_off == p->entry) {
		builder_emit_row(p->b, start->file_off,
				 builder_rule_number(p->b, (struct unwind_rule){
								   .cfa = UNWIND_CFA_END }));
	} else {
		code_frames_begin(&f);
		code_frames_follow(&f, 0);
	}
	for (i++; i < p->starts.n && p->starts.data[i].file_off < end; i++)
		if (f.at && p->starts.data[i].file_off - start->file_off < f.n)
			code_frames_follow(&f, (uint32_t)(p->starts.data[i].file_off -
							  start->file_off));
	if (f.at) {
		code_frames_follow_rest(&f, start->size != 0);
		emit_frames(p->b, &f, start->file_off);
	}
	code_frames_fini(&f);
	builder_emit_row(p->b, start->file_off + f.n, builder_rule_number(p->b, p->b->bare));
	return i;
}

/*
 * A program, or the dynamic loader (musl's has no name). Older linkers give shared libraries an
 * entry, too: the start of their code.
 */
static bool is_started_at_entry(const struct elf_file *elf)
{
	struct elf_links links;

	elf_links_read(elf, &links);
	return elf->type == ET_EXEC || links.interpreter ||
	       (!links.n_needed && (!links.name || !strncmp(links.name, "ld", 2)));
}

static void emit_piece(struct builder *b, unsigned int width, uint64_t from, uint64_t to)
{
	struct piece p = { .b = b, .width = width, .from = from, .to = to, .entry = UINT64_MAX };

	if (b->elf->entry && elf_file_off(b->elf, b->elf->entry, &p.entry) &&
	    (p.entry < from || p.entry >= to || !is_started_at_entry(b->elf)))
		p.entry = UINT64_MAX;
	find_starts_of_piece(&p);
	for (size_t i = 0; i < p.starts.n && reserve_check() >= 0;)
		i = emit_stretch(&p, i);
	vec_fini(&p.starts);
}

void builder_emit_bare(struct builder *b, struct reader code)
{
	uint64_t from = (uint64_t)(code.at - b->elf->base), size = reader_left(&code);
	bool is_x86 = b->elf->machine == EM_X86_64 || b->elf->machine == EM_386;

	builder_emit_row(b, from, builder_rule_number(b, b->bare));
	/* The frame pointers of Go lead on by themselves, and GHC's code has other stacks. */
	if (!is_x86 || !size || unwind_rule_cfa(b->bare) != UNWIND_CFA_NONE || b->bare.aux ||
	    size > BARE_BYTES_MAX - b->bare_bytes_read)
		return;
	b->bare_bytes_read += (uint32_t)size;
	emit_piece(b, b->elf->machine == EM_386 ? 32 : 64, from, from + size);
}
