/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/build_runtimes.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"

/*
 * Go's functions that switch to another stack, which their call frame information leaves out. They
 * keep the frame pointer, which leads back to the goroutine's stack (runtime/asm_amd64.s).
 */
#define BY_FRAME_POINTER                                                                       \
	{                                                                                      \
		.cfa = UNWIND_CFA_FP_OTHER, .off = 2, .saved = UNWIND_FP_AT_CFA, .fp = -16 / 8 \
	}
static const struct stack_switch stack_switches[] = {
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

#define SWITCH_NAME_MAX 64 /* bytes; the table's names are shorter */

#define GO_PROLOGUE   4 /* bytes: push %rbp; mov %rsp, %rbp */
#define LONGEST_CLONE 256

const struct stack_switch *builder_changes_at(const struct builder *b, uint64_t link_addr)
{
	for (uint32_t i = 0; i < b->n_switches; i++)
		if (b->switches[i].link_addr == link_addr)
			return b->switches[i].changes;
	return NULL;
}

uint32_t builder_changes_from(const struct builder *b, const struct cover *c)
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
 * OCaml's compiler keeps its stack in rbx around calls of C on the other stack. The runtime's
 * functions have a mark for that, but these do not. So in such an image, all frames that count from
 * rbx may be on any stack.
 */
void builder_free_registers(struct builder *b)
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

static bool is_go(const struct elf_file *elf)
{
	struct elf_section s;

	return elf_section_named(elf, ".gopclntab", &s) ||
	       elf_section_named(elf, ".data.rel.ro.gopclntab", &s);
}

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
bool builder_is_of_ghc(const struct builder *b)
{
	static const char name[] = "stg_upd_frame_info";
	uint64_t covered = b->all.bytes, code = builder_code_bytes(b);

	return b->elf->machine == EM_X86_64 && covered < code - code / 16 && !is_go(b->elf) &&
	       (has_symbol(b->elf, SHT_SYMTAB, name) || has_symbol(b->elf, SHT_DYNSYM, name));
}

/* GHC's rules: the return address is at rbp, or above. No other compiler has them. */
void builder_mark_heap_stacks(struct builder *b)
{
	vec_foreach (&b->rules, bits) {
		struct unwind_rule rule;

		memcpy(&rule, bits, sizeof(rule));
		if (unwind_rule_cfa(rule) == UNWIND_CFA_FP &&
		    unwind_rule_ra(rule) == UNWIND_RA_AT_CFA && rule.aux >= 0)
			memcpy(bits, &on_heap_stack, sizeof(on_heap_stack));
	}
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

static void add_switch(struct builder *b, const char *name, uint64_t link_addr)
{
	const struct stack_switch *changes = switch_named(name);

	if (changes && b->n_switches < MAX_SWITCHES)
		b->switches[b->n_switches++] = (struct switch_place){ link_addr, changes };
}

/* By their symbols, or in stripped programs by the runtime's own table. */
void builder_find_switches(struct builder *b)
{
	struct elf_go_function f;
	struct elf_symbols it;
	struct elf_symbol symbol;

	if (b->elf->machine != EM_X86_64 || !is_go(b->elf))
		return;
	b->bare.aux = UNWIND_FP_ANYWHERE;
	if (!elf_go_open(&b->go, b->elf))
		b->go.n_functions = 0;
	if (elf_symbols_begin(&it, b->elf, SHT_SYMTAB)) {
		while (elf_symbols_next(&it, &symbol))
			add_switch(b, symbol.name, symbol.link_addr);
		return;
	}
	for (uint32_t i = 0; elf_go_function(&b->go, i, &f); i++)
		add_switch(b, elf_go_short_name(&b->go, &f, SWITCH_NAME_MAX), f.link_addr);
}
