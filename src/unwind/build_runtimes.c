/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/build_runtimes.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"

/*
 * Go's functions that switch to another stack, which their call frame information leaves out
 * (runtime/asm_amd64.s). They keep the frame pointer, which leads back to the goroutine's stack, or
 * save the goroutine's registers. Before Go 1.21, some had no frame of their own: a second row of
 * their name is for them, right behind the first.
 */
#define BY_FRAME_POINTER                                                                       \
	{                                                                                      \
		.cfa = UNWIND_CFA_FP_OTHER, .off = 2, .saved = UNWIND_FP_AT_CFA, .fp = -16 / 8 \
	}
#define BY_GOROUTINE(ra)                                        \
	{                                                       \
		.cfa = UNWIND_CFA_ELSEWHERE, .saved = (ra) << 4 \
	}
static const struct stack_switch stack_switches[] = {
	{ "runtime.systemstack", SWITCH_BEHIND_LOAD, 16, BY_FRAME_POINTER },
	{ "runtime.systemstack", SWITCH_BETWEEN_LOADS, 8, BY_GOROUTINE(UNWIND_RA_BELOW_CFA) },
	{ "runtime.asmcgocall", SWITCH_BEHIND_LOAD, 16, BY_FRAME_POINTER },
	/* the frame pointer is its caller's: the stack goes on without the caller */
	{ "runtime.asmcgocall", SWITCH_BEHIND_LOAD, 8, BY_FRAME_POINTER },
	/* these call the vdso */
	{ "runtime.nanotime1", SWITCH_BEHIND_LOAD, 16, BY_FRAME_POINTER },
	{ "runtime.walltime", SWITCH_BEHIND_LOAD, 16, BY_FRAME_POINTER },
	{ "time.now", SWITCH_BEHIND_LOAD, 16, BY_FRAME_POINTER },
	/* the goroutine stops here, and does not call the thread's next code */
	{ "runtime.mcall", SWITCH_BEHIND_LOAD, 8, { .cfa = UNWIND_CFA_END } },
	/* so does one that is preempted: from here on, its thread may have another one */
	{ "runtime.goschedImpl", SWITCH_AT_START, 8, { .cfa = UNWIND_CFA_END } },
	{ "runtime.preemptPark", SWITCH_AT_START, 8, { .cfa = UNWIND_CFA_END } },
	{ "_rt0_amd64_linux", SWITCH_AT_START, 8, { .cfa = UNWIND_CFA_END } },
	{ "_rt0_amd64", SWITCH_AT_START, 8, { .cfa = UNWIND_CFA_END } },
	/* the new thread begins behind its return */
	{ "runtime.clone", SWITCH_BEHIND_RETURN, 8, { .cfa = UNWIND_CFA_END } },
	{ "runtime.morestack", SWITCH_BEHIND_LOAD, 8, BY_GOROUTINE(UNWIND_RA_REGISTER) },
};

/*
 * On AArch64, some of them keep the frame pointer of their own frame, and others end the stack
 * here. Calls that a signal puts into code keep its link register below its frame, where no rule
 * looks.
 */
#define BY_OWN_FRAME_POINTER                                      \
	{                                                         \
		.cfa = UNWIND_CFA_NONE, .aux = UNWIND_FP_ANYWHERE \
	}
#define ON_OTHER_STACK                      \
	{                                   \
		.cfa = UNWIND_CFA_ELSEWHERE \
	}
static const struct stack_switch switches_aarch64[] = {
	{ "runtime.systemstack", SWITCH_AT_START, 0, BY_OWN_FRAME_POINTER },
	{ "runtime.asmcgocall", SWITCH_AT_START, 0, BY_OWN_FRAME_POINTER },
	{ "runtime.nanotime1", SWITCH_AT_START, 8, BY_OWN_FRAME_POINTER },
	{ "runtime.walltime", SWITCH_AT_START, 8, BY_OWN_FRAME_POINTER },
	{ "time.now", SWITCH_AT_START, 8, BY_OWN_FRAME_POINTER },
	{ "runtime.mcall", SWITCH_AT_START, 0, ON_OTHER_STACK },
	{ "runtime.morestack", SWITCH_AT_START, 0, ON_OTHER_STACK },
	{ "runtime.asyncPreempt", SWITCH_AT_START, 0, { .cfa = UNWIND_CFA_UNSUPPORTED } },
	{ "runtime.sigpanic", SWITCH_AT_START, 0, { .cfa = UNWIND_CFA_UNSUPPORTED } },
};

