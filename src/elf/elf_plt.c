/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_plt.h"

#include <elf.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"

/* A slot of the global offset table that the loader fills with a function's address. */
struct slot {
	uint64_t link_addr;
	const char *name;
	uint64_t target;
};
struct slots {
	struct slot *data;
	size_t n, cap;
};

/* Relocation types by machine: the three that fill a slot with a function's address. */
struct machine {
	uint16_t id;
	uint32_t jump_slot, glob_dat, irelative;
	/* Decodes at `r`: the slot that a jump goes through; false if there is none. */
	bool (*decode)(struct reader r, uint64_t link_addr, uint64_t got, uint64_t *slot);
	uint8_t entry_size; /* of .plt, where the section header does not say */
	uint8_t step;       /* instructions start at multiples of this in a stub */
};

/* ff 25 disp32: jmp *disp32(%rip), maybe after endbr64 and a bnd prefix. */
static bool decode_x86_64(struct reader r, uint64_t link_addr, uint64_t got, uint64_t *slot)
{
	const uint8_t *start = r.at;

	(void)got;
	for (int skipped = 0; skipped <= 5; skipped++) {
		if (reader_u16(&r) == 0x25ff) {
			uint32_t disp = reader_u32(&r);

			*slot = link_addr + (uint64_t)(r.at - start) + (uint64_t)(int32_t)disp;
			return !r.bad;
		}
		if (r.bad)
			break;
		r.at -= 1;
	}
	return false;
}

/* ff 25 addr32: jmp *addr32; ff a3 disp32: jmp *disp32(%ebx), where ebx holds the table's address.
 */
static bool decode_i386(struct reader r, uint64_t link_addr, uint64_t got, uint64_t *slot)
{
	(void)link_addr;
	for (int skipped = 0; skipped <= 4; skipped++) {
		uint16_t opcode = reader_u16(&r);

		if (opcode == 0x25ff || opcode == 0xa3ff) {
			*slot = (uint32_t)(reader_u32(&r) + (opcode == 0xa3ff ? got : 0));
			return !r.bad;
		}
		if (r.bad)
			break;
		r.at -= 1;
	}
	return false;
}

/* [bti c;] adrp x16, page; ldr x17, [x16, #offset] (Arm ARM C6.2.10, C6.2.166). */
static bool decode_aarch64(struct reader r, uint64_t link_addr, uint64_t got, uint64_t *slot)
{
	uint32_t adrp = reader_u32(&r), ldr;
	uint64_t page;

	(void)got;
	if (adrp == 0xd503245f) { /* bti c */
		adrp = reader_u32(&r);
		link_addr += 4;
	}
	ldr = reader_u32(&r);
	if (r.bad || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	page = (uint64_t)((int64_t)(page << 43) >> 43) << 12;
	*slot = (link_addr & ~UINT64_C(0xfff)) + page + (uint64_t)(ldr >> 10 & 0xfff) * 8;
	return true;
}

static const struct machine machines[] = {
	{ EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, decode_x86_64, 16,
	  8 },
	{ EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE, decode_i386, 16, 8 },
	{ EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE, decode_aarch64,
	  16, 4 },
};

static const struct machine *machine_of(const struct elf_file *elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].id == elf->machine)
			return &machines[i];
	return NULL;
}

static void read_relocations(const struct elf_file *elf, const struct elf_section *section,
			     const struct machine *m, const struct elf_symbols *symbols,
			     struct slots *out)
{
	struct reader r = elf_section_bytes(elf, section);

	while (reader_left(&r)) {
		uint64_t at = elf->is_64 ? reader_u64(&r) : reader_u32(&r);
		uint64_t info = elf->is_64 ? reader_u64(&r) : reader_u32(&r);
		uint64_t addend = 0;
		uint32_t type = elf->is_64 ? (uint32_t)info : (uint32_t)(info & 0xff);
		uint32_t index = (uint32_t)(elf->is_64 ? info >> 32 : info >> 8);
		struct elf_symbol symbol = { .name = "" };

		if (section->type == SHT_RELA)
			addend = elf->is_64 ? reader_u64(&r) : reader_u32(&r);
		if (r.bad)
			break;
		if (type != m->jump_slot && type != m->glob_dat && type != m->irelative)
			continue;
		if (type != m->irelative)
			elf_symbols_get(symbols, index, &symbol);
		vec_push(out, (struct slot){ .link_addr = at,
					     .name = *symbol.name ? symbol.name : NULL,
					     .target = type == m->irelative ? addend : 0 });
	}
}

