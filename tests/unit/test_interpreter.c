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

/* It has Python's library, too. */
static void make_python_program(void)
{
	write_file("empty.s", "");
	need_command("cc -nostdlib -shared -Wl,-soname,libpython3.11.so.1.0 -o lib.so empty.s");
	make_go_program("-Wl,--no-as-needed lib.so");
}

/* Such as "python go": the language, and whether any is of Go. */
static const char *describe(struct interpreter found)
{
	if (found.language != LANGUAGE_PYTHON)
		return found.is_go ? "go" : "";
	return found.is_go ? "python go" : "python";
}

/* Such as "python go: ./go": of the command itself, and the files. "may run …": of a word. */
static void assert_command(char *const argv[], const char *expected)
{
	struct interpreters found;
	char text[256];
	size_t n;

	interpreters_of_command(argv, &found);
	n = (size_t)snprintf(text, sizeof(text), "%s%s%s%s", describe(found.runs),
			     *describe(found.may_run) ? "may run " : "", describe(found.may_run),
			     found.files.n ? ":" : "");
	vec_foreach (&found.files, path)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", *path);
	assert_string_equal(text, expected);
	interpreters_fini(&found);
}

static void a_go_program_is_one(void **state)
{
	(void)state;
	need_x86_64();
	make_go_program("");
	assert_command((char *[]){ "./go", NULL }, "go: ./go");
}

static void a_program_that_publishes_contexts_of_threads_is_not_of_go(void **state)
{
	(void)state;
	need_x86_64();
	need_command("cc -D_GNU_SOURCE -rdynamic -pthread -o context " ASSAY_SRC
		     "/../tests/programs/thread_context.c");
	assert_command((char *[]){ "./context", NULL }, "");
}

static void a_go_program_with_a_library_of_python_runs_python(void **state)
{
	(void)state;
	need_x86_64();
	make_python_program();
	assert_command((char *[]){ "./go", NULL }, "python go: ./go");
}

static void words_of_a_shell_and_of_a_launcher_are_commands(void **state)
{
	(void)state;
	need_x86_64();
	make_python_program();
	assert_command((char *[]){ "sh", "-c", "cd /; for i in 1 2; do ./go \"$i\"; done", NULL },
		       "may run python go: ./go");
	assert_command((char *[]){ "timeout", "--foreground", "5", "./go", "./other", NULL },
		       "may run python go: ./go");
	assert_command((char *[]){ "sh", "-c", "A=1 ./go>/dev/null&&./go|(./go)", NULL },
		       "may run python go: ./go");
	assert_command((char *[]){ "sh", "-c", "./go-not ./", NULL }, "");
}

static void comments_of_a_shell_are_no_commands(void **state)
{
	(void)state;
	need_x86_64();
	make_python_program();
	assert_command((char *[]){ "sh", "-c", "while :; do :; done # ./go", NULL }, "");
	assert_command((char *[]){ "sh", "-c", "echo 'it' \\' #' ./go'", NULL }, "");
	assert_command((char *[]){ "sh", "-c", "#./go\nfalse;# ./go\n", NULL }, "");
	assert_command((char *[]){ "sh", "-c", "# don't ./absent\n./go", NULL },
		       "may run python go: ./go");
	assert_command((char *[]){ "sh", "-c", "echo \" # \" $# ${#1} a#b '#' \\# ; ./go", NULL },
		       "may run python go: ./go");
	write_file("script", "#!/bin/sh\n# runs ./go\nexec true # ./go\n");
	assert_command((char *[]){ "./script", NULL }, "");
}

static void the_interpreter_of_a_script_is_the_command_itself(void **state)
{
	(void)state;
	need_x86_64();
	make_python_program();
	write_file("script", "#!./go -u\n./other\n");
	assert_command((char *[]){ "./script", "./go", NULL }, "python go: ./go");
	write_file("script", "#!/usr/bin/env -S ./go -u\n");
	assert_command((char *[]){ "./script", NULL }, "python go: ./go");
}

static void words_of_a_script_are_commands(void **state)
{
	(void)state;
	need_x86_64();
	make_python_program();
	write_file("inner", "#!/bin/sh\n# the server\nexec ./go \"$@\"\n");
	write_file("outer", "#!/bin/sh\nnice ./inner\n");
	assert_command((char *[]){ "./outer", NULL }, "may run python go: ./go");
	assert_command((char *[]){ "sh", "./outer", NULL }, "may run python go: ./go");
	write_file("circle", "#!./circle\n./circle ./circle\n");
	assert_command((char *[]){ "./circle", NULL }, "");
}

static void a_shim_of_pyenv_leads_to_the_chosen_version(void **state)
{
	char *const argv[] = { "sh", "-c", "root/shims/py-own app.py", NULL };

	(void)state;
	need_x86_64();
	make_python_program();
	run_command("mkdir -p root/shims root/versions/3.11.7/bin && "
		    "mv go root/versions/3.11.7/bin/py-own");
	write_file("root/shims/py-own", "#!/bin/sh\nexec absent-pyenv exec py-own\n");
	write_file("root/version", "3.11.7\n2.7\n");
	unsetenv("RBENV_VERSION");
	unsetenv("PYENV_VERSION");
	assert_command(argv, "may run python go: root/versions/3.11.7/bin/py-own");
	setenv("PYENV_VERSION", "3.12:3.11.7", 1);
	assert_command(argv, "");
	setenv("PYENV_VERSION", "../version", 1);
	assert_command(argv, "");
	unsetenv("PYENV_VERSION");
	write_file("root/version", "");
	assert_command(argv, "");
	write_file("root/version", "3.11.7\n");
	run_command("chmod +x root/shims/py-own");
	assert_command((char *[]){ "root/shims/py-own", "app.py", NULL },
		       "python go: root/versions/3.11.7/bin/py-own");
}

static void words_of_a_long_script_are_bounded(void **state)
{
	FILE *f = fopen("long", "w");

	(void)state;
	need_x86_64();
	make_python_program();
	assert_non_null(f);
	fputs("#!/bin/sh\n", f);
	for (int i = 0; i < 600; i++)
		fprintf(f, "./absent%d\n", i);
	fputs("./go\n", f);
	fclose(f);
	assert_command((char *[]){ "./long", NULL }, "");
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
		cmocka_unit_test(words_of_a_shell_and_of_a_launcher_are_commands),
		cmocka_unit_test(comments_of_a_shell_are_no_commands),
		cmocka_unit_test(the_interpreter_of_a_script_is_the_command_itself),
		cmocka_unit_test(words_of_a_script_are_commands),
		cmocka_unit_test(a_shim_of_pyenv_leads_to_the_chosen_version),
		cmocka_unit_test(words_of_a_long_script_are_bounded),
		cmocka_unit_test(all_files_of_a_process_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
