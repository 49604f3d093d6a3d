/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From call frame information to a table: find the entry of each address, sort the entries, and
 * turn each program directly into rows.
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "elf/elf_code.h"
#include "elf/elf_file.h"
#include "elf/elf_sframe.h"
#include "elf/elf_trampoline.h"
#include "unwind/build_bare.h"
#include "unwind/build_covers.h"
#include "unwind/build_runtimes.h"
#include "unwind/table.h"

#define MAX_SIGRETURNS  16          /* of an image; real ones have one or two */
#define MAX_SFRAME_ROWS (16u << 20) /* a hostile PLT has a row a byte */

static void builder_fini(struct builder *b)
{
	vec_fini(&b->cies);
	vec_fini(&b->covers);
	vec_fini(&b->scanned);
	elf_code_fini(&b->code);
	vec_fini(&b->starts_of_bare);
	vec_fini(&b->rules);
	vec_fini(&b->pages);
	vec_fini(&b->rows);
	intmap_fini(&b->rule_of);
	for (int i = 0; i < N_FRAMES; i++)
		elf_frames_fini(&b->frames[i]);
}

/* ---- rows ---- */

uint32_t builder_rule_number(struct builder *b, struct unwind_rule rule)
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
void builder_emit_row(struct builder *b, uint64_t file_off, uint32_t rule)
{
	uint32_t *last, low = file_off & (UNWIND_PAGE_SIZE - 1);

	if (rule == b->last_rule)
		return;
	if (file_off >> UNWIND_PAGE_BITS >= b->first_page + b->pages.n || !b->pages.n)
		open_pages(b, file_off);
	last = &b->rows.data[b->rows.n - 1];
	/* A look-up searches the rows of one page. */
	assert(b->first_page + b->pages.n - 1 == file_off >> UNWIND_PAGE_BITS);
	assert(*last >> UNWIND_RULE_BITS <= low);
	if (*last >> UNWIND_RULE_BITS == low)
		*last = unwind_row(low, rule);
	else
		vec_push(&b->rows, unwind_row(low, rule));
	b->last_rule = rule;
}

/* A rule of [offset, next) of a function, and in it the one of code on another stack. */
static void emit_changing(struct builder *b, const struct cover *c, uint64_t offset, uint64_t next,
			  struct unwind_rule rule)
{
	uint32_t number = builder_rule_number(b, rule);
	uint64_t from, to;

	builder_emit_row(b, c->file_off + offset, number);
	b->n_unsupported += unwind_rule_cfa(rule) == UNWIND_CFA_UNSUPPORTED;
	if (!c->changes || unwind_rule_cfa(rule) != UNWIND_CFA_SP ||
	    unwind_rule_offset(rule) < c->changes->from)
		return;
	from = MAX(offset, (uint64_t)c->changes_from);
	to = MIN(next, (uint64_t)c->changes_to);
	if (from >= to)
		return;
	builder_emit_row(b, c->file_off + from, builder_rule_number(b, c->rule));
	if (to < next)
		builder_emit_row(b, c->file_off + to, number);
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
	uint64_t offset;

	if (!known->is_usable) {
		builder_emit_row(b, c->file_off,
				 builder_rule_number(b, (struct unwind_rule){
								UNWIND_CFA_UNSUPPORTED }));
		b->n_unsupported++;
		return;
	}
	cfi_begin(&run, b->machine, known->frames, &fde, &known->initial);
	while (cfi_next_row(&run, &offset, &rule)) {
		uint64_t next = run.is_over ? run.size : run.at;

		if (b->bare.aux && known->frames->is_debug)
			add_go_fp(&rule);
		if (offset && !c->changes && !memcmp(&rule, &last, sizeof(rule)))
			continue;
		last = rule;
		emit_changing(b, c, offset, next, rule);
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
			builder_emit_row(b, c->file_off + at, builder_rule_number(b, rule));
			b->n_unsupported += unwind_rule_cfa(rule) == UNWIND_CFA_UNSUPPORTED;
			least = row.offset + 1ull;
		}
		piece += f.repeat;
	} while (f.repeat && piece < size && b->rows.n < MAX_SFRAME_ROWS);
}

