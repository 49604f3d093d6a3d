/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/module_code.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "pt/insn.h"

enum {
	MAX_SIZE = 64 << 20,
	MAX_GROWTH = 256, /* times the file: sections without bytes may claim any size */
	SITE_SIZE = 5,    /* of a call or jump */
	FEW = 8,          /* one of so many: code that ran before the kernel patched its own */
	CALL = 0xe8,
	JUMP = 0xe9,
	SHORT_JUMP = 0xeb,
	PREFIX_CS = 0x2e,
	PREFIX_OPERAND = 0x66,
	PARAVIRT_STRIDE = 16,
	ALT_INVERTED = 0x8000,
};

struct module_code {
	uint64_t base, size;
	uint8_t *bytes, *states;
	uint64_t n_same_way, n_unknown;
	const struct module_file *file;
	const struct module_kernel *kernel;
	struct elf_symbols symbols;
};

void module_code_free(struct module_code *c)
{
	if (!c)
		return;
	free(c->bytes);
	free(c->states);
	free(c);
}

static bool is_inside(const struct module_code *c, uint64_t off, uint64_t size)
{
	return off <= c->size && c->size - off >= size;
}

static void set_state(struct module_code *c, uint64_t off, size_t size, enum module_byte state)
{
	memset(c->states + off, state, size);
}

static void leave_undecided(struct module_code *c, uint64_t off, size_t size,
			    enum module_byte state)
{
	set_state(c, off, size, state);
	*(state == MODULE_UNKNOWN ? &c->n_unknown : &c->n_same_way) += 1;
}

/* ---- relocation ---- */

struct relocation {
	uint64_t offset; /* in its section */
	uint32_t type;
	bool has_target;
	uint64_t target;  /* with the addend */
	uint16_t section; /* of the symbol */
};

static bool next_relocation(const struct module_code *c, struct reader *r, struct relocation *out)
{
	uint64_t info, addend;
	struct elf_symbol symbol;

	if (reader_left(r) < sizeof(Elf64_Rela))
		return false;
	out->offset = reader_u64(r);
	info = reader_u64(r);
	addend = reader_u64(r);
	out->type = (uint32_t)info;
	out->section = SHN_UNDEF;
	out->has_target = elf_symbols_get(&c->symbols, (uint32_t)(info >> 32), &symbol);
	if (!out->has_target)
		return true;
	out->section = symbol.section;
	if (symbol.section == SHN_UNDEF)
		out->target = c->kernel->symbol(c->kernel->context, symbol.name);
	else if (symbol.link_addr - MODULE_BASE < c->size)
		out->target = symbol.link_addr - MODULE_BASE + c->base;
	else
		out->target = 0;
	out->has_target = out->target;
	out->target += addend;
	return true;
}

/* Whether the word at `off` is where a direct branch leads. */
static bool is_branch_operand(const struct module_code *c, uint64_t off)
{
	const uint8_t *at = c->bytes + off;

	return (off >= 1 && (at[-1] == CALL || at[-1] == JUMP)) ||
	       (off >= 2 && at[-2] == 0x0f && (at[-1] & 0xf0) == 0x80);
}

static void relocate_code_at(struct module_code *c, uint64_t off, const struct relocation *r)
{
	bool is_relative = r->type == R_X86_64_PC32 || r->type == R_X86_64_PLT32;
	size_t size = r->type == R_X86_64_64 || r->type == R_X86_64_PC64 ? 8 : 4;
	uint64_t value = is_relative ? r->target - (c->base + off) : r->target;

	if (r->type == R_X86_64_NONE || !is_inside(c, off, size))
		return;
	if (r->has_target && r->type != R_X86_64_PC64)
		memcpy(c->bytes + off, &value, size);
	else if (is_branch_operand(c, off))
		leave_undecided(c, off, size, MODULE_UNKNOWN);
	else
		set_state(c, off, size, MODULE_SAME_WAY);
}

