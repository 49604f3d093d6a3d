/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/build_covers.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "elf/elf_code.h"
#include "elf/elf_file.h"
#include "elf/elf_links.h"
#include "elf/elf_sframe.h"
#include "elf/elf_symbols.h"
#include "elf/elf_trampoline.h"
#include "unwind/build_runtimes.h"

#define RADIX_BITS        11
#define RADIX_MASK        ((1u << RADIX_BITS) - 1)
#define LONGEST_SIGRETURN 32 /* with padding */

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

static bool is_in_window(const struct builder *b, const struct cover *c)
{
	return c->file_off - b->window_at < b->window_size;
}

static uint64_t stretch_size(const struct builder *b)
{
	return b->elf->size / N_STRETCHES + 1;
}

/* Counts covers of the whole file, and keeps those of a window. */
static void add_cover(struct builder *b, const struct cover *c)
{
	if (!b->has_window) {
		b->starts[c->file_off / stretch_size(b)]++;
		b->n_starts++;
		b->cover_bytes += c->size;
	}
	if (is_in_window(b, c) && (b->has_window || b->n_starts <= COVERS_AT_ONCE))
		vec_push(&b->covers, *c);
}

static bool place_rule(struct builder *b, uint64_t link_addr, uint64_t size,
		       struct unwind_rule rule, struct cover *out)
{
	*out = (struct cover){ .link_addr = link_addr, .size = size, .cie = NO_CIE, .rule = rule };
	return size && place_cover(b, link_addr, &out->size, &out->file_off);
}

static void cover_with_rule(struct builder *b, uint64_t link_addr, uint64_t size,
			    struct unwind_rule rule)
{
	struct cover c;

	if (place_rule(b, link_addr, size, rule, &c))
		add_cover(b, &c);
}

/* For code whose instructions were searched, which takes long: once for all windows. */
static void scan_with_rule(struct builder *b, uint64_t link_addr, uint64_t size,
			   struct unwind_rule rule)
{
	struct cover c;

	if (place_rule(b, link_addr, size, rule, &c))
		vec_push(&b->scanned, c);
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
		if (!is_in_window(b, &c))
			continue;
		c.cie = OF_SFRAME;
		c.program_size = i;
		add_cover(b, &c);
		b->n_functions++;
	}
}