static int by_link_addr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->link_addr > y->link_addr) - (x->link_addr < y->link_addr);
}

static void read_slots(const struct elf_file *elf, const struct machine *m, struct slots *out)
{
	struct elf_symbols symbols = { 0 };
	uint64_t budget = elf->size;
	struct elf_section s;

	elf_symbols_begin(&symbols, elf, SHT_DYNSYM);
	for (uint32_t i = 0; elf_section(elf, i, &s); i++) {
		if ((s.type != SHT_RELA && s.type != SHT_REL) || !(s.flags & SHF_ALLOC) ||
		    s.size > budget)
			continue;
		budget -= s.size; /* all sections together are no larger than the file */
		read_relocations(elf, &s, m, &symbols, out);
	}
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_link_addr);
}

static const struct slot *find_slot(const struct slots *slots, uint64_t link_addr)
{
	struct slot key = { .link_addr = link_addr };

	if (!slots->n)
		return NULL;
	return bsearch(&key, slots->data, slots->n, sizeof(key), by_link_addr);
}

/*
 * 8 bytes for .plt.got without IBT, 16 else; lld and old linkers leave
 * sh_entsize 0 or, for .plt.got with IBT, say 16 rightly.
 */
static uint64_t entry_size_of(const struct elf_section *s, const struct machine *m)
{
	return s->entry_size == 8 || s->entry_size == 24 ? s->entry_size : m->entry_size;
}

#define MAX_ENTRY_SIZE 32

/*
 * AArch64's entries grow from 16 to 24 bytes with branch protection, which no header says: an
 * entry ends where the next one starts.
 */
static void repair_sizes(struct elf_plt_entry *entries, size_t n, uint64_t section_end)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (entries[i + 1].link_addr - entries[i].link_addr <= MAX_ENTRY_SIZE)
			entries[i].size = entries[i + 1].link_addr - entries[i].link_addr;
	if (n > 1)
		entries[n - 1].size =
			MIN(entries[n - 2].size, section_end - entries[n - 1].link_addr);
}

static void read_section(const struct elf_file *elf, const struct elf_section *section,
			 const struct machine *m, uint64_t got, const struct slots *slots,
			 struct elf_plt *out)
{
	struct reader r = elf_section_bytes(elf, section);
	uint64_t size = entry_size_of(section, m), at = 0, slot_addr;
	size_t first = out->entries.n;

	vec_push(&out->sections, (struct elf_plt_section){ section->link_addr, section->size });
	while (reader_left(&r) >= size) {
		struct reader one = reader_over(r.at, (size_t)size);
		const struct slot *slot = NULL;

		if (m->decode(one, section->link_addr + at, got, &slot_addr))
			slot = find_slot(slots, slot_addr);
		if (slot)
			vec_push(&out->entries,
				 (struct elf_plt_entry){ .link_addr = section->link_addr + at,
							 .size = size,
							 .name = slot->name,
							 .target = slot->target });
		reader_bytes(&r, slot ? size : m->step);
		at += slot ? size : m->step;
	}
	if (out->entries.n > first)
		repair_sizes(out->entries.data + first, out->entries.n - first,
			     section->link_addr + section->size);
}

void elf_plt_read(const struct elf_file *elf, struct elf_plt *out)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	const struct machine *m = machine_of(elf);
	struct slots slots = { 0 };
	struct elf_section s, got = { 0 };

	if (!m)
		return;
	read_slots(elf, m, &slots);
	if (!elf_section_named(elf, ".got.plt", &got))
		elf_section_named(elf, ".got", &got);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_section_named(elf, names[i], &s) && (s.flags & SHF_EXECINSTR))
			read_section(elf, &s, m, got.link_addr, &slots, out);
	vec_fini(&slots);
}

void elf_plt_fini(struct elf_plt *plt)
{
	vec_fini(&plt->entries);
	vec_fini(&plt->sections);
}
