/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/thread_context.h"

#include <elf.h>
#include <stdbool.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_slots.h"
#include "elf/elf_symbols.h"
#include "lang/loop.h"

#define CONTEXT_VERSION 1 /* of otel_thread_ctx_v1 */
#define ALIGN_MAX       4096

/* Bytes below the thread pointer: the block of the program itself ends there. */
static bool find_block(const struct elf_file *elf, uint64_t *size)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++) {
		uint64_t align = MAX(s.align, 1u);

		if (s.type != PT_TLS)
			continue;
		if (align > ALIGN_MAX || (align & (align - 1)) || s.mem_size > INT32_MAX / 2)
			return false;
		*size = (s.mem_size + align - 1) & ~(align - 1);
		return true;
	}
	return false;
}

static bool is_program(const struct elf_file *elf)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_INTERP)
			return true;
	return false;
}

/* How far link addresses are from the base (runtime.h). */
static bool find_base(const struct elf_file *elf, uint64_t *base)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X))
			return loop_base(elf, s.link_addr, base);
	return false;
}

/* Relocations of the variable, by the way to it. */
static const struct {
	uint32_t relocation;
	uint16_t kind;
} slot_kinds[] = {
	{ R_X86_64_TPOFF64, LABELS_CONTEXT_OFFSET },
	{ R_X86_64_TLSDESC, LABELS_CONTEXT_DESCRIPTOR },
	{ R_X86_64_DTPMOD64, LABELS_CONTEXT_MODULE },
};

/* The slot that the dynamic linker fills with the place of the symbol. */
static bool find_slot(const struct elf_file *elf, const char *name, struct label_places *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(slot_kinds) && !out->slot; i++) {
		out->slot = elf_slot_find(elf, name, slot_kinds[i].relocation);
		out->kind = slot_kinds[i].kind;
	}
	return out->slot != 0;
}

static void find_in_program(const struct elf_file *elf, const struct elf_symbol *variable,
			    struct lang_runtime *out)
{
	uint64_t size;

	if (!find_block(elf, &size) || variable->link_addr > size - MIN(size, sizeof(uint64_t)))
		return;
	out->version = CONTEXT_VERSION;
	out->labels.kind = LABELS_CONTEXT;
	out->labels.thread_at = (int32_t)variable->link_addr - (int32_t)size;
}

static void find_in_library(const struct elf_file *elf, const struct elf_symbol *variable,
			    struct lang_runtime *out)
{
	struct label_places places = { .in_module = (uint32_t)variable->link_addr };
	uint64_t base;

	if (variable->link_addr > UINT32_MAX || !find_base(elf, &base) ||
	    !find_slot(elf, variable->name, &places))
		return;
	places.slot -= base;
	out->version = CONTEXT_VERSION;
	out->labels = places;
}

void thread_context_find(const struct elf_file *elf, struct lang_runtime *out)
{
	struct elf_symbol variable;

	*out = (struct lang_runtime){ 0 };
	if (elf->machine != EM_X86_64 ||
	    !elf_symbol_exported(elf, "otel_thread_ctx_v1", &variable) || variable.type != STT_TLS)
		return;
	if (is_program(elf))
		find_in_program(elf, &variable, out);
	else
		find_in_library(elf, &variable, out);
}
