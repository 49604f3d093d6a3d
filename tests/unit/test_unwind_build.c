/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building tables if .eh_frame is absent, odd, or incomplete. */
#include "unwind_tables.h"

#include <elf.h>

#include "base/buf.h"

/* An assembly function `f` with the directives in it, for x86-64. */
static void assemble(struct built *b, const char *body)
{
	char *text = xasprintf(".text\n.globl f\n.type f,@function\nf:\n.cfi_startproc\n%s\n"
			       ".cfi_endproc\n.size f,.-f\n.section .note.GNU-stack\n",
			       body);

	write_file("f.s", text);
	free(text);
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o f.so f.s");
	build_of(b, "f.so");
}

static void a_plt_without_frame_information_has_the_rules_of_its_form(void **state)
{
	struct elf_section plt;
	struct built b;

	(void)state;
	write_file("calls.c", "int other(void); int f(void) { return other() + 1; }\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -O1 -shared -fPIC -fcf-protection=none "
		     "-fplt -nostdlib -Wl,-z,lazy,--no-ld-generated-unwind-info -o calls.so "
		     "calls.c");
	build_of(&b, "calls.so");
	assert_true(elf_section_named(&b.elf, ".plt", &plt));
	assert_sp_plus(rule_at(&b, plt.link_addr), 16);
	assert_sp_plus(rule_at(&b, plt.link_addr + 6), 24);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, plt.link_addr + 16)), UNWIND_CFA_PLT);
	assert_int_equal(rule_at(&b, plt.link_addr + 16).aux, 11);
	built_fini(&b);
}

/* The second function aligns its stack as gcc does in main(); the third is a signal frame. */
static const char i386_code[] =
	".text\n.globl f\nf: .cfi_startproc\npush %ebp\n.cfi_def_cfa_offset 8\n.cfi_offset ebp, "
	"-8\n"
	"mov %esp, %ebp\n.cfi_def_cfa_register ebp\nret\n.cfi_endproc\n"
	"g: .cfi_startproc\n.cfi_def_cfa ecx, 0\nnop\n"
	".cfi_escape 0x0f, 3, 0x75, 0x7c, 6\n.cfi_escape 0x10, 5, 2, 0x75, 0\nnop\n.cfi_endproc\n"
	"nop\nh: .cfi_startproc simple\n.cfi_signal_frame\n.cfi_def_cfa esp, 4\n"
	".cfi_offset eip, 56\nnop\n.cfi_endproc\n"
	"i: .cfi_startproc simple\n.cfi_signal_frame\n.cfi_escape 0x0f, 4, 0x74, 0xbc, 1, 6\n"
	".cfi_offset eip, 0\nnop\n.cfi_endproc\n"
	".globl bare\n.p2align 4\nbare: push %ebp\nmov %esp, %ebp\nnop\npop %ebp\nret\n";

static void i386_rules_are_in_words_of_four_bytes(void **state)
{
	struct unwind_rule rule;
	struct built b;
	uint64_t f, bare;

	(void)state;
	write_file("i386.s", i386_code);
	need_command(
		"cc -dumpmachine | grep x86_64 && cc -m32 -shared -nostdlib -o i386.so i386.s");
	build_of(&b, "i386.so");
	f = address_of(&b, "f"), bare = address_of(&b, "bare");
	assert_true(rule_at(&b, f + 1).off == 2 && rule_at(&b, f + 1).fp == -2);
	rule = rule_at(&b, f + 4);
	assert_true(unwind_rule_cfa(rule) == UNWIND_CFA_REGISTER && rule.aux == 1 && !rule.off);
	rule = rule_at(&b, f + 5);
	assert_true(unwind_rule_cfa(rule) == UNWIND_CFA_FP_DEREF && rule.off == UINT16_MAX);
	rule = rule_at(&b, f + 7); /* the context is 4 bytes above the stack pointer */
	assert_true(unwind_rule_cfa(rule) == UNWIND_CFA_SIGNAL && rule.off == 8 && rule.fp == 7);
	rule = rule_at(&b, f + 8); /* its stack pointer is at 188 */
	assert_true(unwind_rule_cfa(rule) == UNWIND_CFA_SIGNAL && rule.off == 47 && rule.aux == 48);
	assert_true(rule_at(&b, bare).off == 1 && rule_at(&b, bare + 1).off == 2);
	rule = rule_at(&b, bare + 3);
	assert_true(unwind_rule_cfa(rule) == UNWIND_CFA_FP && rule.off == 2 && rule.fp == -2);
	assert_true(rule_at(&b, bare + 5).off == 1);
	built_fini(&b);
}