/* For Go programs without .debug_frame: stripping leaves the runtime's own table. */
static void cover_with_go(struct builder *b)
{
	struct elf_go_function f;

	for (uint32_t i = 0; elf_go_function(&b->go, i, &f) && reserve_check() >= 0; i++) {
		struct cover c = { .link_addr = f.link_addr, .size = f.size };

		if (!f.size || !place_cover(b, f.link_addr, &c.size, &c.file_off) ||
		    cover_sigreturn(b, &c) || !is_in_window(b, &c))
			continue;
		c.cie = OF_GO;
		c.program_size = i;
		builder_set_changes(b, &c);
		add_cover(b, &c);
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
	while (elf_frames_next(&it, &fde) && reserve_check() >= 0) {
		struct cover c = { .link_addr = fde.link_addr, .size = fde.size };

		/* discarded functions (--gc-sections) leave an FDE for address 0 */
		if (!fde.link_addr || !fde.size ||
		    !place_cover(b, fde.link_addr, &c.size, &c.file_off))
			continue;
		if ((frames->is_debug && cover_sigreturn(b, &c)) || !is_in_window(b, &c))
			continue;
		if (fde.cie->at != last_cie) {
			last_cie = fde.cie->at;
			cie = cie_number(b, frames, fde.cie);
		}
		c.cie = cie;
		builder_set_changes(b, &c);
		c.program = fde.program.at;
		c.program_size = (uint32_t)MIN(reader_left(&fde.program), (size_t)UINT32_MAX);
		add_cover(b, &c);
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
	/* as on x86-64, in words */
	{ EM_386, ".plt", 0, 6, SP_PLUS(16) },
	{ EM_386, ".plt", 6, 16, SP_PLUS(24) },
	{ EM_386, ".plt", 16, UINT32_MAX, { .cfa = UNWIND_CFA_PLT, .off = 1, .aux = 11 } },
	{ EM_386, ".plt.sec", 0, UINT32_MAX, SP_PLUS(8) },
	{ EM_386, ".plt.got", 0, UINT32_MAX, SP_PLUS(8) },
	{ EM_386, ".iplt", 0, UINT32_MAX, SP_PLUS(8) },
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
struct sort_key *builder_sort_covers(const struct builder *b)
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

#define MANY_SYMBOLS 16384 /* of a table; libc has 3,000 */

/* Whether it may have a function of the C library: the library itself, or a static program. */
static bool may_have(const struct elf_file *elf, const char *function)
{
	struct elf_symbols it;
	struct elf_symbol symbol;
	struct elf_links links;

	if (!elf_symbols_begin(&it, elf, SHT_DYNSYM))
		return true;
	for (int i = 0; i < MANY_SYMBOLS && elf_symbols_next(&it, &symbol); i++)
		if (!strcmp(symbol.name, function) && symbol.section != SHN_UNDEF)
			return true;
	elf_links_read(elf, &links);
	return !links.interpreter && !links.n_needed;
}

/*
 * The call frame information of a context's first frame describes a caller, but there is none. Its
 * caller's address is looked up one byte before.
 */
static void scan_start_context(struct builder *b)
{
	static const struct unwind_rule end = { .cfa = UNWIND_CFA_END };
	size_t size;

	if (b->elf->machine != EM_X86_64 || !may_have(b->elf, "makecontext"))
		return;
	vec_foreach (&b->code, r) {
		struct reader code = reader_over(b->elf->base + r->file_off, (size_t)r->size);
		const uint8_t *found =
			elf_trampoline_find(ELF_START_CONTEXT, b->elf->machine, code, &size);

		if (!found)
			continue;
		scan_with_rule(b, r->link_addr + (uint64_t)(found - code.at) - 1, 1, end);
		scan_with_rule(b, r->link_addr + (uint64_t)(found - code.at), size, end);
	}
}

/*
 * From the system call of clone() or clone3() on. Two threads return from it: the new one on its
 * own stack, which has no caller, and its creator. Call frame information describes the creator
 * (glibc, AArch64), ends before the call (glibc, x86-64), or is missing (musl).
 */
#define ANY        (-1)
#define MAX_CLONES 8 /* of an image; real ones have two */
static const struct clone_form {
	uint16_t machine;
	uint8_t n_both;   /* bytes from the system call on that both threads may run */
	uint8_t n_thread; /* behind them, the new thread's own */
	uint8_t n_return; /* behind those, the creator's return */
	uint8_t n_fixed;  /* bytes before the first that may be anything */
	struct unwind_rule creator;
	int16_t bytes[24];
} clone_forms[] = {
	/* glibc: syscall; test %rax, %rax; jl; je; ret */
	{ EM_X86_64,
	  10,
	  0,
	  0,
	  6,
	  { .cfa = UNWIND_CFA_CLONED, .off = 1 },
	  { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, ANY, 0x74, ANY, 0xc3 } },
	/* musl: syscall; test %eax, %eax; jnz; its start, call *%r9, exit(2), hlt; ret */
	{ EM_X86_64, 6, 15, 1, 22, { .cfa = UNWIND_CFA_CLONED, .off = 1 }, { 0x0f, 0x05, 0x85, 0xc0,
									     0x75, 0x0f, 0x31, 0xed,
									     0x5f, 0x41, 0xff, 0xd1,
									     0x89, 0xc7, 0x31, 0xc0,
									     0xb0, 0x3c, 0x0f, 0x05,
									     0xf4, 0xc3 } },
	/* glibc: svc #0; cmp x0, #0; b.eq; b.lt; ret */
	{ EM_AARCH64,
	  20,
	  0,
	  0,
	  8,
	  { .cfa = UNWIND_CFA_CLONED, .saved = UNWIND_RA_LR << 4 },
	  { 0x01, 0,    0,   0xd4, 0x1f, 0,    0,    0xf1, ANY,  ANY,
	    ANY,  0x54, ANY, ANY,  ANY,  0x54, 0xc0, 0x03, 0x5f, 0xd6 } },
	/* musl: svc #0; cbz x0; ret; ldp x1, x0, [sp], #16; then blr, mov, svc */
	{ EM_AARCH64,
	  12,
	  16,
	  0,
	  16,
	  { .cfa = UNWIND_CFA_CLONED, .saved = UNWIND_RA_LR << 4 },
	  { 0x01, 0, 0, 0xd4, 0x40, 0, 0, 0xb4, 0xc0, 0x03, 0x5f, 0xd6, 0xe1, 0x03, 0xc1, 0xa8 } },
	/* musl, newer: the same, and mov x29, #0 before ldp */
	{ EM_AARCH64,
	  12,
	  20,
	  0,
	  16,
	  { .cfa = UNWIND_CFA_CLONED, .saved = UNWIND_RA_LR << 4 },
	  { 0x01, 0, 0, 0xd4, 0x40, 0, 0, 0xb4, 0xc0, 0x03, 0x5f, 0xd6, 0x1d, 0, 0x80, 0xd2 } },
};

static bool is_clone(const struct clone_form *f, struct reader code)
{
	if (reader_left(&code) < (size_t)f->n_both + f->n_thread + f->n_return)
		return false;
	for (size_t i = 0; i < MAX(f->n_both, f->n_fixed); i++)
		if (f->bytes[i] != ANY && f->bytes[i] != code.at[i])
			return false;
	return true;
}

static void scan_clone_of(struct builder *b, const struct clone_form *f,
			  const struct elf_code_range *r)
{
	static const struct unwind_rule end = { .cfa = UNWIND_CFA_END };
	struct reader code = reader_over(b->elf->base + r->file_off, (size_t)r->size);
	uint8_t fixed[ARRAY_SIZE(f->bytes)];
	const uint8_t *begin = code.at;

	for (size_t i = 0; i < f->n_fixed; i++)
		fixed[i] = (uint8_t)f->bytes[i];
	for (int n = 0; n < MAX_CLONES; code.at++) {
		uint64_t at;

		code.at = memmem(code.at, reader_left(&code), fixed, f->n_fixed);
		if (!code.at)
			return;
		if (!is_clone(f, code))
			continue;
		at = r->link_addr + (uint64_t)(code.at - begin);
		scan_with_rule(b, at, f->n_both, f->creator);
		scan_with_rule(b, at + f->n_both, f->n_thread, end);
		scan_with_rule(b, at + f->n_both + f->n_thread, f->n_return, f->creator);
		n++;
	}
}

static void scan_clone(struct builder *b)
{
	if (!may_have(b->elf, "clone"))
		return;
	vec_foreach (&b->code, r)
		for (size_t i = 0; i < ARRAY_SIZE(clone_forms); i++)
			if (clone_forms[i].machine == b->elf->machine)
				scan_clone_of(b, &clone_forms[i], r);
}

void builder_find_sources(struct builder *b)
{
	read_loads(b);
	elf_code_find(b->elf, &b->code);
	builder_find_switches(b);
	b->has_frames[FRAMES_OF_DEBUG_FILE] =
		b->debug && elf_frames_debug(b->debug, &b->frames[FRAMES_OF_DEBUG_FILE]);
	b->has_frames[FRAMES_DEBUG] = elf_frames_debug(b->elf, &b->frames[FRAMES_DEBUG]);
	b->has_frames[FRAMES_EH] = elf_frames_eh(b->elf, &b->frames[FRAMES_EH]);
	scan_start_context(b);
	scan_clone(b);
}

static void collect_covers(struct builder *b)
{
	b->covers.n = 0;
	if (b->has_last)
		vec_push(&b->covers, b->last);
	/* of two covers at one place the later counts: real entries over known forms */
	cover_plt(b);
	cover_with_sframe(b);
	for (int i = 0; i < N_FRAMES; i++) {
		if (i == FRAMES_EH && !b->has_frames[FRAMES_DEBUG] &&
		    !b->frames[FRAMES_OF_DEBUG_FILE].size)
			cover_with_go(b);
		if (b->has_frames[i])
			cover_with_functions(b, &b->frames[i]);
	}
	vec_foreach (&b->scanned, c)
		add_cover(b, c);
}

void builder_collect_covers(struct builder *b)
{
	b->window_size = UINT64_MAX;
	collect_covers(b);
	if (builder_is_of_ghc(b))
		b->bare = on_heap_stack;
	if (b->n_starts <= COVERS_AT_ONCE)
		return;
	vec_fini(&b->covers);
	b->cies.n = 0;
	b->n_functions = 0;
	b->has_window = true;
	b->window_at = b->window_size = 0;
}

bool builder_collect_window(struct builder *b)
{
	uint64_t at = b->window_at + b->window_size, size = stretch_size(b);
	size_t limit = MAX(COVERS_AT_ONCE, b->n_starts / MAX_WINDOWS + 1);
	size_t i = at / size, n = 0;

	for (; i < N_STRETCHES && (!n || n + b->starts[i] <= limit); i++)
		n += b->starts[i];
	b->window_at = at;
	b->window_size = i * size - at;
	collect_covers(b);
	while (i < N_STRETCHES && !b->starts[i])
		i++;
	return i < N_STRETCHES;
}
