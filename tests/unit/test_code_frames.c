/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from code. The oracle is the call frame information of programs that have it: a compiler
 * wrote it for the same code. Assembly has known rules.
 */
#include <elf.h>

#include "unwind_tables.h"

#include "elf/elf_functions.h"
#include "pt/insn.h"
#include "unwind/code_frames.h"

struct agreement {
	uint32_t n, n_unknown, n_wrong, n_wrong_fp, n_unreached;
};

static const struct code_frame *frame_at(const struct code_frames *f, uint32_t at)
{
	return f->at[at] ? &f->frames.data[f->at[at] - 1] : NULL;
}

static bool has_same_cfa(const struct code_frames *f, uint32_t at, struct unwind_rule known)
{
	const struct code_frame *s = frame_at(f, at);
	int64_t bytes = (int64_t)unwind_rule_words(known) * (f->width / 8);
	struct unwind_rule guess;

	if (unwind_rule_cfa(known) == UNWIND_CFA_SP)
		return s->sp == bytes;
	if (unwind_rule_cfa(known) == UNWIND_CFA_FP)
		return s->fp == bytes;
	return code_frames_rule(f, at, &guess) && guess.cfa == known.cfa && guess.off == known.off;
}

static bool has_same_fp(const struct code_frames *f, uint32_t at, struct unwind_rule known)
{
	const struct code_frame *s = frame_at(f, at);
	int32_t word = (int32_t)f->width / 8;

	if (unwind_rule_fp(known) == UNWIND_FP_SAME)
		return true; /* the register is free for anything if it has the caller's value */
	/* Call frame information leaves out that the register was restored. */
	if (!s->fp_saved && -known.fp * word > s->sp)
		return true;
	return unwind_rule_fp(known) != UNWIND_FP_AT_CFA || s->fp_saved == -known.fp * word;
}

static void compare_function(const struct built *b, const struct elf_function *e,
			     struct agreement *a)
{
	uint64_t file_off;
	struct code_frames f = { .width = b->elf.is_64 ? 64 : 32 };
	struct unwind_rule known = rule_at(b, e->link_addr), guess;

	/* Parts of functions begin anywhere, and some assembly has no rules of its own. */
	if (unwind_rule_cfa(known) != UNWIND_CFA_SP || unwind_rule_words(known) != 1 ||
	    !elf_file_off(&b->elf, e->link_addr, &file_off))
		return;
	f.code = b->elf.base + file_off;
	f.n = (uint32_t)MIN(e->size, (uint64_t)CODE_FRAMES_MAX);
	code_frames_begin(&f);
	code_frames_follow(&f, 0);
	code_frames_follow_rest(&f, true);
	for (uint32_t at = 0; at < f.n; at = code_frames_next(&f, at)) {
		if (!frame_at(&f, at)) {
			a->n_unreached++;
			continue;
		}
		known = rule_at(b, e->link_addr + at);
		a->n++;
		if (!code_frames_rule(&f, at, &guess)) {
			a->n_unknown++;
			continue;
		}
		if (getenv("VERBOSE") && !has_same_cfa(&f, at, known))
			print_message("%lx: sp %d fp %d saved %d, known %d %d\n", e->link_addr + at,
				      frame_at(&f, at)->sp, frame_at(&f, at)->fp,
				      frame_at(&f, at)->fp_saved, known.cfa, known.off);
		a->n_wrong += !has_same_cfa(&f, at, known);
		a->n_wrong_fp += !has_same_fp(&f, at, known);
	}
	code_frames_fini(&f);
}

static struct agreement compare_file(const char *path)
{
	struct elf_functions functions = { 0 };
	struct agreement a = { 0 };
	struct built b;

	build_of(&b, path);
	elf_functions_read(&b.elf, &functions);
	vec_foreach (&functions, f)
		compare_function(&b, f, &a);
	elf_functions_fini(&functions);
	built_fini(&b);
	print_message("# %s: %u instructions, %u unknown, %u wrong, %u with a wrong frame pointer; "
		      "%u bytes not reached\n",
		      path, a.n, a.n_unknown, a.n_wrong, a.n_wrong_fp, a.n_unreached);
	return a;
}