static void debug_frame_serves_where_eh_frame_is_not(void **state)
{
	struct built b;

	(void)state;
	write_file("plain.c",
		   "int g(char *); int f(int x) { char b[96]; b[x] = 1; return g(b); }\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -O1 -g -shared -fPIC -nostdlib "
		     "-Wl,--no-ld-generated-unwind-info "
		     "-fno-asynchronous-unwind-tables -fno-exceptions -fno-stack-protector "
		     "-o plain.so plain.c");
	build_of(&b, "plain.so");
	assert_sp_plus(rule_at(&b, address_of(&b, "f")), 8);
	assert_true(b.block->n_functions == 1 && b.block->n_rows >= 3);
	built_fini(&b);
}

/* Large enough to be smaller when it is compressed: objcopy leaves it otherwise. */
static void make_plain(const char *more)
{
	write_file("plain.c",
		   "int g(char *);\n"
		   "#define F(n) int f##n(int x) { char b[96]; b[x] = 1; return g(b) + n; }\n"
		   "F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -O1 -g -shared -fPIC -nostdlib "
		     "-Wl,--no-ld-generated-unwind-info -fno-asynchronous-unwind-tables "
		     "-fno-exceptions -fno-stack-protector -o plain.so plain.c && %s",
		     more);
}

static void assert_frames_of_plain(const struct unwind_header *block)
{
	assert_int_equal(block->n_functions, 10);
	assert_int_equal(block->bare_bytes, 0);
	assert_int_equal(block->n_unsupported, 0);
}

static void assert_is_unpacked(const char *how)
{
	struct built plain, packed;
	char command[200]; /* a skipped test frees nothing */

	snprintf(command, sizeof(command),
		 "objcopy --compress-debug-sections=%s plain.so packed.so && "
		 "readelf -SW packed.so | grep -E '[.]zdebug_frame|debug_frame.* C '",
		 how);
	make_plain(command);
	build_of(&plain, "plain.so");
	build_of(&packed, "packed.so");
	assert_frames_of_plain(plain.block);
	assert_frames_of_plain(packed.block);
	assert_sp_plus(rule_at(&packed, address_of(&packed, "f9")), 8);
	assert_int_equal(packed.block->n_rows, plain.block->n_rows);
	built_fini(&plain);
	built_fini(&packed);
}

static void debug_frame_may_be_compressed(void **state)
{
	(void)state;
	assert_is_unpacked("zlib");
}

static void debug_frame_may_be_compressed_the_old_way(void **state)
{
	(void)state;
	assert_is_unpacked("zlib-gnu");
}

static void debug_frame_may_be_compressed_by_zstd(void **state)
{
	(void)state;
	assert_is_unpacked("zstd");
}