/* Of a section in the code: its place there. */
static bool place_in_code(const struct module_code *c, const struct elf_section *s, uint64_t *off)
{
	*off = s->link_addr - MODULE_BASE;
	return s->flags & SHF_EXECINSTR && is_inside(c, *off, s->size);
}

static void relocate_sections(struct module_code *c)
{
	struct elf_section tables, code;
	struct relocation r;
	uint64_t off;

	for (uint32_t i = 1; elf_section(&c->file->elf, i, &tables); i++) {
		struct reader bytes = elf_section_bytes(&c->file->elf, &tables);

		if (tables.type != SHT_RELA || !elf_section(&c->file->elf, tables.info, &code) ||
		    !place_in_code(c, &code, &off))
			continue;
		while (next_relocation(c, &bytes, &r))
			if (r.offset < code.size)
				relocate_code_at(c, off + r.offset, &r);
	}
}

/* ---- what the kernel's own code tells of its patches ---- */

static uint64_t branch_target(const uint8_t *bytes, uint64_t addr)
{
	int32_t distance;

	memcpy(&distance, bytes + 1, sizeof(distance));
	return addr + SITE_SIZE + (uint64_t)(int64_t)distance;
}

static bool is_one_of(const uint64_t *targets, size_t n, uint64_t target)
{
	for (size_t i = 0; i < n; i++)
		if (targets[i] && targets[i] == target)
			return true;
	return false;
}

/*
 * Compares the calls and jumps of the kernel to thunks with the instructions that stand in for them
 * when they are patched: RET, or an indirect CALL or JMP by a register. Bytes that look like one by
 * chance are fewer than real ones.
 */
static enum module_patching compare_sites(const struct module_kernel *k, const uint64_t *targets,
					  size_t n)
{
	const uint8_t *at = k->memory.at;
	size_t size = reader_left(&k->memory), n_kept = 0, n_done = 0;
	bool is_of_returns = targets == &k->return_thunk;

	for (size_t i = 0; i + SITE_SIZE <= size; i++) {
		bool is_plain = is_of_returns ? at[i] == 0xc3
					      : at[i] == 0xff && ((at[i + 1] & 0xf8) == 0xd0 ||
								  (at[i + 1] & 0xf8) == 0xe0);

		n_done += is_plain;
		n_kept += (at[i] == CALL || at[i] == JUMP) &&
			  is_one_of(targets, n, branch_target(at + i, k->memory_addr + i));
	}
	if (n_kept > n_done)
		return MODULE_PATCHING_KEPT;
	return n_kept < n_done / FEW ? MODULE_PATCHING_DONE : MODULE_PATCHING_NOT_KNOWN;
}

static const char *const registers[16] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					   "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
static const char *const return_thunks[] = { "__x86_return_thunk", "its_return_thunk",
					     "srso_return_thunk", "retbleed_return_thunk",
					     "call_depth_return_thunk" };

void module_kernel_learn(struct module_kernel *k)
{
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
		snprintf(name, sizeof(name), "__x86_indirect_thunk_%s", registers[i]);
		k->thunks[i] = k->symbol(k->context, name);
	}
	if (!reader_left(&k->memory))
		return;
	k->indirect = compare_sites(k, k->thunks, ARRAY_SIZE(k->thunks));
	for (size_t i = 0; i < ARRAY_SIZE(return_thunks); i++) {
		enum module_patching found;

		k->return_thunk = k->symbol(k->context, return_thunks[i]);
		found = compare_sites(k, &k->return_thunk, 1);
		k->returns = i ? k->returns : found;
		if (found == MODULE_PATCHING_KEPT) {
			k->returns = found;
			return;
		}
	}
}

/* ---- the tables of patched places ---- */

static void put(struct module_code *c, uint64_t off, const void *bytes, size_t size,
		enum module_byte state)
{
	memcpy(c->bytes + off, bytes, size);
	if (state == MODULE_KNOWN)
		set_state(c, off, size, state);
	else
		leave_undecided(c, off, size, state);
}