static void frames_agree_with_call_frame_information(void **state)
{
	const char *path = getenv("FRAMES_OF");
	struct agreement a;

	(void)state;
#if !defined(__x86_64__) && !defined(__i386__)
	if (!path)
		skip_because("%s", "instructions of x86 alone are followed");
#endif
	a = compare_file(path ? path : "/proc/self/exe");
	assert_true(a.n > 10000);
	assert_true(a.n_wrong * 200 < a.n);
	assert_true(a.n_unknown * 50 < a.n);
	assert_true(a.n_wrong_fp * 200 < a.n);
	assert_true(a.n_unreached < a.n);
}

static void assert_frame(struct unwind_rule rule, enum unwind_cfa cfa, int words, int fp)
{
	assert_int_equal(unwind_rule_cfa(rule), cfa);
	assert_int_equal(unwind_rule_words(rule), words);
	assert_int_equal(unwind_rule_fp(rule), fp ? UNWIND_FP_AT_CFA : UNWIND_FP_SAME);
	assert_int_equal(rule.fp, fp);
	assert_true(unwind_rule_is_guessed(rule));
}

/* Of functions with and without symbols, and of the program's first one. */
static void bare_code_has_rules_by_its_instructions(void **state)
{
	uint64_t at;
	struct built b;

	(void)state;
	write_file("bare.s", ".text\nfirst: .cfi_startproc\nnop\n.cfi_endproc\n.p2align 6\n"
			     ".globl bare\nbare: push %rbp\nmov %rsp, %rbp\nsub $16, %rsp\n"
			     "leave\nret\n"
			     ".globl small\nsmall: push %r13\nsub $24, %rsp\ntest %edi, %edi\n"
			     "jz 1f\nadd $24, %rsp\npop %r13\nret\n1: jmp *(%rax)\n"
			     "nop\ncase: call unnamed\nud2\n.size small, .-small\n"
			     ".globl _start\n_start: xor %ebp, %ebp\ncall small\nhlt\n"
			     "unnamed: push %rbp\nret\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -static -nostdlib -o bare bare.s");
	build_of(&b, "bare");
	at = address_of(&b, "bare");
	assert_frame(rule_at(&b, at), UNWIND_CFA_SP, 1, 0);
	assert_frame(rule_at(&b, at + 1), UNWIND_CFA_SP, 2, -2);
	assert_frame(rule_at(&b, at + 4), UNWIND_CFA_FP, 2, -2);
	assert_frame(rule_at(&b, at + 8), UNWIND_CFA_FP, 2, -2);
	assert_frame(rule_at(&b, at + 9), UNWIND_CFA_SP, 1, 0);
	at = address_of(&b, "small");
	assert_frame(rule_at(&b, at + 2), UNWIND_CFA_SP, 2, 0);
	assert_frame(rule_at(&b, at + 6), UNWIND_CFA_SP, 5, 0);
	assert_frame(rule_at(&b, at + 14), UNWIND_CFA_SP, 2, 0);
	assert_frame(rule_at(&b, at + 16), UNWIND_CFA_SP, 1, 0);
	assert_frame(rule_at(&b, at + 17), UNWIND_CFA_SP, 5, 0); /* by the branch */
	assert_frame(rule_at(&b, address_of(&b, "case")), UNWIND_CFA_SP, 5, 0);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "_start") + 2)),
			 UNWIND_CFA_END);
	assert_frame(rule_at(&b, address_of(&b, "unnamed") + 1), UNWIND_CFA_SP, 2, -2);
	built_fini(&b);
}