static void a_compressed_debug_frame_that_lies_of_its_size_is_none(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 300u << 20, 1ull << 62, UINT64_MAX };
	struct elf_section section;
	struct built b;

	(void)state;
	make_plain("objcopy --compress-debug-sections=zlib plain.so packed.so && "
		   "readelf -SW packed.so | grep 'debug_frame.* C '");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint8_t *bytes;

		build_of(&b, "packed.so");
		assert_true(elf_section_named(&b.elf, ".debug_frame", &section));
		bytes = xmalloc(b.file.size);
		memcpy(bytes, b.file.base, b.file.size);
		memcpy(bytes + section.file_off + 8, &sizes[i], sizeof(sizes[i]));
		b.elf.base = bytes;
		free(b.block);
		assert_int_equal(unwind_build(&b.elf, NULL, &b.block, NULL), 0);
		assert_int_equal(b.block->n_functions, 0);
		assert_true(unwind_is_bare(b.block));
		free(bytes);
		built_fini(&b);
	}
}

static void debug_frame_may_lie_in_the_debug_file(void **state)
{
	struct built image, debug;

	(void)state;
	make_plain("objcopy --only-keep-debug plain.so plain.debug && strip -o bare.so plain.so && "
		   "objcopy --compress-debug-sections=zlib plain.debug");
	build_of(&image, "bare.so");
	assert_true(unwind_is_bare(image.block));
	free(image.block);
	build_of(&debug, "plain.debug");
	assert_int_equal(unwind_build(&image.elf, &debug.elf, &image.block, NULL), 0);
	assert_true(unwind_table_open(&image.table, image.block, (size_t)image.block->size));
	assert_frames_of_plain(image.block);
	assert_sp_plus(rule_at(&image, address_of(&debug, "f9")), 8);
	built_fini(&image);
	built_fini(&debug);
}

static void without_section_headers_the_segments_lead_to_it(void **state)
{
	struct built whole, bare;

	(void)state;
	write_file("leaf.c", "int f(int x) { volatile char b[999]; b[x] = 1; return b[x / 2]; }\n");
	need_command("cc -O1 -shared -fPIC -nostdlib -Wl,--no-ld-generated-unwind-info -o whole.so "
		     "leaf.c");
	build_of(&whole, "whole.so");
	build_of(&bare, "whole.so");
	free(bare.block);
	bare.elf.n_sections = 0;
	assert_int_equal(unwind_build(&bare.elf, NULL, &bare.block, NULL), 0);
	assert_int_equal(bare.block->n_rows, whole.block->n_rows);
	assert_true(whole.block->n_rows > 2);
	built_fini(&whole);
	built_fini(&bare);
}

static void the_return_from_handlers_on_aarch64_is_known_by_its_code(void **state)
{
	struct built b;

	(void)state;
	write_file("vdso.s", ".text\nf: ret\nnop\nnop\nsigreturn: mov x8, #139\nsvc #0\n");
	need_command("aarch64-linux-gnu-gcc -shared -nostdlib -Wl,-z,max-page-size=4096 "
		     "-o vdso.so vdso.s");
	build_of(&b, "vdso.so");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "sigreturn"))),
			 UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "sigreturn") - 1)),
			 UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))), UNWIND_CFA_NONE);
	built_fini(&b);
}

static void assert_signal_around(const struct built *b, const char *trampoline, uint64_t size)
{
	uint64_t at = address_of(b, trampoline);

	assert_int_equal(unwind_rule_cfa(rule_at(b, at - 1)), UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_rule_cfa(rule_at(b, at)), UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_rule_cfa(rule_at(b, at + size - 1)), UNWIND_CFA_SIGNAL);
	assert_int_not_equal(unwind_rule_cfa(rule_at(b, at + size)), UNWIND_CFA_SIGNAL);
}