static void put_branch(struct module_code *c, uint64_t off, uint64_t target)
{
	uint32_t distance = (uint32_t)(target - (c->base + off + SITE_SIZE));

	memcpy(c->bytes + off + 1, &distance, sizeof(distance));
	set_state(c, off, SITE_SIZE, MODULE_KNOWN);
}

static bool is_branch(const struct module_code *c, uint64_t off)
{
	return c->bytes[off] == CALL || c->bytes[off] == JUMP;
}

/* A jump, and then INT3 (Linux 6.1 and later), is followed by bytes that never run. */
static void put_indirect(struct module_code *c, uint64_t off, size_t size, bool is_jump, size_t reg)
{
	static const uint8_t nops[][4] = {
		{ 0 }, { 0x90 }, { 0x66, 0x90 }, { 0x0f, 0x1f, 0x00 }, { 0x0f, 0x1f, 0x40, 0x00 }
	};
	uint8_t bytes[SITE_SIZE + 1];
	size_t n = 0, n_branch;

	if (reg >= 8)
		bytes[n++] = 0x41;
	bytes[n++] = 0xff;
	bytes[n++] = (uint8_t)((is_jump ? 0xe0 : 0xd0) + (reg & 7));
	n_branch = n;
	if (is_jump)
		bytes[n++] = 0xcc;
	memcpy(bytes + n, nops[size - n], size - n);
	put(c, off, bytes, size, c->kernel->indirect ? MODULE_KNOWN : MODULE_SAME_WAY);
	if (is_jump)
		set_state(c, off + n_branch, size - n_branch, MODULE_SAME_WAY);
}

/* A compiler may put CS before a branch to a thunk of r8 to r15. */
static void patch_indirect(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	bool has_prefix = c->bytes[off] == PREFIX_CS && is_inside(c, off, SITE_SIZE + 1);
	size_t size = SITE_SIZE + has_prefix, reg = 0;
	uint64_t branch = off + has_prefix;
	uint64_t target = branch_target(c->bytes + branch, c->base + branch);
	const uint64_t *thunks = c->kernel->thunks;

	(void)entry;
	while (reg < ARRAY_SIZE(c->kernel->thunks) && (!thunks[reg] || thunks[reg] != target))
		reg++;
	if (reg == ARRAY_SIZE(c->kernel->thunks) || !is_branch(c, branch))
		leave_undecided(c, off, size, MODULE_UNKNOWN);
	else if (c->kernel->indirect != MODULE_PATCHING_KEPT)
		put_indirect(c, off, size, c->bytes[branch] == JUMP, reg);
}

static void patch_return(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	static const uint8_t ret[SITE_SIZE] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc };

	(void)entry;
	if (c->bytes[off] != JUMP)
		return;
	if (c->kernel->returns == MODULE_PATCHING_KEPT)
		put_branch(c, off, c->kernel->return_thunk);
	else
		put(c, off, ret, SITE_SIZE, c->kernel->returns ? MODULE_KNOWN : MODULE_SAME_WAY);
}