/* Behind the assembler's padding, functions without symbols begin. */
static void bare_code_of_i386_has_rules(void **state)
{
	uint64_t at;
	struct built b;

	(void)state;
	write_file("i386.s",
		   ".text\nfirst: .cfi_startproc\nnop\n.cfi_endproc\n.p2align 6\n"
		   ".globl bare\nbare: push %ebp\nmov %esp, %ebp\npush %ebx\ncall 1f\n"
		   "1: pop %ebx\nlea -4(%ebp), %esp\npop %ebx\npop %ebp\nxor %eax, %eax\nret\n"
		   ".p2align 4\nunnamed: push %esi\nsub $8, %esp\npush $1\n"
		   "add $12, %esp\npop %esi\nret\n");
	need_command("cc -m32 -static -nostdlib -Wl,-e,0 -o i386 i386.s");
	build_of(&b, "i386");
	at = address_of(&b, "bare");
	assert_frame(rule_at(&b, at), UNWIND_CFA_SP, 1, 0);
	assert_frame(rule_at(&b, at + 1), UNWIND_CFA_SP, 2, -2);
	assert_frame(rule_at(&b, at + 3), UNWIND_CFA_FP, 2, -2);
	assert_frame(rule_at(&b, at + 9), UNWIND_CFA_FP, 2, -2); /* behind the call */
	assert_frame(rule_at(&b, at + 13), UNWIND_CFA_FP, 2, -2);
	assert_frame(rule_at(&b, at + 15), UNWIND_CFA_SP, 1, 0);
	at = address_of(&b, "unnamed");
	assert_int_equal(at % 16, 0);
	assert_frame(rule_at(&b, at), UNWIND_CFA_SP, 1, 0);
	assert_frame(rule_at(&b, at + 1), UNWIND_CFA_SP, 2, 0);
	assert_frame(rule_at(&b, at + 4), UNWIND_CFA_SP, 4, 0);
	assert_frame(rule_at(&b, at + 6), UNWIND_CFA_SP, 5, 0);
	assert_frame(rule_at(&b, at + 9), UNWIND_CFA_SP, 2, 0);
	assert_frame(rule_at(&b, at + 10), UNWIND_CFA_SP, 1, 0);
	built_fini(&b);
}

/* A function that aligns its stack keeps the CFA in a register, and then in a slot. */
static void a_realigned_stack_has_rules(void **state)
{
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("aligned.s", ".text\nfirst: .cfi_startproc\nnop\n.cfi_endproc\n.p2align 6\n"
				".globl aligned\naligned: lea 8(%rsp), %r10\nand $-32, %rsp\n"
				"push -8(%r10)\npush %rbp\nmov %rsp, %rbp\npush %r10\n"
				"inside: sub $40, %rsp\nmov -8(%rbp), %r10\nleave\n"
				"left: lea -8(%r10), %rsp\nend: ret\n");
	need_command("cc -dumpmachine | grep x86_64 && "
		     "cc -static -nostdlib -Wl,-e,0 -o aligned aligned.s");
	build_of(&b, "aligned");
	assert_frame(rule_at(&b, address_of(&b, "aligned") + 5), UNWIND_CFA_SP, 1, 0);
	rule = rule_at(&b, address_of(&b, "aligned") + 9);
	assert_frame(rule, UNWIND_CFA_REGISTER, 0, 0);
	assert_int_equal(rule.aux, 10);
	rule = rule_at(&b, address_of(&b, "inside"));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_FP_DEREF);
	assert_int_equal((int16_t)rule.off, -1);
	assert_int_equal(rule.aux, 0);
	assert_int_equal(unwind_rule_fp(rule), UNWIND_FP_AT_FP);
	assert_int_equal(rule.fp, 0);
	rule = rule_at(&b, address_of(&b, "left"));
	assert_frame(rule, UNWIND_CFA_REGISTER, 0, 0);
	assert_int_equal(rule.aux, 10);
	assert_frame(rule_at(&b, address_of(&b, "end")), UNWIND_CFA_SP, 1, 0);
	built_fini(&b);
}

/* Older linkers give a library an entry: its first function, which has callers. */
static void the_entry_of_a_program_alone_is_its_outermost_frame(void **state)
{
	const struct {
		const char *options;
		bool is_end;
	} rows[] = {
		{ "-shared -Wl,--no-as-needed -lc", false },
		{ "-shared -Wl,-soname,libf.so.1", false },
		{ "-shared -Wl,-soname,ld-linux.so.2", true },
		{ "-shared", true }, /* as musl's loader */
		{ "-pie -Wl,--dynamic-linker=/ld.so", true },
		{ "-static -no-pie", true },
	};

	(void)state;
	write_file("entry.s", ".text\n.globl f\nf: push %rbx\ncall g\npop %rbx\nret\n"
			      ".globl g\n.hidden g\ng: ret\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwind_rule rule;
		struct built b;

		need_command("cc -dumpmachine | grep x86_64 && cc %s -nostdlib -Wl,-e,f -o entry "
			     "entry.s",
			     rows[i].options);
		build_of(&b, "entry");
		rule = rule_at(&b, address_of(&b, "f") + 1);
		if (rows[i].is_end)
			assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_END);
		else
			assert_frame(rule, UNWIND_CFA_SP, 2, 0);
		built_fini(&b);
	}
}