/* musl's code has no call frame information. Go's .debug_frame describes it as a function. */
static void the_return_from_handlers_on_x86_64_is_known_by_its_code(void **state)
{
	struct built b;

	(void)state;
	write_file("own.s", ".text\nf: ret\nnop\nnop\nas_musl: mov $15, %rax\nsyscall\nud2\n"
			    "short: mov $15, %eax\nsyscall\nud2\n"
			    ".cfi_sections .debug_frame\n"
			    "g: .cfi_startproc\nret\n.p2align 5, 0xcc\n.cfi_endproc\n"
			    "as_go: .cfi_startproc\nmov $15, %rax\nsyscall\nint3\n.cfi_endproc\n"
			    ".p2align 5\nh: .cfi_startproc\nret\n.cfi_endproc\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o own.so own.s");
	build_of(&b, "own.so");
	assert_signal_around(&b, "as_musl", 9);
	assert_signal_around(&b, "short", 7);
	assert_signal_around(&b, "as_go", 9 + 1);
	assert_sp_plus(rule_at(&b, address_of(&b, "g")), 8);
	assert_sp_plus(rule_at(&b, address_of(&b, "h")), 8);
	built_fini(&b);
}

/* As glibc has them: the call frame information ends before the system call. */
static void a_new_thread_and_its_creator_return_from_clone(void **state)
{
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("clone.s",
		   ".text\nclone: .cfi_startproc\nmov $56, %eax\n.cfi_endproc\n"
		   "call: syscall\ntest %rax, %rax\njl error\nje thread\nleave: ret\n"
		   "thread: .cfi_startproc\n.cfi_undefined rip\nxor %ebp, %ebp\nhlt\n"
		   "error: ret\n.cfi_endproc\n.p2align 5\n"
		   "f: .cfi_startproc\nnop\n.cfi_endproc\nother: syscall\ntest %rax, %rax\n"
		   "nop\nnop\nnop\nnop\nnop\nnop\n"
		   "g: .cfi_startproc\nret\n.cfi_endproc\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o clone.so clone.s");
	build_of(&b, "clone.so");
	assert_sp_plus(rule_at(&b, address_of(&b, "clone")), 8);
	for (uint64_t at = address_of(&b, "call"); at <= address_of(&b, "leave"); at++) {
		rule = rule_at(&b, at);
		assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_CLONED);
		assert_int_equal(unwind_rule_offset(rule), 8);
	}
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "thread"))), UNWIND_CFA_END);
	assert_sp_plus(rule_at(&b, address_of(&b, "other")), 8);
	built_fini(&b);
}

/* Both threads from `call` to `thread`, the new one up to `leave`, which is the creator's. */
static void assert_clone(const struct built *b, enum unwind_ra ra)
{
	uint64_t thread = address_of(b, "thread"), leave = address_of(b, "leave");

	for (uint64_t at = address_of(b, "call"); at < thread; at++) {
		assert_int_equal(unwind_rule_cfa(rule_at(b, at)), UNWIND_CFA_CLONED);
		assert_int_equal(unwind_rule_ra(rule_at(b, at)), ra);
	}
	for (uint64_t at = thread; at < leave; at++)
		assert_int_equal(unwind_rule_cfa(rule_at(b, at)), UNWIND_CFA_END);
}

/* musl has no call frame information, and other code around it. */
static void a_new_thread_of_musl_has_no_caller(void **state)
{
	struct built b;

	(void)state;
	write_file("musl.s",
		   ".text\nf: syscall\ntest %eax, %eax\njnz 1f\n1: ret\n"
		   "clone: and $-16, %rsi\n"
		   "call: syscall\ntest %eax, %eax\njnz leave\n"
		   "thread: xor %ebp, %ebp\npop %rdi\ncall *%r9\nmov %eax, %edi\n"
		   "xor %eax, %eax\nmov $60, %al\nsyscall\nhlt\nleave: ret\nbehind: ret\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o musl.so musl.s");
	build_of(&b, "musl.so");
	assert_clone(&b, UNWIND_RA_BELOW_CFA);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "leave"))), UNWIND_CFA_CLONED);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "behind"))), UNWIND_CFA_SP);
	built_fini(&b);
}

#define BUILD_AARCH64(name) "aarch64-linux-gnu-gcc -shared -nostdlib -o " name ".so " name ".s"

