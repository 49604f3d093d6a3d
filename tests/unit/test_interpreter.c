/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interpreter of a command or a process, and whether it is of Go: over files made here. */
#include "scratch.h"

#include "record/interpreter.h"

/*
 * As Go 1.19 makes programs: the version, and a table with runtime.mcall, whose code loads the
 * running goroutine. The program is not position-independent, so the table has addresses.
 */
static const char go_program[] = ".section .go.buildinfo,\"a\"\n"
				 ".ascii \"\\377 Go buildinf:\"\n.byte 8, 2\n.fill 16\n"
				 ".byte 8\n.ascii \"go1.19.8\"\n"
				 ".section .gopclntab,\"a\"\n"
				 "table: .long 0xfffffffa\n.byte 0, 0, 1, 8\n.quad 1, 0\n"
				 ".quad names - table, table.end - table, table.end - table\n"
				 ".quad table.end - table, functions - table\n"
				 "names: .asciz \"runtime.mcall\"\n"
				 "functions: .quad mcall, record - functions, mcall.end\n"
				 "record: .quad mcall\n.fill 36\n"
				 "table.end:\n"
				 ".text\n.globl _start\n"
				 "_start:\nmcall: mov %fs:-8, %rcx\n.fill 16, 1, 0x90\nmcall.end:\n"
				 ".section .note.GNU-stack\n";

static void need_x86_64(void)
{
	need_command("cc -dumpmachine | grep x86_64");
}

/* With options of the linker. */
static void make_go_program(const char *options)
{
	write_file("go.s", go_program);
	need_command("cc -nostdlib -no-pie -o go go.s %s", options);
}

static void a_go_program_is_one(void **state)
{
	struct interpreter found;
	char *path;

	(void)state;
	need_x86_64();
	make_go_program("");
	found = interpreter_of_command("./go");
	assert_true(found.is_go && !found.language);
	path = interpreter_file("./go");
	assert_non_null(path);
	free(path);
}

static void a_program_that_publishes_contexts_of_threads_is_not_of_go(void **state)
{
	struct interpreter found;

	(void)state;
	need_x86_64();
	need_command("cc -D_GNU_SOURCE -rdynamic -pthread -o context " ASSAY_SRC
		     "/../tests/programs/thread_context.c");
	found = interpreter_of_command("./context");
	assert_false(found.is_go || found.language);
	assert_null(interpreter_file("./context"));
}

static void a_go_program_with_a_library_of_python_runs_python(void **state)
{
	struct interpreter found;

	(void)state;
	need_x86_64();
	write_file("empty.s", "");
	need_command("cc -nostdlib -shared -Wl,-soname,libpython3.11.so.1.0 -o lib.so empty.s");
	make_go_program("-Wl,--no-as-needed lib.so");
	found = interpreter_of_command("./go");
	assert_true(found.is_go);
	assert_int_equal(found.language, LANGUAGE_PYTHON);
}

static void all_files_of_a_process_are_looked_at(void **state)
{
	struct interpreter found;

	(void)state;
	need_x86_64();
	make_go_program("");
	need_command("cc -D_GNU_SOURCE -O0 -rdynamic -pthread -o python " ASSAY_SRC
		     "/../tests/programs/imitates.c");
	run_command("mkdir -p proc/7/root proc/7/task/7 && echo go >proc/7/comm && "
		    "cp proc/7/comm proc/7/task/7 && mv go python proc/7/root");
	write_file("proc/7/maps", "400000-401000 r-xp 00000000 08:01 5 /go\n");
	found = interpreter_of_process("proc", 7);
	assert_true(found.is_go && !found.language);
	write_file("proc/7/maps", "400000-401000 r-xp 00000000 08:01 5 /go\n"
				  "500000-501000 r-xp 00000000 08:01 6 /python\n");
	found = interpreter_of_process("proc", 7);
	assert_true(found.is_go);
	assert_int_equal(found.language, LANGUAGE_PYTHON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_go_program_is_one),
		cmocka_unit_test(a_program_that_publishes_contexts_of_threads_is_not_of_go),
		cmocka_unit_test(a_go_program_with_a_library_of_python_runs_python),
		cmocka_unit_test(all_files_of_a_process_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
