/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/thread_context.h"

#include <elf.h>
#include <stdbool.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"

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

/* A library's block may be anywhere, so its variable is not found here. */
static bool is_program(const struct elf_file *elf)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_INTERP)
			return true;
	return false;
}

void thread_context_find(const struct elf_file *elf, struct lang_runtime *out)
{
	struct elf_symbol variable;
	uint64_t size;

	*out = (struct lang_runtime){ 0 };
	if (elf->machine != EM_X86_64 || !is_program(elf) ||
	    !elf_symbol_exported(elf, "otel_thread_ctx_v1", &variable) || variable.type != STT_TLS)
		return;
	if (!find_block(elf, &size) || variable.link_addr > size - MIN(size, sizeof(uint64_t)))
		return;
	out->version = CONTEXT_VERSION;
	out->labels.kind = LABELS_CONTEXT;
	out->labels.thread_at = (int32_t)variable.link_addr - (int32_t)size;
}