/* glibc's table describes the creator, also where the new thread runs. */
static void a_new_thread_on_aarch64_has_no_caller(void **state)
{
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("arm.s", ".text\n.p2align 4\nclone: .cfi_startproc\nmov x8, #220\n"
			    "call: svc #0\ncmp x0, #0\nb.eq thread\nb.lt error\nret\n"
			    "error: b error\n.cfi_endproc\n.p2align 4\n"
			    "thread: .cfi_startproc\n.cfi_undefined x30\nmov x29, 0\nblr x11\n"
			    ".cfi_endproc\nleave: ret\n");
	need_command(BUILD_AARCH64("arm"));
	build_of(&b, "arm.so");
	rule = rule_at(&b, address_of(&b, "clone"));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
	for (uint64_t at = address_of(&b, "call"); at < address_of(&b, "error"); at += 4) {
		rule = rule_at(&b, at);
		assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_CLONED);
		assert_int_equal(unwind_rule_offset(rule), 0);
		assert_int_equal(unwind_rule_ra(rule), UNWIND_RA_LR);
	}
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "thread"))), UNWIND_CFA_END);
	built_fini(&b);
}

/* sp + vg * 24 + 16, as GCC 12 writes it. */
#define SVE_CFA(n) \
	".cfi_escape 0x0f, 0x0b, 0x8f, 0, 0x92, 0x2e, 0, 0x8, " #n ", 0x1e, 0x23, 16, 0x22\n"

static void a_frame_with_sve_vectors_is_left_by_its_record(void **state)
{
	struct built b;

	(void)state;
	write_file(
		"sve.s",
		".arch armv8-a+sve\n.text\n.p2align 4\nf: .cfi_startproc\n"
		"addvl sp, sp, #-3\n.cfi_escape 0x0f, 9, 0x8f, 0, 0x92, 0x2e, 0, 0x08, 24, 0x1e, "
		"0x22\nsub sp, sp, #16\nsaves: stp x29, x30, [sp]\n"
		".cfi_escape 0x10, 29, 2, 0x8f, 0\n.cfi_escape 0x10, 30, 2, 0x8f, 8\n"
		"sets: mov x29, sp\nmoves: addvl sp, sp, #-18\n" SVE_CFA(
			168) "body: nop\nnop\nldp x29, x30, [sp]\n.cfi_restore x29\n.cfi_restore "
			     "x30\n"
			     "ends: addvl sp, sp, #3\n"
			     ".cfi_def_cfa sp, 16\nback: add sp, sp, #16\nret\n.cfi_endproc\n"
			     /* without a record, nothing leads to the caller */
			     "g: .cfi_startproc\nstr x30, [sp]\n.cfi_escape 0x10, 30, 2, 0x8f, "
			     "0\n" SVE_CFA(24) "bare: nop\nret\n.cfi_endproc\n");
	need_command(BUILD_AARCH64("sve"));
	build_of(&b, "sve.so");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "saves"))),
			 UNWIND_CFA_UNSUPPORTED);
	/* Here x29 is the caller's: it leads past the caller. */
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "sets"))),
			 UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "moves"))), UNWIND_CFA_NONE);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "body"))), UNWIND_CFA_NONE);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "body") + 4)), UNWIND_CFA_NONE);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "ends"))),
			 UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "back"))), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "bare"))),
			 UNWIND_CFA_UNSUPPORTED);
	built_fini(&b);
}

static void a_new_thread_of_musl_on_aarch64_has_no_caller(void **state)
{
	static const char *const starts[] = { "", "mov x29, 0\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		char *text = xasprintf(".text\n.p2align 4\nclone: mov x8, #220\n"
				       "call: svc #0\ncbz x0, thread\nret\nthread: %s"
				       "ldp x1, x0, [sp], #16\nblr x1\nmov x8, #93\nsvc #0\n"
				       "leave: ret\n",
				       starts[i]);
		struct built b;

		write_file("arm_musl.s", text);
		need_command(BUILD_AARCH64("arm_musl"));
		build_of(&b, "arm_musl.so");
		assert_clone(&b, UNWIND_RA_LR);
		built_fini(&b);
		free(text);
	}
}