/*
 * On AArch64, the return address comes in the link register. A frame has it at the stack pointer,
 * and below it the caller's frame pointer.
 */
static struct unwind_rule rule_of_go_aarch64(int16_t words)
{
	if (!words)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .saved = UNWIND_RA_LR << 4 };
	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
				     .off = (uint16_t)words,
				     .saved = UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA << 4,
				     .fp = (int16_t)(-words - 1),
				     .aux = (int16_t)-words };
}

static struct unwind_rule rule_of_go(const struct builder *b, int32_t distance)
{
	if (distance < 0 || distance % 8 || distance / 8 >= INT16_MAX)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED };
	if (b->elf->machine == EM_AARCH64)
		return rule_of_go_aarch64((int16_t)(distance / 8));
	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .off = (uint16_t)(distance / 8 + 1) };
}

static void emit_go_row(struct builder *b, const struct cover *c, const struct elf_go_step *step)
{
	struct unwind_rule rule = rule_of_go(b, step->value);

	if (b->bare.aux)
		add_go_fp(&rule);
	emit_changing(b, c, step->start, step->end, rule);
}

/* The steps of a function; without them, its frame pointer. */
static void emit_go(struct builder *b, const struct cover *c, uint64_t end)
{
	struct elf_go_function f;
	struct elf_go_steps steps;
	struct elf_go_step step;

	elf_go_function(&b->go, c->program_size, &f);
	if (builder_is_outermost(b, &f)) {
		builder_emit_row(b, c->file_off,
				 builder_rule_number(b, (struct unwind_rule){
								.cfa = UNWIND_CFA_END }));
		return;
	}
	builder_emit_row(b, c->file_off, builder_rule_number(b, b->bare));
	elf_go_begin(&b->go, &f, f.stack, &steps);
	while (elf_go_next(&steps, &step) && step.start < end - c->file_off) {
		step.end = MIN(step.end, end - c->file_off);
		emit_go_row(b, c, &step);
	}
}

/*
 * Code without call frame information. Trampolines are found by their instructions
 * (elf/elf_trampoline.h). A trampoline's address is looked up one byte before.
 */
static void emit_bare_code(struct builder *b, struct reader code)
{
	const uint8_t *found;
	size_t size;

	while (b->n_sigreturns < MAX_SIGRETURNS &&
	       (found = elf_trampoline_find(ELF_SIGRETURN, b->elf->machine, code, &size)) != NULL) {
		uint64_t at = (uint64_t)(found - b->elf->base);

		if (found > code.at)
			builder_emit_bare(b, reader_over(code.at, (size_t)(found - 1 - code.at)));
		builder_emit_row(b, found > code.at ? at - 1 : at,
				 builder_rule_number(b, b->machine->signal));
		code.at = found + size;
		b->n_sigreturns++;
	}
	builder_emit_bare(b, code);
	builder_emit_row(b, (uint64_t)(code.end - b->elf->base), 0);
}

/* Adds rows for code that no table covers, from one file offset to another. */
static void emit_gap(struct builder *b, uint64_t from, uint64_t to)
{
	builder_emit_row(b, from, 0);
	for (; b->gap_code < b->code.n; b->gap_code++) {
		const struct elf_code_range *r = &b->code.data[b->gap_code];
		uint64_t start = MAX(from, r->file_off), end = MIN(to, r->file_off + r->size);

		if (start < end)
			emit_bare_code(b, reader_over(b->elf->base + start, (size_t)(end - start)));
		if (to < r->file_off + r->size)
			return; /* the next gap may lie in this range, too */
	}
}