static void patch_ftrace(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	static const uint8_t nop[SITE_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	(void)entry;
	if (c->bytes[off] == CALL)
		put(c, off, nop, SITE_SIZE, MODULE_KNOWN);
}

/* The trampoline of a static call leads to the function that is called: sites call it at once. */
static void patch_static_call(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	uint64_t trampoline = branch_target(c->bytes + off, c->base + off);
	uint64_t at = trampoline - c->kernel->memory_addr;
	size_t size = reader_left(&c->kernel->memory);
	const uint8_t *code = NULL;

	(void)entry;
	if (is_branch(c, off) && at < size && size - at >= SITE_SIZE)
		code = (const uint8_t *)c->kernel->memory.at + at;
	if (code && *code == JUMP &&
	    branch_target(code, trampoline) !=
		    c->kernel->symbol(c->kernel->context, "__static_call_return0"))
		put_branch(c, off, branch_target(code, trampoline));
	else
		leave_undecided(c, off, SITE_SIZE, MODULE_UNKNOWN);
}

/* The prefix LOCK, which is another prefix where there is one processor. */
static void patch_lock(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	(void)entry;
	leave_undecided(c, off, 1, MODULE_SAME_WAY);
}

/* ENDBR64 of a function that nothing calls by its address. */
static void patch_endbr(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	(void)entry;
	if (is_inside(c, off, 4))
		leave_undecided(c, off, 4, MODULE_SAME_WAY);
}

static void patch_paravirt(struct module_code *c, uint64_t off, const uint8_t *entry)
{
	size_t size = entry[9];

	if (is_inside(c, off, size))
		leave_undecided(c, off, size, MODULE_UNKNOWN);
}

/* Whether no instruction of these bytes changes the flow. */
static bool goes_on(const uint8_t *bytes, size_t size)
{
	struct pt_insn insn;

	for (size_t i = 0; i < size; i += insn.size)
		if (!pt_insn_read(64, bytes + i, size - i, &insn) || insn.end != PT_END_FALL)
			return false;
	return true;
}

/* Features that every processor with Intel PT has, and that kernels on it never have. */
static const struct {
	uint16_t number; /* 32 * word + bit, as in arch/x86/include/asm/cpufeatures.h */
	bool is_on;
} known_features[] = {
	{ 3 * 32 + 16, true },  /* REP_GOOD */
	{ 3 * 32 + 21, true },  /* ALWAYS */
	{ 8 * 32 + 16, false }, /* XENPV */
	{ 9 * 32 + 9, true },   /* ERMS */
	{ 9 * 32 + 20, true },  /* SMAP */
};

enum applies { APPLIES_NOT, APPLIES, APPLIES_PERHAPS };

static enum applies feature_applies(uint16_t number, bool is_inverted)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_features); i++)
		if (known_features[i].number == number)
			return known_features[i].is_on != is_inverted ? APPLIES : APPLIES_NOT;
	return APPLIES_PERHAPS;
}

struct alternative {
	uint64_t at, with; /* in the code */
	uint8_t size, with_size;
	enum applies applies;
};

/* A branch that is moved leads where it led. */
static void move_code(struct module_code *c, const struct alternative *a)
{
	uint64_t target = branch_target(c->bytes + a->with, c->base + a->with);

	/* A hostile file lets both overlap. */
	memmove(c->bytes + a->at, c->bytes + a->with, a->with_size);
	memset(c->bytes + a->at + a->with_size, 0x90, (size_t)(a->size - a->with_size));
	memmove(c->states + a->at, c->states + a->with, a->with_size);
	/* The kernel joins what is left to longer instructions that do nothing. */
	set_state(c, a->at + a->with_size, (size_t)(a->size - a->with_size), MODULE_SAME_WAY);
	if (a->with_size == SITE_SIZE && is_branch(c, a->with) && c->states[a->with + 1])
		put_branch(c, a->at, target);
}

static void patch_alternative(struct module_code *c, const struct alternative *a)
{
	bool go_on =
		goes_on(c->bytes + a->at, a->size) && goes_on(c->bytes + a->with, a->with_size);

	if (a->applies == APPLIES_NOT)
		return;
	if (a->applies == APPLIES && (go_on || a->with_size == SITE_SIZE))
		move_code(c, a);
	else if (memchr(c->states + a->at, MODULE_UNKNOWN, a->size))
		/* Each of several entries for one place may apply. The place counts once. */
		set_state(c, a->at, a->size, MODULE_UNKNOWN);
	else
		leave_undecided(c, a->at, a->size, go_on ? MODULE_SAME_WAY : MODULE_UNKNOWN);
}