static void an_undefined_return_address_is_the_end(void **state)
{
	struct built b;

	(void)state;
	assemble(&b, ".cfi_undefined rip\nnop");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))), UNWIND_CFA_END);
	built_fini(&b);
}

static void states_are_remembered_and_restored(void **state)
{
	struct built b;
	uint64_t f;

	(void)state;
	assemble(&b,
		 "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp,-16\n.cfi_remember_state\n"
		 "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbp\nret\n"
		 ".cfi_restore_state\nnop");
	f = address_of(&b, "f");
	assert_sp_plus(rule_at(&b, f), 8);
	assert_sp_plus(rule_at(&b, f + 1), 16);
	assert_sp_plus(rule_at(&b, f + 2), 8);
	assert_int_equal(unwind_rule_fp(rule_at(&b, f + 2)), UNWIND_FP_SAME);
	assert_sp_plus(rule_at(&b, f + 3), 16);
	assert_int_equal(unwind_rule_fp(rule_at(&b, f + 3)), UNWIND_FP_AT_CFA);
	assert_int_equal(rule_at(&b, f + 3).fp, -2);
	built_fini(&b);
}

static void a_program_that_makes_no_sense_is_unsupported_from_there_on(void **state)
{
	struct built b;
	uint64_t f;

	(void)state;
	assemble(&b, "nop\n.cfi_escape 0x0b\nnop"); /* restores what was never remembered */
	f = address_of(&b, "f");
	assert_sp_plus(rule_at(&b, f), 8);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, f + 1)), UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(b.block->n_unsupported, 1);
	built_fini(&b);
}

/* libgcrypt's assembly: by DWARF the offset is undefined then, everyone keeps it. */
static void a_register_after_an_expression_has_the_offset_from_before_it(void **state)
{
	struct built b;
	uint64_t f;

	(void)state;
	assemble(&b, ".cfi_def_cfa_offset 56\nnop\n"
		     ".cfi_escape 0x0f,6,0x77,0x98,0x04,0x06,0x23,0x38\nnop\n" /* [rsp+536]+56 */
		     ".cfi_def_cfa_register rsp\nnop");
	f = address_of(&b, "f");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, f + 1)), UNWIND_CFA_SP_DEREF);
	assert_int_equal(rule_at(&b, f + 1).off, 536 / 8);
	assert_int_equal(rule_at(&b, f + 1).aux, 56 / 8);
	assert_sp_plus(rule_at(&b, f + 2), 56);
	built_fini(&b);
}

/* A function that is marked as a signal frame, as OCaml 5's runtime does, changes stacks. */
static void a_marked_function_leads_to_another_stack(void **state)
{
	struct unwind_rule rule;
	struct built b;
	uint64_t f;

	(void)state;
	assemble(&b, ".cfi_signal_frame\nnop\n"
		     ".cfi_escape 0x0f,6,0x77,0x10,0x06,0x23,0xd0,0\nnop\n" /* [rsp+16]+80 */
		     ".cfi_escape 0x0f,9,0x77,0x38,0x06,0x23,0x10,0x06,0x23,8,0x96\nnop\n"
		     ".cfi_escape 0x0f,8,0x77,0x38,0x06,0x23,0x10,0x06,0x23,8\nnop");
	f = address_of(&b, "f");
	assert_sp_plus(rule_at(&b, f), 8);
	rule = rule_at(&b, f + 1);
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP_OTHER);
	assert_true(rule.off == 2 && rule.aux == 10);
	/* A byte more, and it is another expression. */
	assert_int_equal(unwind_rule_cfa(rule_at(&b, f + 2)), UNWIND_CFA_UNSUPPORTED);
	rule = rule_at(&b, f + 3);
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP_OTHER2);
	assert_true(rule.off == 7 && rule.fp == 2 && rule.aux == 1);
	built_fini(&b);
	/* In such an image, what counts from rbx, too. */
	assemble(&b, ".cfi_def_cfa_register rbx\nnop");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))), UNWIND_CFA_REGISTER);
	built_fini(&b);
	assemble(&b, ".cfi_signal_frame\n.cfi_def_cfa_register rbx\nnop\n"
		     ".cfi_escape 0x0f,6,0x77,0x10,0x06,0x23,0xd0,0\nnop");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))),
			 UNWIND_CFA_REGISTER_OTHER);
	built_fini(&b);
}