/* The first n covers by their places. The place of the one behind them counts, too. */
static void emit_covers(struct builder *b, const struct sort_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct cover *c = &b->covers.data[keys[i].cover];
		uint64_t end = c->file_off + c->size;

		if (i + 1 < b->covers.n)
			end = MIN(end, keys[i + 1].file_off);
		if (end <= c->file_off)
			continue;
		if (c->file_off > b->covered && !builder_is_padding(b, b->covered, c->file_off))
			emit_gap(b, b->covered, c->file_off);
		else if (c->file_off > b->covered)
			b->covered_bytes += c->file_off - b->covered;
		b->covered_bytes += end - c->file_off;
		if (c->cie == NO_CIE)
			builder_emit_row(b, c->file_off, builder_rule_number(b, c->rule));
		else if (c->cie == OF_SFRAME)
			emit_sframe(b, c, end);
		else if (c->cie == OF_GO)
			emit_go(b, c, end);
		else
			emit_function(b, c, end);
		b->covered = end;
		/* Row numbers have 32 bits. */
		b->is_full = b->is_full || b->rows.n > UINT32_MAX / 2 || reserve_check() < 0;
		if (b->is_full)
			return;
	}
}

/* ---- the block ---- */

static struct unwind_header *pack_block(const struct builder *b)
{
	size_t rules = b->rules.n * 8, pages = b->pages.n * 4, rows = b->rows.n * 4;
	size_t size = sizeof(struct unwind_header) + rules + pages + 4 + rows;
	struct unwind_header *h = mem_try(size, 1);
	uint32_t end = (uint32_t)b->rows.n;
	uint8_t *at = (uint8_t *)(h + 1);

	if (!h)
		return NULL;
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
		.code_bytes = builder_code_bytes(b),
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

/* Rows of the collected covers; of another window than the last, the last cover waits. */
static int emit_window(struct builder *b, bool is_last, struct error *err)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	size_t n = b->covers.n;
	struct sort_key *keys;

	if (reserve_take(&room, n + 1, 2 * sizeof(*keys)) < 0)
		return reserve_error(err);
	keys = builder_sort_covers(b);
	emit_covers(b, keys, is_last || !n ? n : n - 1);
	b->has_last = n > 0;
	if (n)
		b->last = b->covers.data[keys[n - 1].cover];
	free(keys);
	return 0;
}

static int emit_all(struct builder *b, struct error *err)
{
	bool has_more;
	int r;

	builder_collect_covers(b);
	do {
		has_more = b->has_window && builder_collect_window(b);
		r = emit_window(b, !has_more, err);
	} while (has_more && r == 0 && !b->is_full);
	vec_fini(&b->covers);
	if (r == 0 && !b->is_full)
		emit_gap(b, b->covered, UINT64_MAX);
	return r;
}

int unwind_build(const struct elf_file *elf, const struct elf_file *debug,
		 struct unwind_header **out, struct error *err)
{
	struct builder b = {
		.elf = elf,
		.debug = debug,
		.machine = cfi_machine_of(elf->machine),
		.bare = { .saved = UNWIND_GUESSED },
	};
	int r;

	if (!b.machine || elf->is_64 != (b.machine->word == 8))
		return error_set(err, -ENOTSUP, "stacks of this processor (ELF machine %u) %s",
				 elf->machine, "are not walked; only x86-64, i386 and AArch64 are");
	builder_rule_number(&b, (struct unwind_rule){ 0 });
	builder_find_sources(&b);
	r = emit_all(&b, err);
	builder_free_registers(&b);
	builder_mark_heap_stacks(&b);
	if (r < 0)
		; /* there is not enough memory */
	else if (b.is_full || b.first_page + b.pages.n > UINT32_MAX)
		r = error_set(err, -EFBIG, "more unwind rows or rules than a table can name");
	else if (!(*out = pack_block(&b)))
		r = reserve_error(err);
	builder_fini(&b);
	return r;
}