/* Entries have 12, 13 or 14 bytes: two relative places, then a feature, flags and sizes. */
static void read_alternative(struct module_code *c, struct reader entry, uint64_t at, uint64_t with)
{
	bool is_long = reader_left(&entry) == 14;
	struct alternative a = { .at = at, .with = with };
	uint16_t number, flags = 0;

	reader_bytes(&entry, 8);
	number = reader_u16(&entry);
	if (is_long)
		flags = reader_u16(&entry);
	a.size = reader_u8(&entry);
	a.with_size = reader_u8(&entry);
	/* Flag 2 takes the target of a call out of memory. */
	a.applies = flags & 2 ? APPLIES_PERHAPS
			      : feature_applies(is_long ? number : number & (ALT_INVERTED - 1),
						is_long ? flags & 1 : number & ALT_INVERTED);
	if (!is_inside(c, at, a.size))
		return;
	if (a.with_size <= a.size && is_inside(c, with, MAX(a.with_size, SITE_SIZE)))
		patch_alternative(c, &a);
	else
		leave_undecided(c, at, a.size, MODULE_UNKNOWN);
}

static struct reader relocations_of(const struct module_code *c, const struct elf_section *table)
{
	struct elf_section s;

	for (uint32_t i = 1; elf_section(&c->file->elf, i, &s); i++)
		if (s.type == SHT_RELA && s.info == table->index)
			return elf_section_bytes(&c->file->elf, &s);
	return reader_over(NULL, 0);
}

static void patch_alternatives(struct module_code *c)
{
	struct elf_section table;
	struct reader bytes, entries;
	struct relocation at, with, next;
	size_t stride;

	if (!elf_section_named(&c->file->elf, ".altinstructions", &table))
		return;
	entries = elf_section_bytes(&c->file->elf, &table);
	bytes = relocations_of(c, &table);
	if (!next_relocation(c, &bytes, &at) || !next_relocation(c, &bytes, &with))
		return;
	for (bool has_next = true; has_next; at = next) {
		has_next = next_relocation(c, &bytes, &next);
		stride = has_next ? next.offset - at.offset : table.size - at.offset;
		if (stride < 12 || stride > 14 || at.offset > reader_left(&entries) ||
		    reader_left(&entries) - at.offset < stride)
			return;
		if (at.has_target && with.has_target)
			read_alternative(c,
					 reader_over((const uint8_t *)entries.at + at.offset,
						     stride),
					 at.target - c->base, with.target - c->base);
		has_next = has_next && next_relocation(c, &bytes, &with);
	}
}

/* Whether a static key is that of a tracepoint or a debug message. */
static bool is_of_tracing(const struct module_code *c, const struct relocation *key)
{
	static const char *const names[] = { "__tracepoints", "__dyndbg" };
	struct elf_section s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_section_named(&c->file->elf, names[i], &s) && s.index == key->section)
			return true;
	return false;
}

/* Entries are a place, where its jump leads, and the key: three relocations. */
static void patch_jump_labels(struct module_code *c)
{
	struct relocation place, target, key;
	struct elf_section table;
	struct reader bytes;

	if (!elf_section_named(&c->file->elf, "__jump_table", &table))
		return;
	bytes = relocations_of(c, &table);
	while (next_relocation(c, &bytes, &place) && next_relocation(c, &bytes, &target) &&
	       next_relocation(c, &bytes, &key)) {
		uint64_t off = place.target - c->base;
		bool is_short;

		if (!place.has_target || !is_inside(c, off, 2) || is_of_tracing(c, &key))
			continue;
		is_short = c->bytes[off] == SHORT_JUMP || c->bytes[off] == PREFIX_OPERAND;
		leave_undecided(c, off, is_short ? 2 : MIN(SITE_SIZE, c->size - off),
				MODULE_UNKNOWN);
	}
}

/* Entries of a table with a stride begin with a place, which is relocated. In the kernel's order.
 */