/* As GHC's code is, with and without -g, and C functions beside it. */
static void haskells_code_has_its_stack_elsewhere(void **state)
{
	static const char text[] =
		".text\n.cfi_sections .debug_frame\nnop\n.p2align 6\n"
		"inner: .cfi_startproc\n.cfi_def_cfa rbp, 16\n.cfi_offset rip, 0\n"
		".cfi_val_offset rbp, 0\nnop\n.cfi_endproc\n.p2align 6\n"
		"bare: .fill 1024,1,0x90\n"
		"c: .cfi_startproc\nnop\n.cfi_endproc\n";
	static const char *const marks[] = { "stg_upd_frame_info", "stg_other" };
	struct built b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		enum unwind_cfa expected = i ? UNWIND_CFA_NONE : UNWIND_CFA_ELSEWHERE;
		struct buf source = { 0 };

		buf_printf(&source, "%s.globl %s\n.quad %s\n", text, marks[i], marks[i]);
		write_file("ghc.s", buf_cstr(&source));
		buf_fini(&source);
		need_command("cc -dumpmachine | grep x86_64 && "
			     "cc -shared -nostdlib -o ghc.so ghc.s");
		build_of(&b, "ghc.so");
		assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "bare"))), expected);
		assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "inner"))),
				 UNWIND_CFA_ELSEWHERE);
		assert_int_equal(unwind_rule_offset(rule_at(&b, address_of(&b, "inner"))), 0);
		assert_sp_plus(rule_at(&b, address_of(&b, "c")), 8);
		built_fini(&b);
	}
}

static void frames_of_a_megabyte_have_their_offset(void **state)
{
	struct built b;

	(void)state;
	assemble(&b, ".cfi_def_cfa_offset 1048584\nnop");
	assert_sp_plus(rule_at(&b, address_of(&b, "f")), 1048584);
	built_fini(&b);
	assemble(&b, ".cfi_def_cfa_offset 16777216\nnop");
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "f"))), UNWIND_CFA_UNSUPPORTED);
	built_fini(&b);
}

/*
 * More functions than are collected at once. Each kind has its own frame, and the sections of two
 * kinds lie behind each other, so their entries are not in the order of addresses. One function is
 * far behind all others.
 */