#define SWITCH_NAME_MAX 64 /* bytes; the table's names are shorter */
#define LONGEST_SWITCH  512

/* Bytes of instructions, under masks. A value of some bytes follows. */
struct code_pattern {
	uint8_t masks[3], bytes[3];
	uint32_t value_size;
};
static const struct code_pattern patterns_load[] = {
	{ { 0xfe, 0xff, 0xf8 }, { 0x48, 0x8b, 0x60 }, 1 }, /* mov DISPLACEMENT(%REGISTER), %rsp */
	{ { 0xfb, 0xff, 0xc7 }, { 0x48, 0x89, 0xc4 }, 0 }, /* mov %REGISTER, %rsp */
};
static const struct code_pattern pattern_running = { /* cmp DISPLACEMENT(%rbx), %rax */
						     { 0xff, 0xff, 0xff },
						     { 0x48, 0x3b, 0x83 },
						     4
};
static const struct code_pattern pattern_fp = { /* mov %rbp, DISPLACEMENT(%REGISTER) */
						{ 0xfe, 0xff, 0xf8 },
						{ 0x48, 0x89, 0x68 },
						1
};

/* The place of the value in the code, or NULL. */
static const uint8_t *find_pattern(const struct code_pattern *p, struct reader code)
{
	for (const uint8_t *at = code.at; (size_t)(code.end - at) >= 3 + p->value_size; at++)
		if ((at[0] & p->masks[0]) == p->bytes[0] && (at[1] & p->masks[1]) == p->bytes[1] &&
		    (at[2] & p->masks[2]) == p->bytes[2])
			return at + 3;
	return NULL;
}

/* The code behind the next load of the stack pointer; empty: there is none. */
static struct reader behind_load(struct reader code)
{
	const uint8_t *first = code.end, *at;

	for (size_t i = 0; i < ARRAY_SIZE(patterns_load); i++) {
		at = find_pattern(&patterns_load[i], code);
		if (at && at + patterns_load[i].value_size < first)
			first = at + patterns_load[i].value_size;
	}
	code.at = first;
	return code;
}

static void set_range(const struct builder *b, struct cover *c)
{
	const uint8_t *start = b->elf->base + c->file_off, *end;
	struct reader code = reader_over(start, (size_t)MIN(c->size, (uint64_t)LONGEST_SWITCH));

	c->changes_from = 0;
	c->changes_to = UINT32_MAX;
	if (c->changes->where == SWITCH_BEHIND_RETURN) {
		end = memchr(start, RETURN_X86_64, reader_left(&code));
		c->changes_from = end ? (uint32_t)(end - start) + 1 : UINT32_MAX;
	} else if (c->changes->where != SWITCH_AT_START) {
		code = behind_load(code);
		c->changes_from = reader_left(&code) ? (uint32_t)(code.at - start) : UINT32_MAX;
	}
	if (c->changes->where == SWITCH_BETWEEN_LOADS)
		c->changes_to = (uint32_t)(behind_load(code).at - start);
}

bool builder_is_outermost(const struct builder *b, const struct elf_go_function *f)
{
	static const char handler[] = "runtime.sigtramp";

	return f->is_outermost && strncmp(elf_go_short_name(&b->go, f, SWITCH_NAME_MAX), handler,
					  sizeof(handler) - 1) != 0;
}

