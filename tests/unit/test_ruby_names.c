/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where Ruby has the names of its C functions, by the code of rb_id2str(): over files made here. */
#include "scratch.h"

#include "base/files/file.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"
#include "lang/loop.h"
#include "lang/ruby.h"

#define NAMES_OFFSET 16 /* behind the last number */

#define RUBY                                                                                       \
	".globl ruby_version, rb_thread_current, rb_vm_exec, rb_id2str, last_id\n"                 \
	".globl ruby_current_execution_context_ptr\n"                                              \
	".section .note.GNU-stack\n.data\nlast_id: .quad 0, 0, 0\n.hidden ractor\nractor: .quad "  \
	"0\n"                                                                                      \
	"ruby_current_execution_context_ptr: .quad 0\n"                                            \
	".section .rodata\nruby_version: .asciz \"2.7.4\"\n.text\n"                                \
	".type rb_thread_current, @function\nrb_thread_current: ret\n.size rb_thread_current, 1\n" \
	".type rb_vm_exec, @function\nrb_vm_exec: .cfi_startproc\njmp *%rax\nret\n.cfi_endproc\n"  \
	".size rb_vm_exec, .-rb_vm_exec\n.hidden last_id_here\nlast_id_here = last_id\n"           \
	".hidden ruby_version_here\nruby_version_here = ruby_version\n"

/* False: not found. */
static bool finds_names(const char *code)
{
	struct file_mapping file;
	struct elf_symbol last, function;
	struct lang_runtime out = { 0 };
	struct elf_file elf;
	uint64_t base;
	char why[128];
	bool is_found;

	write_file("ruby.s", code);
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o ruby.so ruby.s");
	assert_int_equal(file_map("ruby.so", &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	assert_int_equal(ruby_detect(&elf, &out, why, sizeof(why)), LANG_FOUND);
	assert_true(elf_symbol_exported(&elf, "last_id", &last));
	assert_true(elf_symbol_exported(&elf, "rb_id2str", &function));
	assert_true(loop_base(&elf, function.link_addr, &base));
	is_found = out.ruby.last_operator == 0xa9 &&
		   out.ruby.symbols == last.link_addr + NAMES_OFFSET - base;
	file_unmap(&file);
	return is_found;
}

static void the_last_number_is_compared_in_another_function(void **state)
{
	(void)state;
	assert_true(finds_names(RUBY "other: nop\ncmp %edi, last_id_here(%rip)\nret\n"
				     ".type rb_id2str, @function\nrb_id2str: cmp $0xa9, %rdi\n"
				     "cmova %rax, %rdi\n.byte 0xe9\n.long other - . - 4\n"
				     ".size rb_id2str, .-rb_id2str\n"));
}

/* As where the compiler has put the function in, behind its checks of stack and lock. */
static void the_last_number_is_compared_in_any_register(void **state)
{
	(void)state;
	assert_true(finds_names(RUBY ".type rb_id2str, @function\nrb_id2str: push %rbx\n"
				     "cmp $0xa9, %rdi\ncmp ractor(%rip), %rax\n.skip 50, 0x90\n"
				     "cmp %ebx, last_id_here(%rip)\nret\n"
				     ".size rb_id2str, .-rb_id2str\n"));
	assert_true(finds_names(RUBY ".type rb_id2str, @function\nrb_id2str: cmp $0xa9, %rdi\n"
				     "cmp last_id_here(%rip), %ebx\nret\n"
				     ".size rb_id2str, .-rb_id2str\n"));
	assert_false(finds_names(RUBY ".type rb_id2str, @function\nrb_id2str: cmp $0xa9, %rdi\n"
				      "cmp %rbx, last_id_here(%rip)\nret\n"
				      ".size rb_id2str, .-rb_id2str\n"));
}

/* A comparison with a constant, and bytes of an operand that look like one. */
static void what_is_no_variable_is_passed_over(void **state)
{
	(void)state;
	assert_true(finds_names(RUBY ".type rb_id2str, @function\nrb_id2str: cmp $0xa9, %rdi\n"
				     "cmp %ebx, ruby_version_here(%rip)\n"
				     "movabs $0x1111111105390000, %rax\n"
				     "cmp %ecx, last_id_here(%rip)\nret\n"
				     ".size rb_id2str, .-rb_id2str\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_number_is_compared_in_another_function),
		cmocka_unit_test(the_last_number_is_compared_in_any_register),
		cmocka_unit_test(what_is_no_variable_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