static bool is_padding(unsigned int width, const uint8_t *code, size_t n, uint8_t *size)
{
	struct pt_insn insn;

	assert_true(pt_insn_read(width, code, n, &insn));
	*size = insn.size;
	return code_is_padding(width, code, &insn);
}

static void padding_is_code_without_an_effect(void **state)
{
	static const struct {
		unsigned int width;
		bool is_padding;
		uint8_t n, code[9];
	} rows[] = {
		{ 32, true, 2, { 0x66, 0x90 } },
		{ 32, true, 2, { 0x89, 0xf6 } },                   /* mov %esi, %esi */
		{ 32, true, 3, { 0x8d, 0x49, 0x00 } },             /* lea 0(%ecx), %ecx */
		{ 32, true, 7, { 0x8d, 0xbc, 0x27, 0, 0, 0, 0 } }, /* lea 0(%edi,%eiz), %edi */
		{ 64, true, 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } }, /* nopw */
		{ 64, true, 1, { 0xcc } },
		{ 32, false, 3, { 0x8d, 0x76, 0x08 } }, /* lea 8(%esi), %esi */
		{ 32, false, 4, { 0x8d, 0x74, 0x26, 0x04 } },
		{ 32, false, 4, { 0x8d, 0x74, 0x36, 0x00 } },       /* lea 0(%esi,%esi), %esi */
		{ 32, false, 3, { 0x8d, 0x7e, 0x00 } },             /* lea 0(%esi), %edi */
		{ 32, false, 6, { 0x8d, 0x2d, 0, 0, 0, 0 } },       /* lea 0, %ebp */
		{ 32, false, 7, { 0x8d, 0x2c, 0x25, 0, 0, 0, 0 } }, /* the same, with %eiz */
		{ 64, false, 3, { 0x8d, 0x76, 0x00 } },             /* esi loses rsi's upper half */
		{ 64, false, 2, { 0x89, 0xf6 } },
		{ 64, false, 2, { 0xf3, 0x90 } }, /* pause */
		{ 64, false, 4, { 0xf3, 0x0f, 0x1e, 0xfa } },
	};
	uint8_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is = is_padding(rows[i].width, rows[i].code, rows[i].n, &size);

		if (is != rows[i].is_padding || size != rows[i].n)
			fail_msg("row %zu: padding %d, size %u", i, is, size);
	}
}

/* The assembler's own padding in i386 code: gaps of 1 to 15 bytes. */
static void the_padding_of_an_assembler_is_known(void **state)
{
	struct file_mapping file;
	struct elf_file elf;
	struct elf_section text;
	struct reader r;

	(void)state;
	write_file("gaps.s", ".text\n.irp n,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1\n"
			     ".skip \\n, 0xc3\n.p2align 4\n.endr\n");
	need_command("as --32 -o gaps.o gaps.s");
	assert_int_equal(file_map("gaps.o", &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	assert_true(elf_section_named(&elf, ".text", &text));
	r = elf_section_bytes(&elf, &text);
	assert_int_equal(reader_left(&r), 15 * 16);
	for (size_t at = 0; at < 15 * 16;) {
		uint8_t size;
		bool is = is_padding(32, r.at + at, 15 * 16 - at, &size);

		if (is != (at % 16 >= 15 - at / 16))
			fail_msg("gap of %zu bytes, at %zu: %d", at / 16 + 1, at % 16, is);
		at += size;
	}
	file_unmap(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_agree_with_call_frame_information),
		cmocka_unit_test(bare_code_has_rules_by_its_instructions),
		cmocka_unit_test(bare_code_of_i386_has_rules),
		cmocka_unit_test(a_realigned_stack_has_rules),
		cmocka_unit_test(the_entry_of_a_program_alone_is_its_outermost_frame),
		cmocka_unit_test(padding_is_code_without_an_effect),
		cmocka_unit_test(the_padding_of_an_assembler_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