void builder_set_changes(const struct builder *b, struct cover *c)
{
	for (uint32_t i = 0; i < b->n_switches; i++)
		if (b->switches[i].link_addr == c->link_addr)
			c->changes = b->switches[i].changes;
	if (!c->changes)
		return;
	set_range(b, c);
	c->rule = c->changes->rule;
	if (unwind_rule_cfa(c->rule) == UNWIND_CFA_ELSEWHERE) {
		c->rule = b->goroutine;
		c->rule.cfa = UNWIND_CFA_ELSEWHERE;
		c->rule.saved = c->changes->rule.saved;
	}
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
	uint64_t covered = b->cover_bytes, code = builder_code_bytes(b);

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

#define PUSH_RBP 0x55

/* The first row of a name. */
static const struct stack_switch *switch_named(const struct builder *b, const char *name)
{
	bool is_aarch64 = b->elf->machine == EM_AARCH64;
	const struct stack_switch *rows = is_aarch64 ? switches_aarch64 : stack_switches;
	size_t n_rows = is_aarch64 ? ARRAY_SIZE(switches_aarch64) : ARRAY_SIZE(stack_switches);

	for (size_t i = 0; i < n_rows; i++) {
		size_t n = strlen(rows[i].name);

		/* assembly of another calling convention has a mark */
		if (!strncmp(name, rows[i].name, n) && (!name[n] || !strcmp(name + n, ".abi0")))
			return &rows[i];
	}
	return NULL;
}

/* A function that begins without a frame has the last row of its name. */
static const struct stack_switch *switch_without_frame(const struct stack_switch *first)
{
	const struct stack_switch *end = stack_switches + ARRAY_SIZE(stack_switches);

	while (first + 1 < end && !strcmp(first[1].name, first->name))
		first++;
	return first;
}

/*
 * The places of a goroutine that the code of the runtime shows: `systemstack` compares the running
 * goroutine, and `morestack` saves the frame pointer.
 */
static void learn_goroutine(struct builder *b, struct reader code)
{
	const uint8_t *running, *fp;
	int32_t thread;
	uint32_t place;

	code.end = code.at + MIN(reader_left(&code), (size_t)LONGEST_SWITCH);
	running = find_pattern(&pattern_running, code);
	fp = find_pattern(&pattern_fp, code);
	if (running && !b->goroutine.off) {
		memcpy(&place, running, sizeof(place));
		b->goroutine.off = place % 8 || place / 8 > UINT16_MAX ? 0 : (uint16_t)(place / 8);
	}
	if (!fp || *fp > INT8_MAX || *fp % 8 || b->goroutine.aux ||
	    !elf_go_find_thread(code, &thread) || thread % 8 || thread / 8 < INT16_MIN ||
	    thread / 8 > INT16_MAX)
		return;
	b->goroutine.fp = *fp / 8;
	b->goroutine.aux = (int16_t)(thread / 8);
}

static void add_switch(struct builder *b, const char *name, uint64_t link_addr)
{
	const struct stack_switch *changes = switch_named(b, name);
	bool is_aarch64 = b->elf->machine == EM_AARCH64;
	struct reader code;

	if (!changes || b->n_switches == MAX_SWITCHES)
		return;
	code = elf_bytes_at(b->elf, link_addr);
	if (!is_aarch64 && (!reader_left(&code) || *code.at != PUSH_RBP))
		changes = switch_without_frame(changes);
	b->switches[b->n_switches++] = (struct switch_place){ link_addr, changes };
	if (is_aarch64)
		return;
	if (!strncmp(name, "runtime.systemstack", 19) || !strncmp(name, "runtime.morestack", 17))
		learn_goroutine(b, code);
}

/* By their symbols, or in stripped programs by the runtime's own table. */
void builder_find_switches(struct builder *b)
{
	struct elf_go_function f;
	struct elf_symbols it;
	struct elf_symbol symbol;

	if ((b->elf->machine != EM_X86_64 && b->elf->machine != EM_AARCH64) || !is_go(b->elf))
		return;
	if (b->elf->machine == EM_X86_64)
		b->bare = (struct unwind_rule){ .aux = UNWIND_FP_ANYWHERE };
	if (!elf_go_open(&b->go, b->elf))
		b->go.n_functions = 0;
	if (elf_symbols_begin(&it, b->elf, SHT_SYMTAB))
		while (elf_symbols_next(&it, &symbol))
			add_switch(b, symbol.name, symbol.link_addr);
	else
		for (uint32_t i = 0; elf_go_function(&b->go, i, &f); i++)
			add_switch(b, elf_go_short_name(&b->go, &f, SWITCH_NAME_MAX), f.link_addr);
	/* one of both alone is of no use, nor are places of an unknown version */
	if (!b->goroutine.off || elf_go_version(b->elf) >= ELF_GO_UNKNOWN)
		b->goroutine.aux = 0;
}