#define MANY 70000 /* of each kind */
static void an_image_with_very_many_functions_has_all_rules(void **state)
{
	struct built b;
	uint64_t first, second, far;

	(void)state;
	write_file("many.s",
		   ".macro fn adjust\n.cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\n"
		   ".cfi_adjust_cfa_offset \\adjust\nnop\nnop\nret\nnop\n.cfi_endproc\n.endm\n"
		   ".section .text.z,\"ax\"\n.globl second\nsecond:\n.rept 70000\nfn 32\n.endr\n"
		   ".section .text.a,\"ax\"\n.globl first\nfirst:\n.rept 70000\nfn 16\n.endr\n"
		   ".section .text.far,\"ax\"\n.globl far\nfar: fn 48\n"
		   ".section .note.GNU-stack\n");
	write_file("many.ld", "SECTIONS { . = 0x1000; .eh_frame : { *(.eh_frame) } :data "
			      ".text : { *(.text.a) *(.text.z) . += 32M; *(.text.far) } :text }\n"
			      "PHDRS { data PT_LOAD; text PT_LOAD; }\n");
	need_command("cc -dumpmachine | grep x86_64 && as -o many.o many.s && "
		     "ld -T many.ld -e first -o many many.o");
	build_of(&b, "many");
	first = address_of(&b, "first");
	second = address_of(&b, "second");
	assert_true(first < second);
	far = address_of(&b, "far");
	assert_int_equal(b.block->n_functions, 2 * MANY + 1);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_sp_plus(rule_at(&b, first + 5 * i), 8);
		assert_sp_plus(rule_at(&b, first + 5 * i + 1), 32);
		assert_sp_plus(rule_at(&b, second + 5 * i), 8);
		assert_sp_plus(rule_at(&b, second + 5 * i + 4), 48);
	}
	assert_int_equal(unwind_rule_cfa(rule_at(&b, second + 5 * MANY - 1)), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, second + 5 * MANY + 4096)), UNWIND_CFA_NONE);
	assert_sp_plus(rule_at(&b, far), 8);
	assert_sp_plus(rule_at(&b, far + 1), 64);
	built_fini(&b);
}

static void an_image_without_code_has_an_empty_table(void **state)
{
	static const struct unwind_rule none;
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("data.c", "int x = 1;\n");
	need_command(
		"cc -c -o data.o data.c && cc -shared -nostdlib -Wl,--no-ld-generated-unwind-info "
		"-o data.so data.o");
	build_of(&b, "data.so");
	assert_int_equal(b.block->n_rows, 0);
	for (uint64_t off = 0; off < 65536; off += 512) {
		rule = unwind_table_find(&b.table, off);
		assert_memory_equal(&rule, &none, sizeof(rule));
	}
	built_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plt_without_frame_information_has_the_rules_of_its_form),
		cmocka_unit_test(i386_rules_are_in_words_of_four_bytes),
		cmocka_unit_test(debug_frame_serves_where_eh_frame_is_not),
		cmocka_unit_test(debug_frame_may_be_compressed),
		cmocka_unit_test(debug_frame_may_be_compressed_the_old_way),
		cmocka_unit_test(debug_frame_may_be_compressed_by_zstd),
		cmocka_unit_test(a_compressed_debug_frame_that_lies_of_its_size_is_none),
		cmocka_unit_test(debug_frame_may_lie_in_the_debug_file),
		cmocka_unit_test(without_section_headers_the_segments_lead_to_it),
		cmocka_unit_test(the_return_from_handlers_on_x86_64_is_known_by_its_code),
		cmocka_unit_test(the_return_from_handlers_on_aarch64_is_known_by_its_code),
		cmocka_unit_test(a_new_thread_and_its_creator_return_from_clone),
		cmocka_unit_test(a_new_thread_of_musl_has_no_caller),
		cmocka_unit_test(a_new_thread_on_aarch64_has_no_caller),
		cmocka_unit_test(a_new_thread_of_musl_on_aarch64_has_no_caller),
		cmocka_unit_test(a_frame_with_sve_vectors_is_left_by_its_record),
		cmocka_unit_test(an_undefined_return_address_is_the_end),
		cmocka_unit_test(states_are_remembered_and_restored),
		cmocka_unit_test(a_program_that_makes_no_sense_is_unsupported_from_there_on),
		cmocka_unit_test(a_register_after_an_expression_has_the_offset_from_before_it),
		cmocka_unit_test(a_marked_function_leads_to_another_stack),
		cmocka_unit_test(haskells_code_has_its_stack_elsewhere),
		cmocka_unit_test(frames_of_a_megabyte_have_their_offset),
		cmocka_unit_test(an_image_with_very_many_functions_has_all_rules),
		cmocka_unit_test(an_image_without_code_has_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