static const struct patch_table {
	const char *name;
	uint32_t stride;
	void (*patch)(struct module_code *c, uint64_t off, const uint8_t *entry);
	void (*patch_all)(struct module_code *c);
} patch_tables[] = {
	{ ".parainstructions", PARAVIRT_STRIDE, patch_paravirt },
	{ ".retpoline_sites", 4, patch_indirect },
	{ ".return_sites", 4, patch_return },
	{ ".altinstructions", .patch_all = patch_alternatives },
	{ ".ibt_endbr_seal", 4, patch_endbr },
	{ ".smp_locks", 4, patch_lock },
	{ ".static_call_sites", 8, patch_static_call },
	{ "__mcount_loc", 8, patch_ftrace },
	{ "__jump_table", .patch_all = patch_jump_labels },
};

static void apply_table(struct module_code *c, const struct patch_table *t)
{
	struct elf_section table;
	struct reader bytes, entries;
	struct relocation r;

	if (t->patch_all) {
		t->patch_all(c);
		return;
	}
	if (!elf_section_named(&c->file->elf, t->name, &table))
		return;
	entries = elf_section_bytes(&c->file->elf, &table);
	bytes = relocations_of(c, &table);
	while (next_relocation(c, &bytes, &r))
		if (r.offset % t->stride == 0 && r.has_target && r.offset < reader_left(&entries) &&
		    reader_left(&entries) - r.offset >= t->stride &&
		    is_inside(c, r.target - c->base, SITE_SIZE))
			t->patch(c, r.target - c->base, (const uint8_t *)entries.at + r.offset);
}

/* ---- all of it ---- */

static bool copy_sections(struct module_code *c)
{
	struct elf_section s;
	uint64_t off;

	vec_foreach (&c->file->segments, segment)
		c->size = MAX(c->size, segment->link_addr - MODULE_BASE + segment->size);
	if (!c->size || c->size > MIN(MAX_SIZE, c->file->size * MAX_GROWTH))
		return false;
	c->bytes = xcalloc(c->size, 1);
	c->states = xcalloc(c->size, 1);
	for (uint32_t i = 1; elf_section(&c->file->elf, i, &s); i++) {
		struct reader bytes = elf_section_bytes(&c->file->elf, &s);
		size_t n = reader_left(&bytes);

		if (!n || n != s.size || !place_in_code(c, &s, &off))
			continue;
		memcpy(c->bytes + off, bytes.at, n);
		set_state(c, off, n, MODULE_KNOWN);
	}
	return true;
}

struct module_code *module_code_new(const struct module_file *m, uint64_t base,
				    const struct module_kernel *kernel)
{
	struct module_code *c = xcalloc(1, sizeof(*c));
	struct elf_section cfi;

	*c = (struct module_code){ .base = base, .file = m, .kernel = kernel };
	/* kCFI: loading writes other code before each function and each indirect call. */
	if (m->elf.machine != EM_X86_64 || elf_section_named(&m->elf, ".cfi_sites", &cfi) ||
	    !elf_symbols_begin(&c->symbols, &m->elf, SHT_SYMTAB) || !copy_sections(c)) {
		module_code_free(c);
		return NULL;
	}
	relocate_sections(c);
	for (size_t i = 0; i < ARRAY_SIZE(patch_tables); i++)
		apply_table(c, &patch_tables[i]);
	c->file = NULL;
	c->kernel = NULL;
	return c;
}

size_t module_code_read(const struct module_code *c, uint64_t addr, enum module_byte least,
			uint8_t *out, size_t size)
{
	uint64_t off = addr - c->base;
	size_t n = 0;

	for (; n < size && off < c->size && c->states[off] >= least; n++, off++)
		out[n] = c->bytes[off];
	return n;
}

void module_code_undecided(const struct module_code *c, uint64_t *n_same_way, uint64_t *n_unknown)
{
	*n_same_way = c->n_same_way;
	*n_unknown = c->n_unknown;
}
